"""Jobs done side by side, by processes that each have the program under test in a worker of its own.

What such a process says is read as what comes from a worker is (`_worker.crossing`): as plain values only.
"""

from __future__ import annotations

from multiprocessing.connection import Connection
from typing import Final

from penstock._campaign.job import FAILED, Outcome, Retry, Task
from penstock._minimize.workers import MOST_DEATHS, Crew
from penstock._worker.crossing import MOST_BYTES, Garbled, unpacked

_GRACE_S: Final = 0.5
"""How long a process may take to end its worker when the campaign is stopped."""
_MODULE: Final = "penstock._campaign.job"


class JobCrew(Crew[Task | Retry, Outcome]):
    """Processes that do jobs."""

    def __init__(self, size: int) -> None:
        super().__init__(size, _MODULE, grace_s=_GRACE_S)

    def dismiss(self, number: int) -> None:
        """End the process that is at a job, with all that it has started, and have another in its place."""
        for worker in self._workers:
            if worker.number == number:
                # Its worker's warden hears of that, and cleans up.
                worker.process.kill()
                worker.process.wait()
                worker.number = worker.task = None
                self._replace(worker)

    def _receive(self, line: Connection) -> Outcome:
        try:
            answer = unpacked(line.recv_bytes(MOST_BYTES))
        except Garbled as garbled:
            return Outcome(
                FAILED, (f"The process of the job said something that makes no sense ({garbled}).",)
            )
        assert isinstance(answer, Outcome), "a process that does jobs says nothing else"
        return answer

    def _lost(self, status: int) -> Outcome:
        return Outcome(
            FAILED,
            (f"{MOST_DEATHS} processes in a row have died of this job, the last with status {status}.",),
        )
