"""Which lines of a program's code did what, so that an explanation can name them.

A search runs programs far too often to look at their stacks.  So this is noted only inside `recorded`, as
when a counterexample is taken again.  A controller's steps then have these events, which decide nothing:

- `code`: for each message sent, the switch and the functions of the program that sent it, innermost first;
- `returned`: where the handler came to its end, if nothing was sent;
- `raised`: where the program's code was when an exception, or the watchdog, ended it;
- `asleep`: where a handler is that has not come to its end.

Places are texts (`app.py:41:packet_in`), several of them joined by `<`.  Files go by their names, within
packages by their paths from there: a trace does not tell where on a machine they are.
"""

from __future__ import annotations

import linecache
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

from penstock._world.component import Event

CODE: Final = "code"
RETURNED: Final = "returned"
RAISED: Final = "raised"
ASLEEP: Final = "asleep"
NOTES: Final = frozenset({CODE, RETURNED, RAISED})
"""The kinds of events that only say where in the code something was done."""

_FRAMEWORKS: Final = ("penstock", "os_ken", "ryu", "eventlet", "greenlet", "netaddr", "oslo_config")
_APPS: Final = ("penstock._demo.", "os_ken.app.", "ryu.app.")
"""Packages of frameworks whose modules are programs all the same."""
_STANDARD_LIBRARY: Final = sysconfig.get_path("stdlib")
_INSTALLED: Final = ("site-packages", "dist-packages")
_installed_programs: Final[set[str]] = set()
"""Packages that are installed like libraries and are programs under test."""
_CALLERS: Final = "penstock._controllers."
"""Where programs are called from: whoever runs Penstock is no part of them."""
_MOST_FRAMES: Final = 8


class Place(NamedTuple):
    """A line of a program's code."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def places_of(text: str) -> tuple[Place, ...]:
    """Return the places that a text names, innermost first; those that make no sense are left out."""
    found = []
    for part in text.split("<"):
        file, _, rest = part.partition(":")
        line, _, function = rest.partition(":")
        if file and line.isdecimal() and len(line) < 8:
            found.append(Place(unquote(file), int(line), unquote(function)))
    return tuple(found)


@lru_cache(maxsize=4096)
def _place_text(file: str, module: str, line: int, function: str) -> str:
    # A module of a package is told with its folders: there may be many files of one name.
    folders = module.count(".") + (Path(file).name == "__init__.py")
    shown = "/".join(Path(file).parts[-1 - folders :]) if folders < len(Path(file).parts) else file
    return f"{quote(shown)}:{line}:{quote(function, safe='<>')}".replace("<", "%3C")


@lru_cache(maxsize=4096)
def _is_program(module: str, file: str) -> bool:
    """Tell whether a module is part of a program, and not of a framework or of Python's own library."""
    if module.startswith(_APPS):
        return True
    package = module.partition(".")[0]
    if package in _FRAMEWORKS or file.startswith("<"):
        return False
    if any(name in file for name in _INSTALLED):
        # Code of anybody may run in the middle of a program: a callback of the garbage collection, say.
        return package in _installed_programs
    return not file.startswith(_STANDARD_LIBRARY)


def belong_to_programs(modules: Iterable[ModuleType]) -> None:
    """Note that modules are part of a program, wherever they are installed."""
    packages = {module.__name__.partition(".")[0] for module in modules}
    if not packages <= _installed_programs:
        _installed_programs.update(packages)
        _is_program.cache_clear()


def is_own(frame: FrameType) -> bool:
    """Tell whether a frame runs code of a program."""
    return _is_program(str(frame.f_globals.get("__name__")), frame.f_code.co_filename)


def _text_of(frame: FrameType, line: int | None = None) -> str:
    line = frame.f_lineno if line is None else line
    module = str(frame.f_globals.get("__name__"))
    return _place_text(frame.f_code.co_filename, module, line, frame.f_code.co_name)


_MOST_VALUES: Final = 5_000
"""How many values are noted."""


class _Recording:
    """What is noted while a program runs."""

    def __init__(self) -> None:
        self.is_on = False
        self.sees_returns = False
        self.returned = ""
        self.values: list[object] | None = None
        """What functions of the program return and have in variables then, if that is noted."""
        self.own: dict[CodeType, bool] = {}
        """Which code is the program's, of what has returned so far."""

    def notice(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note where a handler returns: a function of the program that the framework called."""
        if event == "return" and self._is_own(frame):
            if self.values is not None and len(self.values) < _MOST_VALUES:
                self.values += (argument, *frame.f_locals.values())
            caller = frame.f_back
            if caller is None or not self._is_own(caller):
                self.returned = _text_of(frame)

    def _is_own(self, frame: FrameType) -> bool:
        code = frame.f_code
        known = self.own.get(code)
        if known is None:
            known = self.own[code] = is_own(frame)
        return known


_recording: Final = _Recording()


@contextmanager
def recorded(*, returns: bool = True) -> Iterator[None]:
    """Have the steps of controllers say which code did what, inside this block.

    To notice where handlers return slows them down; without `returns`, and where somebody else profiles the
    process, that is left out.
    """
    before, profiler = (_recording.is_on, _recording.sees_returns), sys.getprofile()
    is_free = profiler is None or profiler == _recording.notice
    _recording.is_on, _recording.sees_returns = True, returns and is_free
    try:
        yield
    finally:
        _recording.is_on, _recording.sees_returns = before
        if is_free:
            sys.setprofile(profiler)
        _recording.own.clear()


@contextmanager
def values_noted() -> Iterator[list[object]]:
    """Note what the program works out inside this block: its functions' results, and their variables then."""
    found: list[object] = []
    with recorded():
        _recording.values = found
        try:
            yield found
        finally:
            _recording.values = None


def is_recording() -> bool:
    """Tell whether code is to be noted."""
    return _recording.is_on


def watch_returns() -> None:
    """Notice where functions of the program return, from now on and on this stack."""
    if _recording.sees_returns:
        sys.setprofile(_recording.notice)


def begin() -> None:
    """Begin a step."""
    _recording.returned = ""


def returned() -> str:
    """Return where the last handler of this step came to its end."""
    return _recording.returned


def calling_code(frame: FrameType | None = None) -> str:
    """Return the functions of the program that have called a frame, by default into here, innermost first."""
    return _joined(_frames(frame or sys._getframe(1)))


class Suspended(NamedTuple):
    """Where a suspended program is."""

    told: str
    """Its handler, the line it is at, and what that says."""
    code: str
    """Its functions, innermost first."""


def suspended_code(frames: Sequence[FrameType]) -> Suspended | None:
    """Return where a suspended program is, if any of its own functions is."""
    own = [frame for frame in frames if is_own(frame)]
    if not own:
        return None
    inner, outer = own[0], own[-1]
    source = linecache.getline(inner.f_code.co_filename, inner.f_lineno).strip()
    place = f"{Path(inner.f_code.co_filename).name}:{inner.f_lineno}"
    told = f"{outer.f_code.co_name}, {place}{f': {source}' if source else ''}"
    return Suspended(told, _joined(iter(own)))


def raising_code(error: BaseException) -> str:
    """Return the functions of the program that an exception went through, innermost first."""
    found: list[str] = []
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        if is_own(trace.tb_frame):
            found.append(_text_of(trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return "<".join(reversed(found[-_MOST_FRAMES:]))


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames of the program from here up to where Penstock called it."""
    inside = False
    while frame is not None:
        if is_own(frame):
            inside = True
            yield frame
        elif inside and str(frame.f_globals.get("__name__")).startswith(_CALLERS):
            return
        frame = frame.f_back


def _joined(frames: Iterator[FrameType]) -> str:
    found = []
    for frame in frames:
        found.append(_text_of(frame))
        if len(found) == _MOST_FRAMES:
            break
    return "<".join(found)


def code_events(senders: Sequence[tuple[str, str]]) -> tuple[Event, ...]:
    """Return the events of a step that say which code sent its messages, or ended without sending any."""
    if senders:
        return (Event(CODE, tuple(f"{switch} {code}" for switch, code in senders)),)
    return (Event(RETURNED, (_recording.returned,)),) if _recording.returned else ()


def stuck_events(suspended: Sequence[Suspended]) -> tuple[Event, ...]:
    """Return the event that says where a program waits for ever."""
    return (Event(RAISED, (suspended[0].code,)),) if suspended else ()


def raised_event(error: BaseException) -> tuple[Event, ...]:
    """Return the event that says where a program failed, if that is to be noted and known."""
    code = (getattr(error, "code", "") or raising_code(error)) if _recording.is_on else ""
    return (Event(RAISED, (code,)),) if code else ()
