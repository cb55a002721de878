"""Time, chance and output as a program sees them: functions of its state and its input alone.

While a program is loaded or makes a step, and only then, a few dozen names of the standard library
are swapped for others: the clock of `time` and `datetime` is the hub's virtual one, in UTC and
beginning at `EPOCH`; `random`, `uuid`, `secrets` and `os.urandom` draw from a generator that is
seeded, when first used in a step, from the program's state and the step's input; `itertools.count`
can be saved and put back; log records and printed lines are kept instead of shown.  Swapping them
in and out, rather than planting other names into the program's modules, also reaches imports inside
functions and the libraries in between, and leaves the rest of the process alone.

A module that is first imported while a program is loaded may keep a swapped function for ever
(`from time import time`), and other threads of the process (a server, a cluster's client) must not find
their clocks stopped in the middle of a step.  So outside of steps, and in all threads but the one that
makes the step, each of them does what the original does.
"""

from __future__ import annotations

import datetime
import io
import itertools
import logging
import os
import random
import re
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import get_ident
from types import ModuleType
from typing import Any, Final, TextIO

from penstock.controllers.osken.hub import MICROSECONDS, Hub

EPOCH: Final = 1_500_000_000
"""The time of day at virtual time 0, in seconds since 1970."""


class Surroundings:
    """What surrounds one program while it runs: its clock, its dice, and where its output goes."""

    def __init__(self, hub: Hub, lines: int) -> None:
        self.hub = hub
        self.seed = b""
        """What chance depends on in this step."""
        self.lines: list[str] = []
        """What the program has logged or printed since this was last emptied."""
        self._most = lines
        self._seeded: bytes | None = None
        self.dice = random.Random(0)

    def microseconds(self) -> int:
        """Return the virtual time, noting that the program knows it now."""
        self.hub.agenda.clock_read = True
        return self.hub.agenda.now

    def thrown(self) -> random.Random:
        """Return the dice, seeded for this step."""
        if self._seeded != self.seed:
            self._seeded = self.seed
            self.dice.seed(self.seed)
        return self.dice

    def note(self, text: str) -> None:
        """Keep a line of output, or say that there was more than is kept."""
        if len(self.lines) < self._most:
            self.lines.append(_ADDRESSES.sub("", text))
        elif len(self.lines) == self._most:
            self.lines.append("…")

    @contextmanager
    def around(self, seed: bytes, *, loading: bool = False) -> Iterator[None]:
        """Let the program see these surroundings, inside this block."""
        global _here, _thread
        self.seed, self._seeded = seed, None
        self.lines = []
        _here, _thread = self, get_ident()
        for variables, name, swapped, _ in _SWAPS_AT_LOAD if loading else _SWAPS:
            variables[name] = swapped
        _LOGGER._log = _keep_record
        stdout, sys.stdout = sys.stdout, _Printed(self, sys.stdout)
        try:
            yield
        finally:
            sys.stdout = stdout
            _LOGGER._log = _REAL_LOG
            for variables, name, _, original in _SWAPS:
                variables[name] = original
            _here = None


_ADDRESSES: Final = re.compile(r" at 0x[0-9a-f]+")
"""Where objects are in memory, which differs from run to run."""

_here: Surroundings | None = None
_thread = 0
"""The thread that makes the step."""


def _surroundings() -> Surroundings | None:
    """Return what surrounds the program that runs in this thread, if one does."""
    return _here if _here is not None and get_ident() == _thread else None


def scrubbed(text: str) -> str:
    """Return a text without the addresses of objects."""
    return _ADDRESSES.sub("", text)


# Time.


def _clock(original: Callable[[], Any], virtual: Callable[[int], Any]) -> Callable[[], Any]:
    """Return a function that tells the virtual time while a program runs."""

    def tell() -> Any:
        here = _surroundings()
        return original() if here is None else virtual(here.microseconds())

    return tell


def _sleep(original: Callable[[float], None]) -> Callable[[float], None]:
    def sleep(seconds: float) -> None:
        here = _surroundings()
        if here is None:
            original(seconds)
        else:
            here.hub.sleep(seconds)

    return sleep


def _broken_down(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a time in seconds, by default the virtual one."""

    def break_down(seconds: float | None = None) -> Any:
        here = _surroundings()
        if seconds is None and here is not None:
            seconds = EPOCH + here.microseconds() / MICROSECONDS
        return original(seconds)

    return break_down


def _formatted(original: Callable[..., str], places: int) -> Callable[..., str]:
    """Return a function whose last argument is a broken-down time, by default the virtual one."""

    def formatted(*arguments: Any) -> str:
        here = _surroundings()
        if len(arguments) < places and here is not None:
            arguments = (*arguments, time.gmtime(EPOCH + here.microseconds() // MICROSECONDS))
        return original(*arguments)

    return formatted


class _DateTime(datetime.datetime):
    """Dates that know the virtual time."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> _DateTime:
        """Return the virtual time."""
        here = _surroundings()
        if here is None:
            return super().now(tz)
        moment = datetime.timedelta(seconds=EPOCH, microseconds=here.microseconds())
        universal = cls(1970, 1, 1) + moment
        return universal if tz is None else universal.replace(tzinfo=datetime.UTC).astimezone(tz)

    @classmethod
    def today(cls) -> _DateTime:
        """Return the virtual time."""
        return cls.now()

    @classmethod
    def utcnow(cls) -> _DateTime:
        """Return the virtual time."""
        return cls.now(datetime.UTC).replace(tzinfo=None)


class _Date(datetime.date):
    """Days that know the virtual time."""

    @classmethod
    def today(cls) -> _Date:
        """Return the virtual day."""
        if _surroundings() is None:
            return super().today()
        now = _DateTime.now()
        return cls(now.year, now.month, now.day)


# Chance.


def _drawn(name: str) -> Callable[..., Any]:
    """Return a function of `random` that draws from the program's dice while one runs."""
    original = getattr(random, name)

    def draw(*arguments: Any, **options: Any) -> Any:
        here = _surroundings()
        if here is None:
            return original(*arguments, **options)
        return getattr(here.thrown(), name)(*arguments, **options)

    return draw


class _Random(random.Random):
    """A generator that a program makes for itself; without a seed it is seeded by the dice."""

    def __init__(self, x: Any = None) -> None:
        here = _surroundings()
        super().__init__(here.thrown().getrandbits(64) if x is None and here is not None else x)


def _urandom(size: int) -> bytes:
    here = _surroundings()
    return _REAL_URANDOM(size) if here is None else here.thrown().randbytes(size)


_REAL_URANDOM: Final = os.urandom


def _uuid1(node: int | None = None, clock_seq: int | None = None) -> uuid.UUID:
    if _surroundings() is None:
        return _REAL_UUID1(node, clock_seq)
    return uuid.UUID(bytes=_urandom(16), version=1)


_REAL_UUID1: Final = uuid.uuid1


class _Count:
    """`itertools.count`, with its number where it can be seen."""

    def __new__(cls, *arguments: Any, **options: Any) -> Any:
        """Return the real one if this is another thread than the one that makes the step."""
        if _here is not None and get_ident() != _thread:
            return _REAL_COUNT(*arguments, **options)
        return super().__new__(cls)

    def __init__(self, start: Any = 0, step: Any = 1) -> None:
        self.number, self.step = start, step

    def __iter__(self) -> _Count:
        return self

    def __next__(self) -> Any:
        number = self.number
        self.number += self.step
        return number

    def __repr__(self) -> str:
        return f"count({self.number})"


_REAL_COUNT: Final = itertools.count

# Output.


def _keep_record(
    logger: logging.Logger, level: int, message: object, args: Any, exc_info: Any = None, **options: Any
) -> None:
    """Keep what is logged; done before a record is made of it, which would also ask for the time."""
    here = _surroundings()
    if here is None:
        _REAL_LOG(logger, level, message, args, exc_info, **options)
        return
    text = str(message)
    try:
        if args:
            text %= args[0] if len(args) == 1 and isinstance(args[0], Mapping) and args[0] else args
    except Exception as error:
        text += f" ({type(error).__name__}: {error})"
    if exc_info:
        failure = exc_info if isinstance(exc_info, BaseException) else sys.exc_info()[1]
        text += f" ({type(failure).__name__}: {failure})"
    here.note(text)


_LOGGER: Final[Any] = logging.Logger
_REAL_LOG: Final = _LOGGER._log


class _Printed(io.TextIOBase):
    """Where print writes to."""

    def __init__(self, surroundings: Surroundings, original: TextIO) -> None:
        self._surroundings = surroundings
        self._original = original
        self._line = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if _surroundings() is None:
            return self._original.write(text)
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            self._surroundings.note(line)
        return len(text)


def _swaps() -> Iterator[tuple[ModuleType, str, Any]]:
    seconds: Callable[[int], float] = lambda now: now / MICROSECONDS  # noqa: E731
    nanoseconds: Callable[[int], int] = lambda now: now * 1000  # noqa: E731
    yield time, "time", _clock(time.time, lambda now: EPOCH + now / MICROSECONDS)
    yield time, "time_ns", _clock(time.time_ns, lambda now: (EPOCH * MICROSECONDS + now) * 1000)
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        yield time, name, _clock(getattr(time, name), seconds)
        yield time, f"{name}_ns", _clock(getattr(time, f"{name}_ns"), nanoseconds)
    yield time, "sleep", _sleep(time.sleep)
    yield time, "gmtime", _broken_down(time.gmtime)
    yield time, "localtime", _broken_down(time.gmtime)
    yield time, "ctime", lambda seconds=None: time.asctime(time.gmtime(seconds))
    yield time, "asctime", _formatted(time.asctime, 1)
    yield time, "strftime", _formatted(time.strftime, 2)
    for name in random.__all__:
        if not isinstance(getattr(random, name), type):
            yield random, name, _drawn(name)
    yield random, "Random", _Random
    yield random, "_urandom", _urandom
    yield os, "urandom", _urandom
    yield uuid, "uuid1", _uuid1
    yield itertools, "count", _Count


def _with_originals(swaps: Iterable[tuple[ModuleType, str, Any]]) -> tuple[Swap, ...]:
    return tuple((vars(module), name, swapped, vars(module)[name]) for module, name, swapped in swaps)


Swap = tuple[dict[str, Any], str, Any, Any]
"""Among which variables, which name, for what, and the original."""

_SWAPS_AT_LOAD: Final = _with_originals(_swaps())
_DATES: Final = _with_originals([(datetime, "datetime", _DateTime), (datetime, "date", _Date)])
_SWAPS: Final = _SWAPS_AT_LOAD + _DATES


def bind_dates(modules: Iterable[ModuleType]) -> None:
    """Give a program's modules the dates that know the virtual time, where they imported them by name.

    They are not swapped while a program is loaded, because libraries written in C build on them.
    """
    for module in modules:
        for name, value in list(vars(module).items()):
            for _, _, swapped, original in _DATES:
                if value is original:
                    setattr(module, name, swapped)
