"""Whole commands in a worker: those that print as they go, or that a person steers."""

from __future__ import annotations

import codecs
import functools
import io
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from penstock._base.files import absolute
from penstock._base.terminal import complain, pass_on
from penstock._verdict.verdict import Bound, Result, told
from penstock._verdict.verdict import sentence as sentence_of
from penstock._worker.containment import Terminal
from penstock._worker.supervision import Allowance, Job, Lost, Tell, supervise
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from typing_extensions import Buffer

STOPPED: Final = 3

Callback = Callable[..., int]


@dataclass(frozen=True, slots=True)
class Printed:
    """What a worker printed, where that is no file that it shares with us."""

    stream: str
    text: str


class _Telling(io.TextIOBase):
    """A stream that tells what is written to it."""

    encoding = "utf-8"

    def __init__(self, tell: Tell, stream: str) -> None:
        self._tell = tell
        self._stream = stream
        self.buffer = _TellingBytes(self)

    def writable(self) -> bool:
        """Tell whoever asks that it can be written."""
        return True

    def write(self, text: str, /) -> int:
        """Tell a text."""
        if not isinstance(text, str):
            # Whoever does not know what a stream takes tries it with bytes.
            raise TypeError("a text is written, and no bytes")
        self._tell(Printed(self._stream, text))
        return len(text)


class _TellingBytes(io.BufferedIOBase):
    """The same for those who write bytes, a character of which may come in two pieces."""

    def __init__(self, stream: _Telling) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def writable(self) -> bool:
        """Tell whoever asks that it can be written."""
        return True

    def write(self, data: Buffer, /) -> int:
        """Tell bytes, as a text."""
        self._stream.write(self._decoder.decode(bytes(data)))
        return memoryview(data).nbytes


def _is_file(stream: TextIO) -> bool:
    """Tell whether what is written to a stream goes to a file that a worker has too."""
    try:
        return stream.fileno() in (1, 2)
    except (AttributeError, OSError, ValueError):
        return False


class _Folders:
    """The folders that a worker has made; of one that another follows, none is left."""

    def __init__(self) -> None:
        self._made: list[Path] = []

    def hear(self, news: object) -> None:
        """Note a folder, if it is one that is told."""
        if isinstance(news, Path):
            self._made.append(news)

    def remove(self) -> None:
        """Remove them."""
        while self._made:
            shutil.rmtree(absolute(self._made.pop()), ignore_errors=True)


class Unfinished(PenstockError):
    """A worker came to no result; `reasons` are why."""

    def __init__(self, reasons: Sequence[Bound]) -> None:
        super().__init__(told(Result.BOUNDED, list(map(sentence_of, reasons))))
        self.reasons = tuple(reasons)


def in_worker(job: Job[Any], *, seconds: float | None = None) -> Any:
    """Have something done in a worker and return what it returns; without that, nothing is known."""
    folders = _Folders()
    try:
        done = supervise(job, hear=folders.hear, allowance=Allowance(seconds), again=folders.remove)
    except Lost as lost:
        raise Unfinished([lost.bound]) from None
    if done.accidents:
        raise Unfinished(done.accidents)
    return done.value


def contained(callback: Callback) -> Callback:
    """Have a command of the command line run in a worker, unless it has `--run` and that is not given.

    Without a status from it, nothing is known: then the command ends as one that was stopped by a bound.
    """

    @functools.wraps(callback)
    def run(**options: Any) -> int:
        if not options.get("run", True):
            return callback(**options)
        return run_contained(lambda _: callback(**options), seconds=options.get("seconds"))

    return run


def run_contained(
    command: Callable[[Tell], int],
    *,
    seconds: float | None = None,
    terminal: Terminal = Terminal.SCREEN,
) -> int:
    """Run what a command does in a worker, and return its exit status.

    It tells which folders it makes, so that none is left of a worker that another follows.
    """
    folders = _Folders()
    streams = [name for name in ("stdout", "stderr") if not _is_file(getattr(sys, name))]

    def hear(news: object) -> None:
        folders.hear(news)
        if isinstance(news, Printed) and news.stream in streams:
            pass_on(news.text, err=news.stream == "stderr")

    def job(tell: Tell) -> int:
        for name in streams:
            setattr(sys, name, _Telling(tell, name))
        return command(tell)

    try:
        done = supervise(
            job, hear=hear, allowance=Allowance(seconds), terminal=terminal, again=folders.remove
        )
    except Lost as lost:
        complain(told(Result.BOUNDED, [sentence_of(lost.bound)]))
        return STOPPED
    for accident in done.accidents:
        complain(told(Result.BOUNDED, [sentence_of(accident)]))
    status = done.value
    return STOPPED if not isinstance(status, int) or (done.accidents and status == 0) else status
