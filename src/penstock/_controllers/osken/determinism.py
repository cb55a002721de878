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

import _thread as low_level
import datetime
import functools
import io
import itertools
import logging
import os
import queue
import random
import re
import sys
import threading
import time
import uuid
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from operator import is_
from threading import get_ident
from types import ModuleType
from typing import Any, Final, TextIO

from penstock._concolic import surroundings
from penstock._concolic.values.tables import GIVEN_ALL
from penstock._concolic.visible import FUNCTOOLS, ITERTOOLS
from penstock._controllers.c_contents import c_part
from penstock._controllers.contents import Part
from penstock._controllers.osken import threads
from penstock._controllers.osken.dice import Dice
from penstock._controllers.osken.hub import MICROSECONDS, Hub
from penstock._controllers.outside import Settings, told_of, watching

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
        self.dice = Dice()
        self.chance = Chance()
        self.loggers: dict[logging.Logger, None] = {}
        """The loggers that the program has asked for."""
        self._before: list[tuple[Any, Part, Any]] = [_copied(os.environ), _copied(_SETTINGS)]
        """What the program may have changed in the rest of the process, as it was before."""
        self.handlers = frozenset(_all_handlers())
        """The handlers of log records that were there before the program."""
        self.records = logging.getLogRecordFactory()
        self.streams = sys.stdout, sys.stderr
        """Where output went before the program."""
        self.noticed: dict[str, str] = {}
        """What the program has done outside of its memory, and where it first did."""

    def microseconds(self) -> int:
        """Return the virtual time, noting that the program knows it now."""
        self.hub.agenda.clock_read = True
        return self.hub.agenda.now

    def thrown(self) -> Dice:
        """Return the dice, seeded for this step."""
        if self._seeded != self.seed:
            self._seeded = self.seed
            self.dice.seed(self.seed)
        return self.dice

    def roots(self) -> list[Any]:
        """Return what of a program's state is around it: the environment, the dice, Python's settings."""
        return [self.chance, self.loggers, os.environ, _SETTINGS]

    def leave(self) -> None:
        """Put back, in the rest of the process, what was there before the program."""
        for value, part, content in self._before:
            part.write(value, _with_own_lists(content))

    def got(self, logger: logging.Logger) -> None:
        """Note that the program has a logger."""
        if logger not in self.loggers:
            self.loggers[logger] = None
            value, part, content = _copied(logger)
            self._before.append((value, part, _with_own_lists(content)))

    def notice(self, what: str, where: str) -> None:
        """Note that the program reached outside of its memory."""
        self.noticed.setdefault(what, where)

    def _notice_replaced(self, swapped: Changes) -> None:
        """Note that the program has put something of its own in a library, in place of what it is given."""
        homes, names, values = _FLAT[swapped is _OURS]
        if all(map(is_, map(dict.get, homes, names), values)):
            return
        for variables, ours in swapped:
            for name, value in ours.items():
                if variables.get(name) is not value:
                    self.notice(f"{variables.get('__name__', 'a class')}.{name}", "replaced in a handler")

    def note(self, text: str) -> None:
        """Keep a line of output, or say that there was more than is kept."""
        if len(self.lines) < self._most:
            self.lines.append(_ADDRESSES.sub("", text))
        elif len(self.lines) == self._most:
            self.lines.append("…")

    @contextmanager
    def around(self, seed: bytes, *, loading: bool = False, quiet: bool = True) -> Iterator[None]:
        """Let the program see these surroundings, inside this block; `quiet` keeps its output to itself."""
        global _here, _thread
        self.seed, self._seeded = seed, None
        self.lines = []
        _here, _thread = self, get_ident()
        for variables, swapped in _OURS_AT_LOAD if loading else _OURS:
            variables.update(swapped)
        stdout = sys.stdout
        _LOGGER._log = _keep_record if quiet else _REAL_LOG
        _LOGGER.makeRecord = _make_record
        if quiet:
            sys.stdout = Printed(self, stdout)
        try:
            with watching(self.notice, loading=loading):
                yield
        finally:
            self._notice_replaced(_OURS_AT_LOAD if loading else _OURS)
            if quiet and not isinstance(sys.stdout, Printed):
                self.notice("sys.stdout", "replaced in a handler")
            sys.stdout = stdout
            _LOGGER._log, _LOGGER.makeRecord = _REAL_LOG, _REAL_MAKE_RECORD
            for variables, originals in _ORIGINALS:
                variables.update(originals)
            _here = None


class Chance:
    """The part of chance that is a program's state: what `random` gives once the program has seeded it."""

    __slots__ = ("generator",)

    def __init__(self) -> None:
        self.generator: random.Random | None = None


def _with_own_lists(content: Any) -> Any:
    """Return a content with lists that nobody else has, and so nobody else changes."""
    if not isinstance(content, dict):
        return content
    return {name: list(item) if isinstance(item, list) else item for name, item in content.items()}


def _copied(value: Any) -> tuple[Any, Part, Any]:
    """Return a thing, what it is made of, and its content."""
    part = c_part(type(value))
    assert part is not None
    return value, part, part.read(value)


_SETTINGS: Final = Settings()

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


def _any_clock(original: Callable[[int], Any], virtual: Callable[[int], Any]) -> Callable[[int], Any]:
    """Return a function that tells the virtual time by whichever clock."""

    def tell(clock: int) -> Any:
        here = _surroundings()
        if here is None:
            return original(clock)
        return virtual(here.microseconds() + (EPOCH * MICROSECONDS if clock == time.CLOCK_REALTIME else 0))

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

    setattr(break_down, GIVEN_ALL, True)
    return break_down


def _formatted(original: Callable[..., str], places: int) -> Callable[..., str]:
    """Return a function whose last argument is a broken-down time, by default the virtual one."""

    def formatted(*arguments: Any) -> str:
        here = _surroundings()
        if len(arguments) < places and here is not None:
            arguments = (*arguments, time.gmtime(EPOCH + here.microseconds() // MICROSECONDS))
        return original(*arguments)

    setattr(formatted, GIVEN_ALL, True)
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
        return getattr(here.chance.generator or here.thrown(), name)(*arguments, **options)

    return draw


def _seed(*arguments: Any, **options: Any) -> None:
    """Seed the generator of `random`: from then on it is part of the program's state."""
    here = _surroundings()
    if here is None:
        _REAL_SEED(*arguments, **options)
    elif (not arguments and not options) or arguments[:1] == (None,):
        here.chance.generator = None
    else:
        here.chance.generator = random.Random()
        here.chance.generator.seed(*arguments, **options)


_REAL_SEED: Final = random.seed


class _Random(random.Random):
    """A generator that a program makes for itself; without a seed the dice decide what it gives."""

    def __init__(self, x: Any = None) -> None:
        self.dice: Chance | None = None
        super().__init__(x)
        here = _surroundings()
        if x is None and here is not None:
            self.dice = here.chance
            super().seed(0)

    def seed(self, *arguments: Any, **options: Any) -> None:
        """Seed the generator; then it decides by itself."""
        if arguments[:1] != (None,):
            self.dice = None
        super().seed(*arguments, **options)

    def setstate(self, state: Any) -> None:
        """Put the generator where another one was; then it decides by itself."""
        self.dice = None
        super().setstate(state)

    def random(self) -> float:
        """Return a number from 0 up to 1."""
        here = _surroundings()
        return super().random() if self.dice is None or here is None else here.thrown().random()

    def getrandbits(self, k: int, /) -> int:
        """Return a number of so many bits."""
        here = _surroundings()
        return super().getrandbits(k) if self.dice is None or here is None else here.thrown().getrandbits(k)

    def _randbelow(self, n: int) -> int:
        here = _surroundings()
        if self.dice is None or here is None:
            own: int = random.Random._randbelow_with_getrandbits(self, n)  # type: ignore[attr-defined]
            return own
        return here.thrown()._randbelow(n)


def _urandom(size: int) -> bytes:
    here = _surroundings()
    return _REAL_URANDOM(size) if here is None else here.thrown().randbytes(size)


_REAL_URANDOM: Final = os.urandom


def _uuid1(node: int | None = None, clock_seq: int | None = None) -> uuid.UUID:
    if _surroundings() is None:
        return _REAL_UUID1(node, clock_seq)
    return uuid.UUID(bytes=_urandom(16), version=1)


_REAL_UUID1: Final = uuid.uuid1


# Output.


def _keep_record(
    logger: logging.Logger, level: int, message: object, args: Any, exc_info: Any = None, **options: Any
) -> None:
    """Keep what is logged; done before a record is made of it, which would also ask for the time."""
    here = _surroundings()
    if here is None:
        _REAL_LOG(logger, level, message, args, exc_info, **options)
        return
    if _goes_elsewhere(logger, here.handlers):
        _REAL_LOG(logger, level, message, args, exc_info, **options)
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


def _make_record(logger: logging.Logger, *arguments: Any, **options: Any) -> logging.LogRecord:
    """Make a log record; that it has a time does not mean that the program looks at it."""
    here = _surroundings()
    read = here is not None and here.hub.agenda.clock_read
    record: logging.LogRecord = _REAL_MAKE_RECORD(logger, *arguments, **options)
    if here is not None:
        here.hub.agenda.clock_read = read
        if type(record) is logging.LogRecord:
            record.__class__ = _Record
    return record


class _Record(logging.LogRecord):
    """A log record that notes if somebody looks at its time."""

    def __getattribute__(self, name: str) -> Any:
        if name in _TIMES_OF_RECORDS and (here := _surroundings()) is not None:
            here.microseconds()
        return super().__getattribute__(name)


_TIMES_OF_RECORDS: Final = frozenset({"created", "msecs", "relativeCreated", "asctime"})


def reaches_program(logger: logging.Logger) -> bool:
    """Tell whether the program that runs has handlers or filters of its own where a logger's records go."""
    here = _surroundings()
    if here is None:
        return False
    return logging.getLogRecordFactory() is not here.records or _goes_elsewhere(logger, here.handlers)


def is_shown(stream: Any) -> bool:
    """Tell whether what is written to a stream goes to the terminal, where no program reads it."""
    here = _surroundings()
    streams = (sys.stdout, sys.stderr) if here is None else here.streams
    return isinstance(stream, Printed) or any(
        stream is each for each in (*streams, sys.__stdout__, sys.__stderr__)
    )


surroundings.is_shown = is_shown
surroundings.reaches_program = reaches_program


def _goes_elsewhere(logger: logging.Logger, theirs: Container[logging.Handler]) -> bool:
    """Tell whether a program has added handlers, besides these, or filters where a logger's records go."""
    place: logging.Logger | None = logger
    while place is not None:
        if place.filters or any(
            handler not in theirs and not _only_shows(handler) for handler in place.handlers
        ):
            return True
        place = place.parent if place.propagate else None
    return False


def _only_shows(handler: logging.Handler) -> bool:
    """Tell whether a handler does no more than to write on the terminal."""
    if type(handler) is not logging.StreamHandler or handler.filters:
        return False
    plain = handler.formatter is None or type(handler.formatter) is logging.Formatter
    return plain and is_shown(handler.stream)


def _all_handlers() -> list[Any]:
    return [found for handler in logging._handlerList if (found := handler()) is not None]  # type: ignore[attr-defined]


def _get_logger(name: str | None = None) -> logging.Logger:
    """Return a logger, noting that the program has it."""
    logger = _REAL_GET_LOGGER(name)
    here = _surroundings()
    if here is not None:
        here.got(logger)
    return logger


_REAL_GET_LOGGER: Final = logging.getLogger
_LOGGER: Final[Any] = logging.Logger
_REAL_LOG: Final = _LOGGER._log
_REAL_MAKE_RECORD: Final = _LOGGER.makeRecord


class Printed(io.TextIOBase):
    """Where print writes to."""

    def __init__(self, surroundings: Surroundings, original: TextIO) -> None:
        self._surroundings = surroundings
        self._original = original
        self._line = ""

    def writable(self) -> bool:
        """Tell that one can write here."""
        return True

    def write(self, text: str) -> int:
        """Keep what the program prints, line by line."""
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
    for name, virtual in (("clock_gettime", seconds), ("clock_gettime_ns", nanoseconds)):
        yield time, name, _any_clock(getattr(time, name), virtual)
    yield os, "times", _clock(os.times, lambda now: os.times_result((now / MICROSECONDS,) * 5))
    yield time, "sleep", _sleep(time.sleep)
    yield time, "gmtime", _broken_down(time.gmtime)
    yield time, "localtime", _broken_down(time.gmtime)
    asctime, gmtime = time.asctime, time.gmtime
    yield time, "ctime", _broken_down(lambda seconds: asctime(gmtime(seconds)))
    yield time, "asctime", _formatted(time.asctime, 1)
    yield time, "strftime", _formatted(time.strftime, 2)
    for name in random.__all__:
        if not isinstance(getattr(random, name), type) and name != "seed":
            yield random, name, _drawn(name)
    yield random, "seed", _seed
    yield random, "Random", _Random
    yield random, "_urandom", _urandom
    yield os, "urandom", _urandom
    if hasattr(os, "getrandom"):
        yield os, "getrandom", lambda size, *_: _urandom(size)
    yield uuid, "uuid1", _uuid1
    yield logging, "getLogger", _get_logger
    for module, visible in ((itertools, ITERTOOLS), (functools, FUNCTOOLS)):
        for name, made in visible.items():
            yield module, name, _made(made, getattr(module, name))
    yield queue, "SimpleQueue", queue._PySimpleQueue  # type: ignore[attr-defined]
    yield queue, "time", _clock(time.monotonic, seconds)
    yield threading, "_time", _clock(time.monotonic, seconds)
    for module, name in ((threading, "Lock"), (threading, "_allocate_lock"), (low_level, "allocate_lock")):
        yield module, name, _made(threads.Lock, getattr(module, name))
    yield threading, "RLock", _made(threads.RLock, threading.RLock)
    yield low_level, "RLock", _made(threads.RLock, threading.RLock)
    yield low_level, "start_new_thread", _made(threads.start_new_thread, low_level.start_new_thread)
    yield threading, "current_thread", _made(threads.current_thread, threading.current_thread)
    yield threading, "Thread", threads.Thread
    yield threading, "Timer", threads.Timer
    yield from told_of()


def _made(visible: Any, original: Any) -> Any:
    """Return what makes a thing of ours for the program, and the original for other threads."""

    def make(*arguments: Any, **options: Any) -> Any:
        kind = original if _surroundings() is None else visible
        return kind(*arguments, **options)

    if isinstance(visible, type) and isinstance(original, type):
        return _Swapped(
            visible.__name__, (visible,), {"_original": original, "__module__": visible.__module__}
        )
    return make


class _Swapped(type):
    """A class of ours that stands for one of Python's: other threads get the original's objects."""

    _original: Any

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        if _here is not None and _surroundings() is None:
            return cls._original(*arguments, **options)
        return super().__call__(*arguments, **options)

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or isinstance(instance, cls._original)


def _with_originals(swaps: Iterable[tuple[ModuleType, str, Any]]) -> tuple[Swap, ...]:
    return tuple((vars(module), name, swapped, vars(module)[name]) for module, name, swapped in swaps)


Swap = tuple[dict[str, Any], str, Any, Any]
"""Among which variables, which name, for what, and the original."""

_SWAPS_AT_LOAD: Final = _with_originals(_swaps())
_DATES: Final = _with_originals([(datetime, "datetime", _DateTime), (datetime, "date", _Date)])
_SWAPS: Final = _SWAPS_AT_LOAD + _DATES


def _by_variables(named: Iterable[tuple[dict[str, Any], str, Any]]) -> Changes:
    """Return what is to be written, all that is among the same variables together."""
    found: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
    for variables, name, value in named:
        found.setdefault(id(variables), (variables, {}))[1][name] = value
    return tuple(found.values())


Changes = tuple[tuple[dict[str, Any], dict[str, Any]], ...]
"""Variables, and what becomes of some of them."""

_OURS_AT_LOAD: Final = _by_variables((where, name, ours) for where, name, ours, _ in _SWAPS_AT_LOAD)
_OURS: Final = _by_variables((where, name, ours) for where, name, ours, _ in _SWAPS)
_FLAT: Final = tuple(
    (
        [variables for variables, ours in changes for _ in ours],
        [name for _, ours in changes for name in ours],
        [value for _, ours in changes for value in ours.values()],
    )
    for changes in (_OURS_AT_LOAD, _OURS)
)
"""The variables, the names and the values of both, one for each change, to look at all of them in one go."""
_ORIGINALS: Final = _by_variables((where, name, original) for where, name, _, original in _SWAPS)


def bind_dates(modules: Iterable[ModuleType]) -> None:
    """Give a program's modules the dates that know the virtual time, where they imported them by name.

    They are not swapped while a program is loaded, because libraries written in C build on them.
    """
    for module in modules:
        for name, value in list(vars(module).items()):
            for _, _, swapped, original in _DATES:
                if value is original:
                    setattr(module, name, swapped)
