"""Whether processes are at work, as the scheduler sees it.

That a controller has answered an echo does not mean that it is through with what it heard before: in
many, other threads do the work.  But a controller that works uses a processor, or waits for one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

_AT_WORK: Final = ("R", "D")


class Activity(NamedTuple):
    """The processor time used so far, in nanoseconds, and whether a thread runs or wants to run."""

    used_ns: int
    at_work: bool


def activity(processes: Iterable[int]) -> Activity:
    """Return how busy these processes are and were; one that has gone counts for nothing."""
    used, at_work = 0, False
    for process in processes:
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{process}/task").iterdir():
                with contextlib.suppress(OSError):
                    state = (thread / "stat").read_text().rpartition(")")[2].split()[0]
                    at_work = at_work or state in _AT_WORK
                    used += int((thread / "schedstat").read_text().split()[0])
    return Activity(used, at_work)
