"""Which code a scenario leads to: found by reading what it names, never by running any of it.

A scenario names code in many places: apps by file or module, `file.py:Object` for hosts, properties and
functions, a Mininet file, the command of a real controller.  Wherever in its table a text names a Python
file, that file counts, so a field that is added later is not forgotten.  With a file come the modules beside
it that it imports, found in its source, and those that it was seen to import when it was loaded
(`note_imports`).  Of what is installed (Ryu's own apps, say) only the module that is named counts.

`describe_code` says what would run in words, from the table alone; `digest_code` reads the files.
"""

from __future__ import annotations

import ast
import re
import shlex
import stat
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Final

from penstock._base import ryu_names

_FILE: Final = re.compile(r"(.*?\.py)(?::|\Z)", re.DOTALL)
"""A text that is a file's name, or that and the name of something in it."""
_WORD: Final = re.compile(r"(?<![^\s:=,;'\"])[^\s:=,;'\"]+\.py(?![\w.])")
"""A file's name inside a text, as in the options of a strategy; it begins where a word does, so that every
character is looked at once."""
_MODULE: Final = re.compile(r"[A-Za-z_]\w*(\.\w+)*(?::\w+)?")
_IMPORTED: Final = "module"
"""What the name of code begins with that is found as Python finds modules."""
_MOST_FILES: Final = 2_000
_LONGEST_SHOWN: Final = 200
_LARGEST_SOURCE: Final = 5_000_000
"""Larger files are digested, but what they import is not looked for."""

_imported: dict[frozenset[Path], set[Path]] = {}
"""By the files that were loaded together, those of the modules that came with them."""


def note_imports(files: Iterable[Path], brought: Iterable[Path | None]) -> None:
    """Remember which files came with those that were loaded as one program."""
    roots = frozenset(file.resolve() for file in files)
    own = {path.resolve() for path in brought if path is not None}
    beside = {path for path in own if any(path.is_relative_to(root.parent) for root in roots)}
    _imported.setdefault(roots, set()).update(beside)


# What a table names.


def describe_code(table: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a run of a scenario would run, each in a few words; nothing is looked up."""
    found = dict.fromkeys(
        f"the command {_display_text(repr(_command_text(each)))}" for each, _ in _commands(table)
    )
    found |= dict.fromkeys(f"the module {_display_text(name)}" for name in _modules(table))
    commands = {id(command) for command, _ in _commands(table)}
    found |= dict.fromkeys(
        _display_text(name) for text in _texts(table, commands) for name in _names(text)[:1]
    )
    return tuple(found)


def _display_text(text: str) -> str:
    """Return a stranger's text so that it can be told in a sentence, on a terminal too."""
    shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shown)


def _texts(value: object, left_out: set[int], depth: int = 0) -> Iterator[str]:
    """Yield all texts in plain data."""
    if id(value) in left_out or depth > 20:
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each, left_out, depth + 1)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each, left_out, depth + 1)


def _names(text: str) -> list[str]:
    """Return the names of Python files in a text, the likeliest first."""
    whole = _FILE.match(text)
    return list(dict.fromkeys([*([whole[1]] if whole else []), *_WORD.findall(text)]))


def _controllers(table: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    several = table.get("controllers")
    for given in (table.get("controller"), *(several.values() if isinstance(several, Mapping) else ())):
        if isinstance(given, Mapping):
            yield given


def _commands(table: Mapping[str, Any]) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Yield the commands of controllers, each with the table that it stands in."""
    for given in _controllers(table):
        if given.get("cmd"):
            yield given["cmd"], given


def _command_text(command: object) -> str:
    return command if isinstance(command, str) else " ".join(map(str, _as_list(command)))


def _as_list(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _modules(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the modules that are named as apps."""
    for given in _controllers(table):
        for app in _as_list(given.get("apps", [])):
            if isinstance(app, str) and _MODULE.fullmatch(app) and not _names(app):
                yield app.partition(":")[0]


# What is in it.


def digest_code(table: Mapping[str, Any], folder: Path, noted: Iterable[str] = ()) -> dict[str, str]:
    """Return a digest of each file of code that a run uses, by how the scenario would name it.

    `noted` are such names that count in any case.  A file that is not there has an empty digest.
    """
    folder = folder.resolve()
    found = {f"{_IMPORTED} {name}": _digest_all(_module_files(name)) for name in _modules(table)}
    roots = {path.resolve() for path in _roots(table, folder)}
    waiting = [*_roots(table, folder), *(folder / name for name in noted if name not in found)]
    for loaded, brought in _imported.items():
        if loaded <= roots:
            waiting += sorted(brought)
    seen: set[Path] = set()
    while waiting and len(seen) < _MOST_FILES:
        path = waiting.pop(0).resolve()
        if path in seen:
            continue
        seen.add(path)
        found[_name(path, folder)] = digest = _digest(path)
        if digest and path.suffix == ".py" and not _is_installed(path):
            waiting += _imports(path)
    return dict(sorted(found.items()))


def _digest_all(files: Iterable[Path]) -> str:
    return blake2b("".join(map(_digest, files)).encode(), digest_size=16).hexdigest()


def _roots(table: Mapping[str, Any], folder: Path) -> Iterator[Path]:
    for text in _texts(table, set()):
        yield from (path for name in _names(text) if _is_file(path := folder / name))
    for name in _modules(table):
        # One of the user's own leads to others; what is installed does not.
        yield from (path for path in _module_files(name) if not _is_installed(path))
    for command, given in _commands(table):
        yield from _files_of_command(command, folder / str(given.get("cwd") or ""), folder)


def _files_of_command(command: object, cwd: Path, folder: Path) -> Iterator[Path]:
    """Yield the files that a command names: where it runs, or beside the scenario.

    A program that is found by `PATH` is the user's own choice.
    """
    try:
        words = shlex.split(command) if isinstance(command, str) else list(map(str, _as_list(command)))
    except ValueError:
        return
    for before, word in zip(["", *words], words, strict=False):
        if before == "-m":
            yield from _in_folder(word, cwd)
        for path in (cwd / word, folder / word):
            if word and _is_file(path):
                yield path


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def _name(path: Path, folder: Path) -> str:
    """Return how a scenario would name a file: from its folder where it is in there."""
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


def _digest(path: Path) -> str:
    try:
        now = path.stat()
        return _digest_of(path, now.st_mtime_ns, now.st_size) if stat.S_ISREG(now.st_mode) else ""
    except (OSError, ValueError):
        return ""


@lru_cache(maxsize=4 * _MOST_FILES)
def _digest_of(path: Path, _changed: int, _size: int) -> str:
    found = blake2b(digest_size=16)
    with path.open("rb") as file:
        while data := file.read(1 << 20):
            found.update(data)
    return found.hexdigest()


# What code imports.


def _imports(path: Path) -> list[Path]:
    """Return the files beside a file that it imports."""
    try:
        now = path.stat()
        names = _imported_names(path, now.st_mtime_ns, now.st_size)
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return []  # whoever runs it will be told
    found: dict[Path, None] = {}
    for level, name in names:
        folder = path.parents[min(max(0, level - 1), len(path.parents) - 1)]
        here = list(_in_folder(name, folder))
        if not here and not level and name.partition(".")[0] not in sys.stdlib_module_names:
            # Modules of the current folder come after Python's own.
            here = list(_in_folder(name, Path.cwd()))
        found |= dict.fromkeys(here)
    return list(found)


@lru_cache(maxsize=4 * _MOST_FILES)
def _imported_names(path: Path, _changed: int, size: int) -> tuple[tuple[int, str], ...]:
    """Return what a file imports: how many packages up, and the name from there on."""
    if size > _LARGEST_SOURCE:
        return ()
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        match node:
            case ast.Import(names):
                found += ((0, each.name) for each in names)
            case ast.ImportFrom(module, names, level):
                # What is imported from a package may be one of its modules.
                base = f"{module}." if module else ""
                found += ((level or 0, f"{base}{each.name}") for each in names)
    return tuple(dict.fromkeys(found))


def _in_folder(name: str, folder: Path) -> Iterator[Path]:
    """Yield the files of a module and of the packages that it is in, if they are in a folder."""
    for part in name.split("."):
        package, module = folder / part / "__init__.py", folder / f"{part}.py"
        if _is_file(package):
            yield package
        elif _is_file(module):
            yield module
        folder /= part
        if not folder.is_dir():
            return


def _module_files(name: str) -> Iterator[Path]:
    """Yield the file of a module that is named and those of its packages; nothing is imported."""
    where = [*sys.path, str(Path.cwd())]
    if not ryu_names.is_ryu(name):
        yield from _find_module(name, where)
        return
    own = list(_find_module(name, [str(folder.parent) for folder in ryu_names.source_folders()]))
    yield from own or _find_module(ryu_names.OS_KEN + name[len(ryu_names.RYU) :], where)


def _find_module(name: str, where: list[str]) -> Iterator[Path]:
    for part in name.split("."):
        spec = PathFinder.find_spec(part, where)
        if spec is None:
            return
        if spec.origin is not None and _is_file(Path(spec.origin)):
            yield Path(spec.origin)
        where = list(spec.submodule_search_locations or ())


def _is_installed(path: Path) -> bool:
    """Tell whether a file is a library's, Python's or Ryu's, which is not followed further."""
    libraries = (Path(sysconfig.get_path("stdlib")), *ryu_names.source_folders())
    return not {"site-packages", "dist-packages"}.isdisjoint(path.parts) or any(
        path.is_relative_to(folder.resolve()) for folder in libraries
    )
