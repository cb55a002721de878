"""Violations as SARIF 2.1.0, which code scanning services show beside the code.

A result is a violation, its rule the property; its kind is `fail`.  A property that was not broken is a
result too, where a command writes the file: `pass` if the verdict is conclusive, `open` if it is bounded, and
`notApplicable` if the property never had anything to judge.  The verdict itself, the exit status and the
reasons are those of the invocation.

A violation is located at the app of the controller: at the line that
raised, if a handler did; else where the class of a native controller begins, or at the file alone.  The
steps that led to it are a code flow, each located at its line of the trace and at its component.  A
controller that is a program of its own has no file that is known here; its violations are located
at the trace.

Paths are relative to where the command runs, as services want them for a checkout, or else names alone.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple, TextIO, assert_never
from urllib.parse import quote

from penstock._base.text import visible
from penstock._base.version import VERSION
from penstock._controllers.origins import places_of
from penstock._engine.conclusion import UNKNOWN, Conclusion
from penstock._report.export.violations import Source, Violated, from_here, violations_of
from penstock._trace.retelling import stories_of
from penstock._trace.trace import FindingLine, InputLine, Line, LogLine, digest_of
from penstock._verdict.verdict import Result as ResultWord

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_STEPS: Final = 5_000
"""How many steps a code flow has, the last before the violation: services refuse more than some thousands."""
LONGEST_SOURCE: Final = 1_000_000
_RAISED: Final = re.compile(r'File "([^"]+)", line (\d{1,7})')
_MODULE: Final = re.compile(r"\w+(\.\w+)*")


class _Place(NamedTuple):
    """A file, as a path to show, and a line of it if one is known."""

    path: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """What a command found out besides violations."""

    properties: Mapping[str, str] = field(default_factory=dict)
    """The properties that were not broken: nothing, or why they were not judged."""
    conclusion: Conclusion | None = None
    about: Source | None = None
    """A trace of the run, by which its controllers are known."""


def write_sarif(sources: Sequence[Source], file: TextIO, held: Held = Held()) -> str:
    """Write the violations of some traces, and what was found out besides."""
    rules: dict[str, int] = {}
    results = []
    for source in sources:
        for violated in violations_of(source.trace):
            rules.setdefault(violated.property, len(rules))
            results.append(_result(source, violated, rules[violated.property]))
    for name, why in held.properties.items():
        rules.setdefault(name, len(rules))
        results.append(_not_broken(name, why, rules[name], held))
    driver = {
        "name": "Penstock",
        "version": VERSION,
        "semanticVersion": VERSION,
        "rules": [_rule(name) for name in rules],
    }
    run: dict[str, object] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    if held.conclusion is not None:
        run["invocations"] = [_invocation(held.conclusion)]
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    json.dump(document, file, indent=1)
    file.write("\n")
    return ""


def _rule(name: str) -> dict[str, object]:
    return {
        "id": visible(name),
        "shortDescription": {"text": f"{visible(name)} must hold in every ordering of events."},
        "defaultConfiguration": {"level": "error"},
    }


def _invocation(conclusion: Conclusion) -> dict[str, object]:
    """Return how the command ended: it did its work, whatever it came to."""
    notes = conclusion.reasons if conclusion.result is not ResultWord.VIOLATED else ()
    return {
        "executionSuccessful": True,
        "exitCode": conclusion.exit_status,
        "exitCodeDescription": visible(f"{conclusion.result}: {conclusion.told}"),
        "toolExecutionNotifications": [
            {"level": "warning", "message": {"text": visible(reason)}} for reason in notes
        ]
        + [{"level": "note", "message": {"text": visible(step)}} for step in conclusion.next_steps],
    }


def _not_broken(name: str, why: str, rule: int, held: Held) -> dict[str, object]:
    """Return the result of a property that was not broken."""
    known = held.conclusion
    if why or (known is not None and not known.judged):
        kind, text = "notApplicable", why or "Nothing was judged."
    elif known is not None and known.is_conclusive:
        kind, text = "pass", known.told
    else:
        kind, text = "open", UNKNOWN if known is None else f"{name} was not violated. {known.told}"
    place = None if held.about is None else next(_apps(held.about), _Place(held.about.shown))
    return {
        "ruleId": visible(name),
        "ruleIndex": rule,
        "kind": kind,
        "level": "none",
        "message": {"text": visible(text)},
        "locations": [] if place is None else [_location(place)],
    }


def _result(source: Source, violated: Violated, rule: int) -> dict[str, object]:
    trace = _Place(source.shown)
    what = "\0".join(
        (digest_of(source.trace.scenario), violated.property, violated.message.partition(":")[0])
    )
    return {
        "ruleId": visible(violated.property),
        "ruleIndex": rule,
        "kind": "fail",
        "level": "error",
        "message": {
            "text": visible("\n".join((violated.message or violated.property, *violated.cause()))),
        },
        "locations": [_location(_culprit(source, violated) or trace)],
        "partialFingerprints": {
            "penstockViolation/v1": blake2b(what.encode(errors="replace"), digest_size=16).hexdigest()
        },
        "occurrenceCount": violated.again + 1,
        "codeFlows": [{"threadFlows": [{"locations": list(_flow(violated, trace.path))}]}],
    }


def _location(place: _Place) -> dict[str, object]:
    found: dict[str, object] = {"artifactLocation": {"uri": quote(place.path, errors="replace")}}
    if place.line is not None:
        found["region"] = {"startLine": place.line}
    return {"physicalLocation": found}


def _flow(violated: Violated, trace: str) -> Iterator[dict[str, object]]:
    """Yield the steps to a violation, and itself."""
    kept = violated.steps
    steps = [line for line in kept.items if not isinstance(line, FindingLine)]
    told = {line.number: story for line, story in zip(kept.lines, stories_of(kept.lines), strict=True)}
    for order, step in enumerate(steps[-MOST_STEPS:], 1):
        match step:
            case Line():
                node, text = step.node, "; ".join(told[step.number])
            case InputLine():
                node, text = "", f"Input: {step.text}"
            case LogLine():
                node, text = step.source, f"{step.source} logs: {step.text}"
            case _:
                assert_never(step)
        yield {
            "location": _step_location(trace, step.number, node, f"{step.number}. {text}"),
            "executionOrder": order,
            "importance": "important" if node else "essential",
        }
    end = f"{violated.property} is violated: {violated.message}"
    yield {"location": _step_location(trace, violated.line, "", end), "importance": "essential"}


def _step_location(trace: str, number: int, node: str, text: str) -> dict[str, object]:
    # The header is the first line of a trace, so the first step is on the second.
    found = {**_location(_Place(trace, number + 1)), "message": {"text": visible(text)}}
    if node:
        found["logicalLocations"] = [{"name": visible(node), "kind": "object"}]
    return found


# Where a controller's code is.


def _culprit(source: Source, violated: Violated) -> _Place | None:
    """Return where to look for what is wrong, as well as that is known."""
    apps = list(_apps(source))
    for place in (place for text in violated.code() for place in places_of(text) if place.line > 0):
        for app in apps:
            beside = Path(app.path).parent / place.file
            if app.path == beside.as_posix() or (".." not in beside.parts and beside.is_file()):
                return _Place(beside.as_posix(), place.line)
            if app.path == place.file or app.path.endswith(f"/{place.file}"):
                return _Place(app.path, place.line)
    for line in reversed(violated.steps.lines):
        for event in line.events:
            if event.startswith("crashed "):
                return _raise_place(event, apps) or next(iter(apps), None)
    return next(iter(apps), None)


def _raise_place(event: str, apps: list[_Place]) -> _Place | None:
    """Return the innermost line of an app in what a handler raised."""
    for file, line in reversed(_RAISED.findall(event)):
        for app in apps:
            if Path(file).name == Path(app.path).name and int(line) > 0:
                return _Place(app.path, int(line))
    return None


def _apps(source: Source) -> Iterator[_Place]:
    """Yield the files of a scenario's controllers."""
    table = source.trace.scenario
    given = [table.get("controller"), *_values(table.get("controllers"))]
    folder = source.file.parent / source.trace.folder
    for controller in given:
        if not isinstance(controller, Mapping):
            continue
        apps = controller.get("apps", ())
        for app in [apps] if isinstance(apps, str) else apps if isinstance(apps, list) else []:
            yield from _file_of(str(app), folder)
        if isinstance(native := controller.get("native"), str):
            yield from _file_of(native, folder)


def _values(tables: object) -> list[object]:
    return list(tables.values()) if isinstance(tables, Mapping) else []


def _file_of(app: str, folder: Path) -> Iterator[_Place]:
    file, _, name = app.partition(":")
    if file.endswith(".py"):
        path = folder / file
        yield _Place(from_here(path), _line_of(path, name) if name else None)
    elif _MODULE.fullmatch(app):
        yield _Place(app.replace(".", "/") + ".py")


def _line_of(path: Path, name: str) -> int | None:
    """Return the line on which a class of a file begins."""
    try:
        if not path.is_file() or path.stat().st_size > LONGEST_SOURCE:
            return None
        tree = ast.parse(path.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    named = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return next((node.lineno for node in named), None)
