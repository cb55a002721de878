"""What a minimisation leaves behind: files to read, to replay and to test with.

<folder>/progress.jsonl           every answer so far; with it a minimisation that was killed goes on
<folder>/minimal/trace.jsonl      the run of the few inputs, to be replayed, shown or minimised again
<folder>/minimal/scenario.toml    the scenario with the inputs, to be run by `penstock fuzz`
<folder>/minimal/inputs.txt       the inputs, as they can be typed
<folder>/minimal/summary.json     what it took
<folder>/minimal/test_<bug>.py    a pytest test that fails until the controller is mended
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from penstock._base.clean_text import file_name, json_text, visible
from penstock._base.files import absolute, copy, make_folder, remove, write_whole
from penstock._base.tables import toml_of
from penstock._minimize.ddmin import Minimal
from penstock._minimize.identity import bug_of
from penstock._minimize.progress import FILE
from penstock._minimize.reproducing import Reproducer
from penstock.errors import PenstockError

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
        f"What was found does not lead to the violation again{f' in {tries} tries' if tries > 1 else ''}: "
        + (
            f"the answers in {FILE} are those of something else, so delete it and minimise again."
            if player.is_exact
            else "minimise again with more --tries; the answers so far are kept."
        )
    )


def summary(minimal: Minimal) -> dict[str, Any]:
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
    assert violation is not None, "a minimal sequence violates something"
    return _TEST.format(
        title=_quotable(f"{violation.invariant} is broken: {minimal.message}"),
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
