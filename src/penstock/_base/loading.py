"""Finding what a user names: `file.py:Object`, in a file of their own.

Only code that the user points to is run, and only by commands that run controllers; looking at a trace
runs nothing (see `consent`).
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from penstock._base.code_files import note_imports
from penstock._base.suggesting import hint
from penstock._base.users_code import bar_while_looking, explained
from penstock.errors import PenstockError

_PREFIX: Final = "penstock_user_"


def load_object(text: str, folder: Path, what: str) -> Any:
    """Return the object that `file.py:Name` names; the file is looked for in `folder`."""
    file, separator, name = text.partition(":")
    if not separator or not name or not file.endswith(".py"):
        raise PenstockError(f"{text!r} names no {what}: write it as file.py:Name.")
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
        raise PenstockError(f"There is no file {path.name} in {path.parent}, where the {what} should be.")
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
