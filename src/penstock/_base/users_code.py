"""Running code of the user's: whatever it raises is told in one sentence with its file and line.

While a stranger's file is looked at, none is to run: `nothing_runs` bars every way by which code is loaded or
started (`bar_while_looking`), whatever led there.
"""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, TypeVar

from penstock._base.files import nearest
from penstock.errors import PenstockError

T = TypeVar("T")

_looking: ContextVar[bool] = ContextVar("looking", default=False)


@contextmanager
def nothing_runs() -> Iterator[None]:
    """Let no code of the user's be loaded or started inside this block."""
    before = _looking.set(True)
    try:
        yield
    finally:
        _looking.reset(before)


def bar_while_looking(what: str) -> None:
    """Refuse to load or start something while a file is only looked at."""
    if _looking.get():
        raise PenstockError(f"{what} is not run, since the trace is only looked at.")


_HERE: Final = Path(__file__).resolve().parents[1]
_LIBRARIES: Final = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


def run_users(what: str, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Call a user's function; what it raises becomes a sentence that begins with `what`."""
    try:
        return function(*arguments, **options)
    except PenstockError:
        raise
    except Exception as error:
        raise PenstockError(f"{what} raised {explained(error)}.") from error


def explained(error: BaseException) -> str:
    """Return an exception as a phrase: its kind, what it says, and the file and line it came from."""
    where = place_of(error)
    return f"{kind_and_words(error)}{f' at {where}' if where else ''}"


def kind_and_words(error: BaseException) -> str:
    """Return an exception's kind and what it says, in one line: `KeyError: 7`, or `AssertionError` alone."""
    try:
        said = str(error.msg if isinstance(error, SyntaxError) else error)
    except Exception:
        # A user's exception may fail to tell itself.
        said = ""
    said = " ".join(said.split()).rstrip(".")
    return f"{type(error).__name__}{f': {said}' if said else ''}"


def place_of(error: BaseException) -> str:
    """Return where an exception came from in the user's own code, `app.py:12`; empty if nowhere."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{nearest(Path(error.filename))}:{error.lineno}"
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_users(frame.filename)]
    return f"{nearest(Path(own[-1].filename))}:{own[-1].lineno}" if own else ""


def _is_users(file: str) -> bool:
    """Tell whether a file is neither Penstock's, nor Python's, nor an installed library's."""
    path = Path(file)
    if file.startswith("<"):
        return False
    return not path.is_relative_to(_HERE) and not any(path.is_relative_to(each) for each in _LIBRARIES)
