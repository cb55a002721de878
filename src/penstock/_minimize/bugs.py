"""Which minimised runs show one bug: those with equal minimal sequences, under the same controllers.

A minimisation says in its summary which bug it shows (see `identity`).  Summaries may come from strangers, so
whatever is not as it should be in one is an error of the user's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock._base.json_reading import LARGEST_NUMBER, read_json
from penstock._minimize.writing import FOLDER, SUMMARY
from penstock.errors import PenstockError


@dataclass(frozen=True, slots=True)
class Minimised:
    """A minimised run: where it is, what it shows, and how few inputs are left of how many."""

    folder: Path
    bug: str
    broken: str
    """The invariant or property."""
    message: str
    sequence: tuple[str, ...]
    inputs: int
    controllers: str
    """What the scenario says of the controllers, as text."""

    @property
    def run(self) -> Path:
        """The folder of the run that was minimised."""
        return self.folder.parent

    def is_same(self, other: Minimised) -> bool:
        """Tell whether another run shows the same bug."""
        return (self.bug, self.controllers) == (other.bug, other.controllers)


def minimised_in(*paths: Path) -> Iterator[Minimised]:
    """Yield the minimised runs that paths name, once each: a path names one, or those in a folder of runs."""
    seen: set[Path] = set()
    for path in paths:
        for folder in _folders(_named(path)):
            real = folder.resolve()
            if real not in seen:
                seen.add(real)
                yield read(folder)


def _folders(path: Path) -> Iterator[Path]:
    for place in (path, path / FOLDER):
        if place.name == FOLDER and _has_result(place):
            yield place
            return
    if not path.is_dir():
        raise PenstockError(f"There is no folder {path}: give folders of runs, or one that has such in it.")
    yield from _in_runs_of(path)


def _in_runs_of(folder: Path) -> list[Path]:
    """Return the results of the runs in a folder."""
    return sorted(filter(_has_result, folder.glob(f"*/{FOLDER}")))


def _has_result(folder: Path) -> bool:
    return (folder / SUMMARY).is_file() and (folder / "trace.jsonl").is_file()


def _named(path: Path) -> Path:
    """Return a path that ends in the folder's name, which `.` and `..` do not tell."""
    return path.resolve() if path.name in ("", "..") else path


def read(folder: Path) -> Minimised:
    """Read what a minimisation has found."""
    file = folder / SUMMARY
    try:
        found = read_json(file)
        return Minimised(
            folder,
            _text(found["bug"]),
            _text(found["property"]),
            _text(found["message"]),
            _texts(found["sequence"]),
            _number(found["inputs"]),
            json.dumps(found.get("controllers"), sort_keys=True, allow_nan=False),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        raise PenstockError(f"{file} is no summary of a minimisation: minimise the run again.") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(value)
    return tuple(map(_text, value))


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < LARGEST_NUMBER:
        raise TypeError(value)
    return value


def bugs_of(runs: Iterable[Minimised]) -> list[list[Minimised]]:
    """Return minimised runs put together by the bug they show, that with most runs first."""
    groups: dict[tuple[str, str], list[Minimised]] = {}
    for run in runs:
        groups.setdefault((run.bug, run.controllers), []).append(run)
    return sorted(groups.values(), key=lambda group: (-len(group), group[0].bug))


def others_like(folder: Path) -> list[Path]:
    """Return the runs beside one whose minimal sequence shows the same bug; `folder` is the minimal one."""
    own = read(_named(folder))
    found = []
    for place in _in_runs_of(_named(own.run).parent):
        if place.resolve() == folder.resolve():
            continue
        try:
            other = read(place)
        except PenstockError:
            continue  # whoever asks about this run need not hear of another one's files
        if own.is_same(other):
            found.append(other.run)
    return found
