"""What there is to report on: a trace, and what lies beside it.

A path may name a trace, the folder of a run, or the folder of a minimisation.  Beside a run's trace there
may be its `summary.json`, and of a minimisation `progress.jsonl` and `minimal/`.  All of these may have been
written by strangers, may be damaged, and may still grow; what cannot be read is told in a remark, and the
trace alone is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock._base.reading import read_json
from penstock._minimize.progress import FILE
from penstock._minimize.writing import FOLDER
from penstock._rootcause.plotting import Point, read_points
from penstock._trace.trace import AnyTrace, FuzzTrace, Trace, first_lasting, read_trace, trace_file
from penstock.errors import PenstockError

SUMMARY: Final = "summary.json"
_PLACES: Final = frozenset({"folder", "trace"})
"""The keys of a summary that tell where files are on the machine that wrote it."""


@dataclass(frozen=True, slots=True)
class Minimised:
    """A minimisation: the run before, what is left of it, and how it went."""

    before: Trace | None
    after: Trace | None
    summary: Mapping[str, object] | None
    points: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class Gathered:
    """A trace and all that lies beside it."""

    file: Path
    trace: AnyTrace
    summary: Mapping[str, object] | None = None
    minimised: Minimised | None = None
    remarks: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """What the report is about, by the name of its file or folder."""
        return (
            self.file.name if self.file.name != "trace.jsonl" else f"{self.file.parent.name}/{self.file.name}"
        )


def gather(path: Path) -> Gathered:
    """Read a trace and whatever lies beside it."""
    file = trace_file(path)
    trace = read_trace(file, warn=False)
    remarks: list[str] = []
    is_run = isinstance(trace, FuzzTrace) and file.parent.name != FOLDER
    summary = read_summary(file.parent / SUMMARY, remarks) if is_run else None
    minimised = _minimisation(file, trace, remarks)
    return Gathered(file, trace, summary, minimised, tuple(remarks))


def minimising_folder(file: Path) -> Path | None:
    """Return the folder that the minimisation of a trace is in, if there is one."""
    found = (file.parent.parent,) if file.parent.name == FOLDER else (file.parent, file.with_suffix(""))
    return next((folder for folder in found if (folder / FILE).is_file()), None)


def _minimisation(file: Path, trace: Trace, remarks: list[str]) -> Minimised | None:
    folder = minimising_folder(file)
    if folder is None:
        return None
    points: tuple[Point, ...] = ()
    try:
        points = tuple(read_points(folder / FILE))
    except PenstockError as error:
        remarks.append(str(error))
    summary = read_summary(folder / FOLDER / SUMMARY, remarks)
    if file.parent.name == FOLDER:
        return Minimised(_before(folder, remarks), trace, summary, points)
    return Minimised(trace, _trace(folder / FOLDER / "trace.jsonl", remarks), summary, points)


def _before(folder: Path, remarks: list[str]) -> Trace | None:
    """Return the trace that was minimised: in the same folder, or beside it under the folder's name."""
    for file in (folder / "trace.jsonl", folder.with_name(folder.name + ".jsonl")):
        if file.is_file():
            return _trace(file, remarks)
    return None


def _trace(file: Path, remarks: list[str]) -> Trace | None:
    if not file.is_file():
        return None
    try:
        return read_trace(file)
    except PenstockError as error:
        remarks.append(str(error))
        return None


def read_summary(file: Path, remarks: list[str]) -> Mapping[str, object] | None:
    """Return a summary without what tells where files are."""
    try:
        if not file.is_file():
            return None
        found = read_json(file)
    except PenstockError as error:
        remarks.append(str(error))
        return None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        remarks.append(f"{file.name} is damaged and left out.")
        return None
    return _placeless(found)


def _placeless(found: Mapping[str, object]) -> dict[str, object]:
    kept = {key: value for key, value in found.items() if key not in _PLACES}
    if isinstance(violations := kept.get("violations"), list):
        kept["violations"] = [_placeless(each) if isinstance(each, dict) else each for each in violations]
    return kept


def inputs_of(trace: FuzzTrace) -> list[str]:
    """Return the inputs of a run up to its violation."""
    finding = first_lasting(trace)
    return [line.text for line in trace.inputs if finding is None or line.number <= finding.number]
