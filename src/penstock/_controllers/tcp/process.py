"""A user's controller as a process: started, watched, stopped, killed, started again.

Between Penstock and the command stands a `supervisor`, so that nothing is left running whatever happens:
not the command, nor what it has started, not even when Penstock itself is killed.  Should the supervisor be
killed, Penstock kills what it had under it, found by a mark in the environment.

The command finds the programs beside our own interpreter first, so that `python` is the one that has
Penstock.

What the command prints is written to a file and told line by line to whoever wants to know, long lines cut
short; the last ones are kept, because the reason for a failure is most often there.  Should the file not take
any more, that is told as if the command had printed it, and the file is left as it is.  When a controller
listens is read from the kernel's tables (see `ports`), not tried.

Linux only: other systems have no way to adopt and find all of a command's processes.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import fcntl
import os
import secrets
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from penstock._base.files import UnwritableError, add, open_appended
from penstock._base.text import visible
from penstock._base.users_code import bar_while_looking
from penstock._controllers.tcp import ports, supervisor
from penstock._controllers.tcp.log_lines import LineSplitter
from penstock.errors import PenstockError

_MARK: Final = "PENSTOCK_CONTROLLER"
_SHOWN: Final = 5
"""How many log lines a failure shows."""

_LOOK_S: Final = 0.02
GRACE_S: Final = 2.0
_LOG: Final = "The log"
"""What is written here, in a sentence that says that it cannot be."""
_Decoder: Final = codecs.getincrementaldecoder("utf-8")
_PIPE: Final = 1 << 20

LineObserver = Callable[[str], None]
EndObserver = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Program:
    """How a controller is started and where it listens; `{port}` in the command stands for the port."""

    name: str
    command: tuple[str, ...]
    port: int
    folder: Path = Path()
    environment: Mapping[str, str] = field(default_factory=dict)
    patience_s: float = 20.0
    """How long it may take until it listens."""

    def __post_init__(self) -> None:
        if not self.folder.is_dir():
            raise PenstockError(f"{self.name} cannot run in {self.folder}: there is no such folder.")

    def arguments(self) -> list[str]:
        """Return the command with the port filled in."""
        return [word.replace("{port}", str(self.port)) for word in self.command]


class ControllerProcess:
    """One controller's process; it can be started again after it has ended.

    `on_line` is given each line that it prints; `on_end` is called when it has ended, unless it never
    listened.
    """

    def __init__(
        self,
        program: Program,
        *,
        log: Path | None = None,
        on_line: LineObserver | None = None,
        on_end: EndObserver | None = None,
    ) -> None:
        self.program = program
        self.ended: int | None = None
        """How the command ended, as `subprocess` has it; None while it runs and before it was started."""
        self.was_killed = False
        """Whether its end was our doing."""
        self._log_path, self._on_line, self._on_end = log, on_line, on_end
        self._log: BinaryIO | None = None
        self._decoder = _Decoder()
        self._lines: deque[str] = deque(maxlen=_SHOWN)
        self._mark = ""
        self._supervisor: asyncio.subprocess.Process | None = None
        self._pid: int | None = None
        self._has_listened = False
        self._watching: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """The controller's name."""
        return self.program.name

    @property
    def port(self) -> int:
        """Where it listens."""
        return self.program.port

    @property
    def running(self) -> bool:
        """Whether the command runs."""
        return self._watching is not None and not self._watching.done() and self.ended is None

    @property
    def pid(self) -> int | None:
        """The command's process, which is also its group, once it was started."""
        return self._pid

    def processes(self) -> set[int]:
        """Return all processes that the command consists of now."""
        if self._supervisor is None or not self.running:
            return set()
        return supervisor.descendants(self._supervisor.pid)

    # Starting.

    async def start(self) -> None:
        """Start the command and wait until it listens; if it does not, stop it and say so."""
        if self.running:
            raise PenstockError(f"{self.name} runs already: stop it before it is started again.")
        if sys.platform != "linux":
            raise PenstockError(
                f"{self.name} cannot be started here: real controllers are run on Linux only."
            )
        if self.port in ports.listeners():
            raise PenstockError(
                f"{self.name} cannot be given port {self.port}, which another program has: "
                f"stop that one, or give another port."
            )
        self.ended, self.was_killed, self._has_listened = None, False, False
        self._lines.clear()
        await self._spawn()
        try:
            await self._until_it_listens()
        except BaseException:
            await self.kill()
            raise
        self._has_listened = True

    async def _spawn(self) -> None:
        program = self.program
        bar_while_looking(f"The command of {program.name}")
        self._mark = secrets.token_hex(8)
        if self._log_path is not None:
            self._log = open_appended(self._log_path, _LOG)
            self._decoder = _Decoder(errors="backslashreplace")
        (report, reporting), (output, printing) = os.pipe(), os.pipe()
        with contextlib.suppress(OSError):
            # A controller should not have to wait for us to read what it prints.
            fcntl.fcntl(output, fcntl.F_SETPIPE_SZ, _PIPE)
        try:
            self._supervisor = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", supervisor.__file__, str(reporting)),
                *program.arguments(),
                stdin=asyncio.subprocess.PIPE,
                stdout=printing,
                stderr=printing,
                pass_fds=(reporting,),
                start_new_session=True,
                cwd=program.folder,
                env=_surroundings() | dict(program.environment) | {_MARK: self._mark},
            )
        except BaseException:
            os.close(report)
            os.close(output)
            raise
        finally:
            os.close(reporting)
            os.close(printing)
        self._watching = asyncio.create_task(self._watch(self._supervisor, report, output))

    async def _until_it_listens(self) -> None:
        loop = asyncio.get_running_loop()
        limit = loop.time() + self.program.patience_s
        while self.port not in ports.listeners():
            if not self.running:
                await self._settled()
                raise PenstockError(self.story(f"ended{self._how()} before it listened on port {self.port}"))
            if loop.time() > limit:
                others = ", ".join(map(str, ports.listened_on_by(self.processes())))
                but = (
                    f" but on {others}: give that port, or write {{port}} into the command" if others else ""
                )
                raise PenstockError(
                    self.story(
                        f"did not listen on port {self.port} within {self.program.patience_s:g} seconds{but}"
                    )
                )
            await asyncio.sleep(_LOOK_S)

    # Watching.

    async def _watch(self, process: asyncio.subprocess.Process, report: int, output: int) -> None:
        """Follow what is reported and printed until all of the command's processes are gone."""
        reading = asyncio.create_task(self._read_lines(output))
        try:
            async with _reader(report) as reports:
                async for line in reports:
                    word, number = line.split()
                    if word == b"pid":
                        self._pid = int(number)
                    else:
                        self.ended = int(number)
            if self.ended is None:
                self.ended = -signal.SIGKILL
                _sweep(self._mark)
            await reading
            await process.wait()
        finally:
            reading.cancel()
            self._close_log()
            assert process.stdin is not None
            # Even if we are cancelled: after its event loop is gone, it could not be closed any more.
            process.stdin.close()
        if self._on_end is not None and self._has_listened:
            self._on_end()

    async def _read_lines(self, output: int) -> None:
        async with _reader(output) as printed:
            lines = LineSplitter()
            while data := await printed.read(1 << 16):
                self._keep(data)
                for text in lines.feed(data):
                    self._tell(text)
            for text in lines.end():
                self._tell(text)

    def _keep(self, data: bytes) -> None:
        """Put into the file what was printed, while the file takes it."""
        if self._log is None or self._log_path is None:
            return
        try:
            # Whoever looks at the file does so on a terminal, which must not do as the controller says.
            add(self._log, visible(self._decoder.decode(data), keep="\n\t").encode())
        except OSError as error:
            self._close_log()
            self._tell(str(UnwritableError(_LOG, self._log_path, error)))

    def _close_log(self) -> None:
        if self._log is not None:
            # What the file did not take before it does not take now either.
            with contextlib.suppress(OSError):
                self._log.close()
            self._log = None

    def _tell(self, text: str) -> None:
        self._lines.append(text)
        if self._on_line is not None:
            self._on_line(text)

    async def _settled(self) -> None:
        """Wait until everything is gone and read."""
        if self._watching is not None:
            await asyncio.shield(self._watching)

    # Ending.

    async def stop(self, grace_s: float = GRACE_S) -> None:
        """Ask the command to end, and kill it if it does not in a while."""
        self._order(b"t")
        if self._watching is not None:
            await asyncio.wait({self._watching}, timeout=grace_s)
        await self.kill()

    async def kill(self) -> None:
        """Kill the command and all it has started, and wait until they are gone."""
        self._order(b"k")
        await self._settled()

    def halt(self) -> None:
        """Have the command and what is in its group stand still."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Have the command go on after it was halted."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self.running and self._pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._pid, number)

    def _order(self, letter: bytes) -> None:
        if self.running and self._supervisor is not None and self._supervisor.stdin is not None:
            self.was_killed = True
            self._supervisor.stdin.write(letter)

    # Telling.

    def _how(self) -> str:
        if self.ended is None:
            return ""
        if self.ended < 0:
            return f" by signal {-self.ended}"
        return f" with status {self.ended}"

    def story(self, what: str) -> str:
        """Return one sentence on what this controller did, with its last log lines."""
        if self._lines:
            return f"{self.name} {what}; its last lines were: {' | '.join(map(str.strip, self._lines))}"
        return f"{self.name} {what}; it printed nothing."

    def end_story(self) -> str:
        """Return one sentence on how the command ended, with its last log lines."""
        return self.story(f"ended{self._how()}")


@contextlib.asynccontextmanager
async def _reader(descriptor: int) -> AsyncIterator[asyncio.StreamReader]:
    """Give a pipe's end as a stream, and close it in the end."""
    stream = asyncio.StreamReader()
    with open(descriptor, "rb", buffering=0) as file:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), file
        )
        try:
            yield stream
        finally:
            transport.close()


def _surroundings() -> dict[str, str]:
    """Return the environment of a command, before the user adds to it."""
    folders = (str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))
    return os.environ | {"PYTHONUNBUFFERED": "1", "PATH": os.pathsep.join(folders)}


def _sweep(mark: str) -> None:
    """Kill every process that has a mark in its environment."""
    wanted = f"{_MARK}={mark}".encode()
    while True:
        found = [process for process in supervisor.parents() if wanted in _environment(process)]
        if not found:
            return
        for process in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)


def _environment(process: int) -> list[bytes]:
    try:
        return Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
