"""What a minimisation leaves behind: files to read, to replay and to test with.

<folder>/progress.jsonl           every answer so far; with it a minimisation that was killed goes on
<folder>/minimal/trace.jsonl      the run of the few inputs, to be replayed, shown or minimised again
<folder>/minimal/scenario.toml    the scenario with the inputs, to be run by `penstock fuzz`
<folder>/minimal/inputs.txt       the inputs, as they can be typed
<folder>/minimal/summary.json     what it took
<folder>/minimal/test_<bug>.py    a pytest test that fails until the controller is mended

Which *bug* that shows is told without names: two runs with other seeds, other hosts and other switches may
end in the same few inputs but for these.  So names are numbered in the order in which they come up, ports and
times are left out, and what remains is compared: the invariant, and the inputs in their order.

Minimised runs with equal sequences, under the same controllers, show one bug.  Their summaries may come from
strangers, so whatever is not as it should be in one is an error of the user's.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from penstock._base.files import absolute, copy, make_folder, remove, write_whole
from penstock._base.reading import LARGEST_NUMBER, read_json
from penstock._base.text import file_name, json_text, visible
from penstock._base.typed import toml_of
from penstock._fuzz.inputs import Check, InjectFrame, Wait
from penstock._minimize.ddmin import Minimal
from penstock._minimize.progress import FILE
from penstock._replay.guided import Reproducer
from penstock._replay.recording import RecordedInput
from penstock.errors import PenstockError

# Which bug it is.


_NAME: Final = re.compile(r"\b([a-z]+)(\d+)\b(?::(?:\d+|(?=[a-z])))?")


@dataclass(frozen=True, slots=True)
class Bug:
    """What a minimal sequence shows, whatever things are called in it."""

    invariant: str
    inputs: tuple[str, ...]

    @property
    def name(self) -> str:
        """A short name, the same for the same bug."""
        text = "\n".join((self.invariant, *self.inputs))
        return f"{self.invariant}-{blake2b(text.encode(), digest_size=4).hexdigest()}"


def bug_of(minimal: Minimal) -> Bug:
    """Return the bug that a minimal sequence shows."""
    violation = minimal.script.violation
    return bug_shown("" if violation is None else violation.invariant, map(_essence, minimal.inputs))


def bug_shown(invariant: str, inputs: Iterable[str]) -> Bug:
    """Return the bug that breaks an invariant by inputs which are told in words."""
    return Bug(invariant, tuple(_nameless(inputs)))


def _essence(cue: RecordedInput) -> str:
    """Return what counts of an input."""
    what = cue.what
    if isinstance(what, Wait | Check):
        return what.verb
    if isinstance(what, InjectFrame):
        return f"inject {what.channel}"
    return str(what)


def _nameless(inputs: Iterable[str]) -> Iterable[str]:
    numbers: dict[str, dict[str, int]] = {}

    def renumber(found: re.Match[str]) -> str:
        kind, number = found.group(1), found.group(2)
        known = numbers.setdefault(kind, {})
        return f"{kind}#{known.setdefault(number, len(known) + 1)}"

    for text in inputs:
        yield re.sub(r" by \d+$", "", _NAME.sub(renumber, text))


# What is written.


FOLDER: Final = "minimal"
SUMMARY: Final = "summary.json"
_MINIMAL: Final = "The minimal sequence"
"""What is written here, in a sentence that says that it cannot be."""

_TEST: Final = '''"""{title}

{story}

The test fails until that is mended.  It runs the inputs of trace.jsonl, which is beside it, with the
controller as it is now.
"""

from pathlib import Path

from penstock._api import replay


def test_{name}() -> None:
    """{invariant} holds after these inputs."""
    trace = Path(__file__).with_name("trace.jsonl")
    replay(trace, exact=False, tries={tries}, trust=True).assert_holds()
'''


def folder_for(trace: Path) -> Path:
    """Return where the minimisation of a trace goes: into its run's folder, or beside it."""
    if trace.name == "trace.jsonl":
        return trace.parent
    return trace.with_suffix("") if trace.suffix else trace.with_name(f"{trace.name}-minimised")


def write_minimal(folder: Path, minimal: Minimal, reproducer: Reproducer, *, tries: int = 1) -> Path:
    """Write a minimal sequence into a folder; return the folder that is in."""
    into = folder / FOLDER
    make_folder(into, _MINIMAL, within=folder)
    player = reproducer.with_script(minimal.script)
    _record(player, minimal, into / "trace.jsonl", tries)
    test = f"test_{_name(minimal)}.py"
    for name, text in (
        ("scenario.toml", scenario_text(minimal, into)),
        ("inputs.txt", "\n".join(map(str, minimal.inputs))),
        (SUMMARY, json_text(summary(minimal), indent=2)),
        (test, _test(minimal, tries)),
    ):
        write_whole(into / name, text.rstrip() + "\n", _MINIMAL, within=folder)
    for old in absolute(into).glob("test_*.py"):
        if old.name != test:
            remove(old, within=absolute(folder))
    return into


def scenario_text(minimal: Minimal, into: Path) -> str:
    """Return a scenario that has nothing happen but the inputs; `into` is the folder that it is for."""
    script = minimal.script
    table = script.scenario.table()
    files = os.path.relpath(absolute(script.scenario.folder).resolve(), absolute(into).resolve())
    if script.engine == "check":
        about = "# A search of this scenario meets the violation; trace.jsonl has the steps."
    else:
        inputs = [str(cue) for cue in minimal.inputs]
        table["fuzz"] = {**table.get("fuzz", {}), "inputs": inputs, "deliveries": 0}
        about = "# `penstock fuzz` does these inputs and no others; everything arrives in between."
        if minimal.internal:
            about += "\n# The violation wants another order, which is in trace.jsonl: replay that."
    return f"{about}\n{toml_of({'folder': files, **table})}"


def _record(player: Reproducer, minimal: Minimal, path: Path, tries: int) -> None:
    """Write a run in which the violation came; a trace without it would make a test that says nothing."""
    for _ in range(max(1, tries)):
        with TemporaryDirectory() as folder:
            recorded = Path(folder) / path.name
            if player.record(minimal.inputs, recorded, home=path).reproduced:
                copy(recorded, path, _MINIMAL)
                return
    raise PenstockError(
        f"The minimal sequence does not reproduce the violation{f' in {tries} tries' if tries > 1 else ''}: "
        + (
            f"the answers in {FILE} are those of another minimisation: delete it and minimise again."
            if player.is_exact
            else "minimise again with more --tries; the answers so far are kept."
        )
    )


def summary(minimal: Minimal) -> dict[str, object]:
    """Return a minimisation as plain data."""
    violation, table = minimal.script.violation, minimal.script.scenario.table()
    return {
        "result": "violation",
        "bug": bug_of(minimal).name,
        "property": violation.invariant if violation is not None else None,
        "message": minimal.message,
        "inputs": minimal.original,
        "size": minimal.size,
        "internal": minimal.internal,
        "settles": minimal.script.settles,
        "replays": minimal.replays,
        "seconds": round(minimal.seconds, 3),
        "sequence": [str(cue) for cue in minimal.inputs],
        "topology": table.get("topology"),
        "controllers": table.get("controllers") or table.get("controller"),
        "tries": minimal.tries,
        "chance": minimal.chance,
        "proof": minimal.proof or None,
        "steps": [[step.number, step.inputs, step.reproduced, step.size] for step in minimal.steps],
    }


def story_of(minimal: Minimal) -> Iterator[str]:
    """Yield a minimal sequence as numbered lines, with what has to happen in between."""
    script = minimal.script
    if script.engine == "check":
        yield from (f"     ({event.transition} {event.message})" for event in script.expected[0])
    for number, cue in enumerate(minimal.inputs, 1):
        yield f"{number:>3}. {cue}"
        if not script.settles and len(script.expected) == len(minimal.inputs) + 1:
            yield from (
                f"     ({event.transition} {event.message})".replace(" )", ")")
                for event in script.expected[number]
            )
    yield "     (then everything arrives)" if not script.settles else "     (after each, everything arrives)"


def _test(minimal: Minimal, tries: int) -> str:
    violation = minimal.script.violation
    assert violation is not None, "a minimal sequence has a violation"
    return _TEST.format(
        title=_quotable(f"{violation.invariant} is violated: {minimal.message}"),
        story=_quotable("\n".join(story_of(minimal))),
        name=_name(minimal),
        invariant=_quotable(violation.invariant),
        tries=max(1, tries),
    )


def _quotable(text: str) -> str:
    """Return a text, whoever wrote it, as it can stand in a docstring without ending it."""
    return visible(text).replace("\\", "\\\\").replace('"', "'")


def _name(minimal: Minimal) -> str:
    return re.sub(r"\W+", "_", file_name(bug_of(minimal).name)).lower()


# Runs that show one bug.


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
        for folder in _folders(_with_name(path)):
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
        raise PenstockError(f"There is no folder {path}: give folders of runs, or one that contains them.")
    yield from _in_runs_of(path)


def _in_runs_of(folder: Path) -> list[Path]:
    """Return the results of the runs in a folder."""
    return sorted(filter(_has_result, folder.glob(f"*/{FOLDER}")))


def _has_result(folder: Path) -> bool:
    return (folder / SUMMARY).is_file() and (folder / "trace.jsonl").is_file()


def _with_name(path: Path) -> Path:
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
        raise PenstockError(f"{file} is not a summary of a minimisation: minimise the run again.") from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(value)
    return tuple(map(_text, value))


def _number(value: object) -> int:
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
    own = read(_with_name(folder))
    found = []
    for place in _in_runs_of(_with_name(own.run).parent):
        if place.resolve() == folder.resolve():
            continue
        try:
            other = read(place)
        except PenstockError:
            continue  # whoever asks about this run need not hear of another one's files
        if own.is_same(other):
            found.append(other.run)
    return found
