"""What there is to run: scenarios and apps, found by reading files and never by running any.

A Python file is an app if a class in it derives from os-ken's or Ryu's, and has native controllers if one
derives from `penstock.Controller`.  A file that cannot be read as what its name says counts too: it is run,
and its row in the campaign has the error.  What is left out is told, with the reason.
"""

from __future__ import annotations

import ast
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from penstock._base.files import absolute, open_to_read
from penstock.errors import PenstockError

_SKIPPED: Final = re.compile(r"\.|__pycache__\Z|penstock-|node_modules\Z|site-packages\Z")
"""How the names of folders begin in which nothing is looked for: hidden ones, and those of Penstock's."""
FILE: Final = "campaign.sqlite"
"""The file that a campaign keeps its runs in."""
_PATTERN: Final = re.compile(r"[*?\[]")
_MODULE: Final = re.compile(r"[A-Za-z_]\w*(\.\w+)+")
_PLATFORMS: Final = ("ryu", "os_ken")
_LARGEST_FILE: Final = 2_000_000
_MOST_FILES: Final = 100_000
_NO_APP: Final = "no class in it derives from an os-ken or Ryu app or from penstock.Controller"


@dataclass(frozen=True, slots=True)
class Source:
    """A scenario or an app that is to be run."""

    name: str
    """Its path, seen from the campaign's folder; of a native controller with its class."""
    path: Path
    native: str = ""
    """The class of a native controller."""
    has_topology: bool = False
    """Whether it says itself what its network is."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not run, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Sources:
    """What there is to run, and what is left out."""

    found: tuple[Source, ...]
    left_out: tuple[LeftOut, ...]


def sources_in(folder: Path, leave_out: Sequence[str] = ()) -> Sources:
    """Return what there is to run in a folder and in those below it."""
    return _sorted_out(folder, _files_below(folder), leave_out)


def sources_listed(folder: Path, apps: Sequence[str], leave_out: Sequence[str] = ()) -> Sources:
    """Return what a list names, seen from a folder; what is named by no pattern is run in any case."""
    named: list[Source] = []
    matched: dict[Path, None] = {}
    for text in apps:
        if _PATTERN.search(text):
            files = [path for path in sorted(_matching(folder, text)) if _counts(folder, path)]
            if not files:
                raise PenstockError(
                    f"Nothing fits {text!r} in {folder}: correct the pattern, or leave it out."
                )
            matched |= dict.fromkeys(files)
        elif (folder / text).is_file():
            named += _named(folder, folder / text)
        elif _MODULE.fullmatch(text) and not text.endswith((".py", ".toml")):
            named.append(Source(text, Path(text)))
        else:
            raise PenstockError(f"There is no file {folder / text}: correct apps in the list.")
    by_pattern = _sorted_out(folder, matched, leave_out)
    found = dict.fromkeys([*named, *by_pattern.found])
    return Sources(tuple(found), by_pattern.left_out)


def _matching(folder: Path, pattern: str) -> Iterator[Path]:
    try:
        yield from (path for path in folder.glob(pattern) if path.is_file())
    except (ValueError, NotImplementedError, IndexError) as error:
        raise PenstockError(f"{pattern!r} is no pattern of paths: {error}.") from None


def _counts(folder: Path, path: Path) -> bool:
    """Tell whether a file that fits a pattern is looked at: not if it is in a folder that is skipped."""
    between = [each for each in path.parents if each.is_relative_to(folder) and each != folder]
    skipped = any(_SKIPPED.match(each.name) or (each / FILE).is_file() for each in between)
    return path.suffix in (".py", ".toml") and not skipped


def _named(folder: Path, path: Path) -> list[Source]:
    """Return what a file that is named has in it: whatever the loader finds there, if nothing can be seen."""
    if path.suffix not in (".py", ".toml"):
        raise PenstockError(
            f"{path} is not a scenario: name .toml files, apps' .py files or modules below apps."
        )
    found, _ = _looked_at(folder, path)
    return found or [Source(_name(folder, path), path)]


def _sorted_out(folder: Path, files: Iterable[Path], leave_out: Sequence[str]) -> Sources:
    found: list[Source] = []
    left_out: list[LeftOut] = []
    for path in files:
        name = _name(folder, path)
        if any(fnmatchcase(name, pattern) for pattern in leave_out):
            left_out.append(LeftOut(name, "leave_out names it"))
            continue
        sources, reasons = _looked_at(folder, path)
        found += sources
        left_out += (LeftOut(name, reason) for reason in reasons)
    return Sources(tuple(found), tuple(left_out))


def _files_below(folder: Path) -> Iterator[Path]:
    count = 0
    for place, folders, names in os.walk(absolute(folder)):
        if FILE in names:
            # Somebody wrote a campaign here, under whatever name: the runs in it are no apps.
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not _SKIPPED.match(name))
        for name in sorted(names):
            if name.endswith((".py", ".toml")) and not name.startswith("."):
                yield Path(place) / name
                count += 1
        if count > _MOST_FILES:
            raise PenstockError(
                f"{folder} has more than {_MOST_FILES:,} files: give a folder with less in it."
            )


def _name(folder: Path, path: Path) -> str:
    below = absolute(path).is_relative_to(absolute(folder))
    name = absolute(path).relative_to(absolute(folder)).as_posix() if below else str(path)
    # A file's name need not be text; what cannot be read of it is spelt out.
    return name.encode("utf-8", "backslashreplace").decode()


def _looked_at(folder: Path, path: Path) -> tuple[list[Source], list[str]]:
    """Return what a file has in it to be run, and why something, or all of it, is not."""
    name = _name(folder, path)
    try:
        with open_to_read(path) as file:
            data = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        return [], [f"it cannot be read ({error.strerror})"]
    except PenstockError:
        return [], ["it cannot be read as a file"]
    if len(data) > _LARGEST_FILE:
        return [], ["it is too large to be looked at: name it in a list"]
    return _scenario(name, path, data) if path.suffix == ".toml" else _programs(name, path, data)


def _scenario(name: str, path: Path, data: bytes) -> tuple[list[Source], list[str]]:
    try:
        table = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        return [Source(name, path)], []
    if "controller" not in table and "controllers" not in table:
        return [], ["it is not a scenario: it has no [controller]"]
    return [Source(name, path, has_topology="topology" in table)], []


def _programs(name: str, path: Path, data: bytes) -> tuple[list[Source], list[str]]:
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # Whoever loads it says what is wrong with it.
        return [Source(name, path)], []
    kinds = _Kinds(tree)
    found = [Source(name, path)] if kinds.apps else []
    reasons = []
    for each in kinds.natives:
        if each.name.startswith("_"):
            continue
        if needed := _needed(each):
            reasons.append(f"{each.name} wants {', '.join(needed)}: give it in a scenario")
        else:
            found.append(Source(f"{name}:{each.name}", path, each.name))
    return found, reasons if found or reasons else [_NO_APP]


class _Kinds:
    """The classes of a file that are programs: apps of a platform, and native controllers."""

    def __init__(self, tree: ast.Module) -> None:
        self._origins = dict(_origins(tree))
        self.apps: list[ast.ClassDef] = []
        self.natives: list[ast.ClassDef] = []
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                bases = [self._origin(base) for base in node.bases]
                if any(map(_is_app, bases)) or any(each.name in bases for each in self.apps):
                    self.apps.append(node)
                elif any(map(_is_native, bases)) or any(each.name in bases for each in self.natives):
                    self.natives.append(node)

    def _origin(self, base: ast.expr) -> str:
        """Return where a base class comes from, as a dotted name."""
        first, dot, rest = ast.unparse(base).partition(".")
        return f"{self._origins.get(first, first)}{dot}{rest}"


def _origins(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield what names of a file stand for, as far as it imports them."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                for each in names:
                    yield (each.asname, each.name) if each.asname else (each.name.partition(".")[0],) * 2
            case ast.ImportFrom(module, names):
                for each in names:
                    yield each.asname or each.name, f"{module or ''}.{each.name}"


def _is_app(origin: str) -> bool:
    first, *_, last = f"{origin}.".removesuffix(".").split(".") if "." in origin else (origin, origin)
    # An app may also derive from one that comes with the platform; those of its web server are none.
    return first in _PLATFORMS and (last.endswith("App") or (".app." in origin and last != "ControllerBase"))


def _is_native(origin: str) -> bool:
    return origin.startswith("penstock.") and origin.endswith(".Controller")


def _needed(kind: ast.ClassDef) -> list[str]:
    """Return what a class cannot be made without."""
    for node in kind.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            given = [*node.args.posonlyargs, *node.args.args][1:]
            without = given[: len(given) - len(node.args.defaults)]
            only = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            return [each.arg for each in (*without, *(each for each, default in only if default is None))]
    return []
