"""Code of the user's: found by its name, loaded, run, and its errors told with file and line.

Running code of the user's: whatever it raises is told in one sentence with its file and line.

While a stranger's file is looked at, none is to run: `nothing_runs` bars every way by which code is loaded or
started (`bar_while_looking`), whatever led there.

Finding what a user names: `file.py:Object`, in a file of their own.

Only code that the user points to is run, and only by commands that run controllers; looking at a trace
runs nothing (see `consent`).
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeVar

from penstock._base.code_files import note_imports
from penstock._base.files import nearest
from penstock._base.text import hint
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
        raise PenstockError(f"{what} is not run: this only reads the trace.")


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


_PREFIX: Final = "penstock_user_"


def load_object(text: str, folder: Path, what: str) -> Any:
    """Return the object that `file.py:Name` names; the file is looked for in `folder`."""
    file, separator, name = text.partition(":")
    if not separator or not name or not file.endswith(".py"):
        raise PenstockError(f"{text!r} does not name a {what}: write it as file.py:Name.")
    module = load_file(folder / file, what)
    try:
        return getattr(module, name)
    except AttributeError:
        public = sorted(key for key in vars(module) if not key.startswith("_"))
        otherwise = f"it defines {', '.join(public) or 'nothing'}."
        raise PenstockError(f"{file} has no {name!r}: {hint(name, public, otherwise)}") from None


def load_file(path: Path, what: str) -> ModuleType:
    """Run a Python file as a module of its own and return it; a second time it is not run again."""
    bar_while_looking(path.name)
    path = path.resolve()
    if not path.is_file():
        raise PenstockError(f"There is no file {path.name} in {path.parent}: the {what} names it.")
    name = f"{_PREFIX}{path.stem}_{hashlib.blake2b(str(path).encode(), digest_size=6).hexdigest()}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = set(sys.modules)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise PenstockError(f"{path.name} failed to load: {explained(error)}.") from error
    finally:
        sys.path.remove(str(path.parent))
    note_imports([path], (file_of(sys.modules[name]) for name in set(sys.modules) - before))
    return module


@contextmanager
def loading_anew() -> Iterator[None]:
    """Have files run again that were run before, inside this block, and the modules beside them."""
    files = [module for module in sys.modules.values() if is_user_file(module)]
    own = {module.__name__: module for module in with_neighbours(files)}
    before = {name: sys.modules.pop(name) for name in own if name in sys.modules}
    known = set(sys.modules)
    try:
        yield
    finally:
        for name in set(sys.modules) - known:
            if is_user_file(sys.modules[name]) or name in before:
                del sys.modules[name]
        sys.modules.update(before)


def with_neighbours(modules: Iterable[ModuleType]) -> list[ModuleType]:
    """Return modules with all those from the same folders that they use, directly or not."""
    found = list(dict.fromkeys(modules))
    folders = {_folder_of(module) for module in found}
    for module in found:
        for value in list(vars(module).values()):
            name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            used = sys.modules.get(name) if isinstance(name, str) else None
            if used is not None and used not in found and _folder_of(used) in folders - {None}:
                found.append(used)
    return found


def _folder_of(module: ModuleType) -> Path | None:
    file = file_of(module)
    return file.resolve().parent if file else None


def file_of(module: ModuleType) -> Path | None:
    """Return the file that a module was loaded from, if it has one."""
    file = getattr(module, "__file__", None)
    return Path(file) if isinstance(file, str) else None


def is_user_file(module: ModuleType) -> bool:
    """Tell whether a module is a file that a scenario names."""
    return module.__name__.startswith(_PREFIX)
