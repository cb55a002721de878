"""Everything of a network that is outside the model: the controllers' processes and the lines to them.

It knows nothing of the model; it tells its `Observer` what happens, and does what it is told.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from penstock._controllers.held import Ledger
from penstock._controllers.tcp.answers import Answers, activity
from penstock._controllers.tcp.log_lines import FollowedFile
from penstock._controllers.tcp.process import GRACE_S, ControllerProcess, Program
from penstock._controllers.tcp.reconnecting_session import ReconnectingSession
from penstock._controllers.tcp.session import Patience
from penstock._controllers.tcp.tls import Tls
from penstock.openflow.messages import OpenFlowMessage

HOST: Final = "127.0.0.1"

_FOUND_S: Final = 0.5
"""How long the list of the controllers' processes is taken for true."""
_IDLE: Final = 0.1
"""Which part of a processor a controller may use that has nothing to do."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A controller's program, how its switches talk to it where not in the clear, and where it logs to."""

    program: Program
    tls: Tls | None = None
    log_files: tuple[Path, ...] = ()


class Observer(Protocol):
    """Who is told what happens outside."""

    def came_up(self, line: ReconnectingSession) -> None:
        """A line is connected."""

    def heard(self, line: ReconnectingSession, message: OpenFlowMessage) -> None:
        """A controller said something to a switch."""

    def went_down(self, line: ReconnectingSession) -> None:
        """A line is no longer connected, and not by our doing."""

    def printed(self, controller: str, text: str) -> None:
        """A controller printed a line, or wrote it to one of its log files."""

    def logged(self, controller: str, text: str) -> None:
        """There is something to say of a controller."""

    def ended(self, controller: str) -> None:
        """A controller's process is gone."""


class Outside:
    """The processes, and a line from each switch to each of them."""

    def __init__(
        self,
        remotes: Sequence[Remote],
        switches: Sequence[str],
        version: int,
        observer: Observer,
        *,
        folder: Path,
        answer_s: float,
        patience: Patience,
    ) -> None:
        self.answers = Answers(answer_s)
        self.processes: dict[str, ControllerProcess] = {}
        self.lines: dict[str, ReconnectingSession] = {}
        self._observer = observer
        self._ledgers: dict[str, Ledger] = {}
        self._files: list[tuple[str, FollowedFile]] = []
        self._known: tuple[float, list[int | None], list[int]] = (0.0, [], [])
        for remote in remotes:
            program = remote.program
            context = remote.tls.context() if remote.tls is not None else None
            self._ledgers[program.name] = Ledger()
            self.processes[program.name] = self._process(program, folder)
            self._files += [(program.name, FollowedFile(path)) for path in remote.log_files]
            for switch in switches:
                line = ReconnectingSession(
                    switch,
                    program.name,
                    version,
                    (HOST, program.port),
                    on_up=observer.came_up,
                    on_message=self._heard,
                    on_refused=self._refused,
                    on_down=observer.went_down,
                    context=context,
                    patience=patience,
                )
                self.lines[line.name] = line

    def _process(self, program: Program, folder: Path) -> ControllerProcess:
        name = program.name
        return ControllerProcess(
            program,
            log=folder / f"{name}.log",
            on_line=lambda text: self._observer.printed(name, text),
            on_end=lambda: self._observer.ended(name),
        )

    async def start(self) -> None:
        """Start all controllers, and wait until all listen."""
        await _all(process.start() for process in self.processes.values())

    async def stop(self, grace_s: float = GRACE_S) -> None:
        """Hang up everywhere and end all controllers; those that do not in a while are killed."""
        for line in self.lines.values():
            line.drop()
        await _all(process.stop(grace_s) for process in self.processes.values())

    def read_log_files(self) -> None:
        """Tell what the controllers wrote to their log files since the last time."""
        for controller, file in self._files:
            for text in file.news():
                self._observer.printed(controller, text)

    def lines_of(
        self, *, switch: str | None = None, controller: str | None = None
    ) -> list[ReconnectingSession]:
        """Return the lines of a switch or a controller."""
        return [
            line
            for line in self.lines.values()
            if switch in (None, line.switch) and controller in (None, line.controller)
        ]

    def drop(self, lines: Iterable[ReconnectingSession]) -> None:
        """Hang up, and expect no more answers there."""
        for line in lines:
            self.answers.withdraw(line)
            line.drop()

    def send(self, line: ReconnectingSession, message: OpenFlowMessage) -> None:
        """Send what a switch says, if the line is connected."""
        if line.session is not None:
            self._ledgers[line.controller].hand_over(line.switch, message)
            line.session.send(message)

    def _heard(self, line: ReconnectingSession, message: OpenFlowMessage) -> None:
        self._observer.heard(line, self._ledgers[line.controller].take_back(line.switch, message))

    def _refused(self, line: ReconnectingSession, text: str) -> None:
        self._observer.logged(line.controller, f"{line.name}: {text}")

    def _ours(self) -> list[int]:
        """Return the controllers' processes; to find them takes long, so it is not done all the time."""
        now = time.monotonic()
        running = [process.pid for process in self.processes.values() if process.running]
        if running != self._known[1] or now - self._known[0] > _FOUND_S:
            found = [each for process in self.processes.values() for each in process.processes()]
            self._known = now, running, found
        return self._known[2]

    async def rest(self, seconds: float) -> bool:
        """Tell whether, for so long, no controller has anything to do."""
        ours = self._ours()
        before = activity(ours)
        await asyncio.sleep(seconds)
        after = activity(ours)
        return not after.at_work and after.used_ns - before.used_ns < _IDLE * seconds * 1e9


async def _all(work: Iterable[Awaitable[None]]) -> None:
    """Do things at the same time; if one fails, wait for the others and tell of the first failure."""
    for result in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
