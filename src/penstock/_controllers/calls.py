"""The calls of programs' handlers: counted where whoever watches this process can see them.

A handler can end the process that it runs in, or never come back.  Nobody in that process can tell of it
then, so each call is numbered in memory that a supervisor shares (`penstock._worker`).  The supervisor
starts another process that does the same again, and tells it beforehand which calls were fatal: these are
not made, and count as what they were, a crash or a hang, with the path that leads there.

1. A process dies in call n.
2. The next one notes, in call n, each line of the program (`traced`); if it dies there too, that is no
   accident, and the last line is known.
3. The next one takes call n, and all that are the same, for fatal.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from mmap import PAGESIZE, mmap
from os import _exit as leave

# Programs are given another clock: this is the real one.
from time import monotonic_ns
from types import FrameType
from typing import Any, Final, NamedTuple

from penstock._controllers import origins


class Fatal(NamedTuple):
    """What becomes of a process in a call: it ends, or does not come back."""

    hangs: bool
    message: str
    code: str = ""
    """Where the program was, as `origins` writes it."""


class NotMade(BaseException):
    """A call that was not made, because it is fatal."""

    def __init__(self, fatal: Fatal) -> None:
        super().__init__(fatal.message)
        self.code = fatal.code


class ProcessEnded(NotMade):
    """A call that would end this process."""


class NeverReturned(NotMade):
    """A call that would never return, and that nothing in this process could interrupt."""


_NUMBER, _BEGAN, _LIMIT, _LENGTH = range(4)
_TEXT: Final = 64
"""Where the text begins, in bytes; the numbers are before it."""


class Page:
    """Memory that this process and its supervisor share: which call is under way, and where it is."""

    def __init__(self) -> None:
        self._memory = mmap(-1, PAGESIZE)
        self.numbers = memoryview(self._memory).cast("Q")

    @property
    def number(self) -> int:
        """How many calls have begun."""
        return self.numbers[_NUMBER]

    @property
    def began(self) -> int:
        """When the call began that is under way, in nanoseconds; 0 if none is."""
        return self.numbers[_BEGAN]

    @property
    def limit(self) -> float:
        """How many seconds it may take."""
        return self.numbers[_LIMIT] / 1e9

    @property
    def place(self) -> str:
        """The last line of the program that was noted."""
        length = min(self.numbers[_LENGTH], PAGESIZE - _TEXT)
        return self._memory[_TEXT : _TEXT + length].decode(errors="replace")

    def note(self, place: str) -> None:
        """Note a line of the program."""
        data = place.encode(errors="replace")[: PAGESIZE - _TEXT]
        self._memory[_TEXT : _TEXT + len(data)] = data
        self.numbers[_LENGTH] = len(data)

    def clear(self) -> None:
        """Forget everything, for another process."""
        self.numbers[_NUMBER] = self.numbers[_BEGAN] = self.numbers[_LIMIT] = self.numbers[_LENGTH] = 0


_page: Page | None = None
_numbers = memoryview(bytearray(_TEXT)).cast("Q")
_fatal: dict[int, Fatal] = {}
_same: dict[Hashable, Fatal] = {}
"""The fatal calls by what they are, rather than by their numbers: the same call comes again in replays."""
_traced = 0
_special = False
_forks = False
"""Whether the process that is about to be forked is one of a program's, in a call."""
_is_fork = False
"""Whether this is a process that a program has forked in a call, and not the one that makes the calls."""


def watch(page: Page, fatal: Mapping[int, Fatal], traced: int) -> None:
    """Count on a page from now on; some calls are known to be fatal, and one is to be traced."""
    global _page, _numbers, _traced, _special
    page.clear()
    _page, _numbers, _traced = page, page.numbers, traced
    _fatal.clear()
    _fatal.update(fatal)
    _same.clear()
    _special = bool(fatal or traced)


def begin(key: Hashable, seconds: float) -> None:
    """Note that a program is called; calls with equal keys are the same call.

    Raises `ProcessEnded` or `NeverReturned` in place of a call that is known to be fatal.
    """
    _numbers[_NUMBER] += 1
    _numbers[_LIMIT] = int(seconds * 1e9)
    _numbers[_BEGAN] = monotonic_ns()
    if _special:
        _look(_numbers[_NUMBER], key)


@contextmanager
def counted(key: Hashable, seconds: float) -> Iterator[None]:
    """Note that a program is called in this block."""
    begin(key, seconds)
    try:
        yield
    finally:
        end()


def told(error: BaseException) -> str:
    """Return what came of a call, with the line of the program where that is known."""
    if not isinstance(error, NotMade):
        return str(error)
    what = f"it ended its process ({error})" if isinstance(error, ProcessEnded) else str(error)
    places = origins.places_of(error.code)
    return f"{what} in {places[0]}" if places else what


def forking() -> None:
    """Note who forks, before it does: when there are two, the other may have ended the call already."""
    global _forks
    _forks = _is_fork or _numbers[_BEGAN] != 0


def forked() -> bool:
    """Note that this process was forked from another; tell whether a program did that, in a call.

    Such a process ends with the call: the search that it is a copy of goes on elsewhere.
    """
    global _page, _numbers, _is_fork
    if _forks:
        _page, _numbers, _is_fork = None, memoryview(bytearray(_TEXT)).cast("Q"), True
    return _forks


def end() -> None:
    """Note that the call has returned."""
    if _is_fork:
        leave(0)
    _numbers[_BEGAN] = 0
    if _special:
        sys.settrace(None)


def _look(number: int, key: Hashable) -> None:
    if number in _fatal:
        _same[key] = _fatal[number]
    trace_here()
    if (fatal := _same.get(key)) is not None:
        _numbers[_BEGAN] = 0
        raise NeverReturned(fatal) if fatal.hangs else ProcessEnded(fatal)


def trace_here() -> None:
    """Note the lines of the program from now on and on this stack, if the call is one to be traced."""
    if _special and _numbers[_NUMBER] == _traced:
        sys.settrace(_trace)


def _trace(frame: FrameType, event: str, _argument: Any) -> Any:
    """Note each line of the program; libraries, which are most of what runs, are not followed."""
    if not origins.is_own(frame):
        return None
    if _page is not None and event in ("call", "line") and (code := origins.calling_code(frame)):
        _page.note(code)
    return _trace
