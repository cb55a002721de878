"""The document: all that a report shows of a run, as plain data.

The page draws it, `penstock report --json` prints it, and others may read it.  It has the network as it is
drawn, the steps of the run, what each step changed in which component, the story, and what is known of the
search, the fuzzing run or the minimisation that the trace came from.

It is made of text that strangers may have written, so whoever shows it sets every text as text.  It names no
place on the machine that it was made on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

from penstock._base import version
from penstock._base.text import json_text, visible, visible_within
from penstock._engine.conclusion import read_conclusion, read_coverage
from penstock._explain.explaining import finding_cause_lines
from penstock._report.gathering import Gathered, Minimised, gather, inputs_of
from penstock._report.layout import Drawing, controllers_in, drawing_in, drawing_of
from penstock._report.run_story import Choice, chosen_lines, tell_run
from penstock._report.steps import ReportStep, StepWriter, Strings, channel_receivers, placeless
from penstock._report.unfolding import Unfolded, unfold
from penstock._rootcause.plotting import turning_points
from penstock._story.story import numbered
from penstock._trace.consent import Consent
from penstock._trace.trace import CUT_SHORT, FuzzTrace, Line, ProofTrace, Trace, first_lasting
from penstock._world.channels import CHANNEL_FAULTS
from penstock._world.component import Endpoint
from penstock._world.signals import FABRIC

FORMAT: Final = "penstock-report"
VERSION: Final = 1
MOST_STEPS: Final = 200_000
"""How many steps a report shows; the rest is left out, and a remark says so."""
MOST_STORY: Final = 5_000
MOST_NODES: Final = 3_000
"""How many nodes of a network are drawn; of a larger one, only those that do something in the run."""


@dataclass(slots=True)
class Document:
    """A report as data; see the module."""

    title: str
    engine: str
    source: str
    drawing: Drawing
    lanes: list[str]
    strings: Strings
    verdict: dict[str, object] | None = None
    cut_short: bool = False
    remarks: list[str] = field(default_factory=list)
    steps: list[ReportStep] = field(default_factory=list)
    start: list[list[object]] = field(default_factory=list)
    states: bool = False
    states_until: int | None = None
    loop: int = 0
    story: list[int] | None = None
    minimised: dict[str, object] | None = None
    coverage: dict[str, object] | None = None
    conclusion: dict[str, object] | None = None
    summary: Mapping[str, object] | None = None
    live: bool = False
    served: bool = False

    def as_json(self) -> dict[str, object]:
        """Return the document as plain data, as its format says."""
        found: dict[str, object] = {
            "format": FORMAT,
            "version": VERSION,
            "penstock": version.VERSION,
            "title": placeless(self.title),
            "engine": self.engine,
            "source": visible(self.source),
            "verdict": _placeless(self.verdict),
            "cut_short": self.cut_short,
            "remarks": [placeless(remark) for remark in self.remarks],
            "topology": visible_within(self.drawing.as_json()),
            "lanes": [placeless(lane) for lane in self.lanes],
            "strings": self.strings.texts,
            "steps": self.steps,
            "start": self.start,
            "states": self.states,
            "states_until": self.states_until,
            "loop": self.loop,
            "story": self.story,
            "minimised": visible_within(self.minimised),
            "coverage": _placeless(self.coverage),
            "conclusion": _placeless(self.conclusion),
            "summary": _placeless(self.summary),
            "frames": None,
            "live": self.live,
        }
        if self.served:
            found["served"] = True
        return found

    def as_text(self) -> str:
        """Return the document as JSON."""
        return json_text(self.as_json(), separators=(",", ":"), allow_nan=False)


def _placeless(value: object) -> Any:
    """Return plain data without the absolute paths of a machine in its texts."""
    match value:
        case str():
            return placeless(value)
        case Mapping():
            return {placeless(str(key)): _placeless(item) for key, item in value.items()}
        case list() | tuple():
            return [_placeless(item) for item in value]
        case float() if value != value or value in (float("inf"), float("-inf")):
            return None
        case bool() | int() | float() | None:
            return value
    return placeless(str(value))


def report_on(path: Path, consent: Consent | None = None, *, states: bool = True) -> Document:
    """Return the report on a trace, or on the folder of a run or a minimisation.

    Nothing that the trace names is run.  With consent its controllers are, for what they know after each
    step; `states` says whether states are wanted at all.
    """
    return document_of(gather(path), consent, states=states)


def document_of(gathered: Gathered, consent: Consent | None = None, *, states: bool = True) -> Document:
    """Return the report on what was gathered."""
    trace = gathered.trace
    unfolded = unfold(trace, gathered.file.parent, consent) if states and trace.lines else Unfolded()
    return _whole(gathered, unfolded, wanted=states)


def _whole(gathered: Gathered, states: Unfolded, *, wanted: bool) -> Document:
    trace = gathered.trace
    document = open_document(gathered, states)
    document.remarks += (*states.remarks, *states.left_out)
    if trace.lines and not wanted:
        document.remarks.append("States are left out, as --no-states asks.")
    document.states, document.states_until = states.has_states, states.until
    number, numbers = document.strings.number, document.strings.numbers
    document.start = [
        [number(name), number(section), numbers(lines)] for name, section, lines in states.start
    ]
    _tell(document, trace, states)
    document.story = _story(document, trace)
    document.minimised = minimised_part(gathered.minimised, document)
    document.coverage = read_coverage(trace.details)
    conclusion = read_conclusion(document.coverage, gathered.summary)
    document.conclusion = None if conclusion is None else conclusion.as_json()
    return document


def open_document(gathered: Gathered, states: Unfolded, *, growing: bool = False) -> Document:
    """Return a report with all that is known before its steps; in one that grows anything may happen yet."""
    trace = gathered.trace
    drawing = _drawing(trace, states)
    used = {line.node for line in trace.lines} | ({FABRIC} if growing else set())
    if len(drawing.kinds) > MOST_NODES:
        drawing = _only(drawing, used)
    lanes = drawing.lanes(used)[:MOST_NODES]
    name = trace.scenario.get("name")
    name = name if isinstance(name, str) else gathered.file.stem
    verdict = verdict_of(trace)
    document = Document(
        title=f"{name}: {verdict['property']} is violated" if verdict is not None else name,
        engine=trace.engine,
        source=placeless(gathered.source),
        drawing=drawing,
        lanes=lanes,
        strings=Strings(),
        verdict=verdict,
        cut_short=trace.cut_short,
        remarks=list(gathered.remarks),
        loop=trace.loop if isinstance(trace, ProofTrace) else 0,
        summary=gathered.summary,
    )
    if trace.cut_short:
        document.remarks.append(CUT_SHORT)
    return document


def verdict_of(trace: Trace) -> dict[str, object] | None:
    """Return what a run breaks, and in which step that shows."""
    if trace.verdict is not None:
        last = trace.lines[-1].number if trace.lines else 0
        found = {"property": trace.verdict.property, "message": trace.verdict.message, "step": last}
        return {**found, "cause": list(trace.verdict.cause)}
    finding = first_lasting(trace)
    if finding is None:
        return None
    found = {"property": finding.invariant, "message": finding.message, "step": finding.number}
    return {**found, "cause": list(finding_cause_lines(trace, finding))}


# The network.


def _drawing(trace: Trace, states: Unfolded) -> Drawing:
    """Return the network: as it was built, or as the trace tells it, or as the lines do."""
    if states.network is not None:
        return drawing_of(states.network)
    return drawing_in(trace) or _told_by_lines(trace, controllers_in(trace))


def _told_by_lines(trace: Trace, controllers: list[str]) -> Drawing:
    heard = channel_receivers(trace.lines)
    kinds = dict.fromkeys(controllers, "controller")
    links: dict[frozenset[Endpoint], tuple[Endpoint, Endpoint]] = {}
    control: dict[tuple[str, str], None] = {}
    nodes = {line.node for line in trace.lines} | {channel.partition(":")[0] for channel in heard}
    back: dict[tuple[str, str], list[str]] = {}
    for channel, node in heard.items():
        back.setdefault((channel.partition(":")[0], node), []).append(channel)
    spoken = {node for channel, node in heard.items() if channel.partition(":")[0] in controllers}
    for name in sorted(nodes - {FABRIC} - set(controllers)):
        kinds[name] = "switch" if name in spoken else "host"
    for channel, node in heard.items():
        sender = channel.partition(":")[0]
        if FABRIC in (sender, node):
            continue
        if node in controllers or sender in controllers:
            switch, controller = (sender, node) if node in controllers else (node, sender)
            control[switch, controller] = None
            continue
        other = back.get((node, sender), [f"{node}:?"])[0]
        ends = (_end(channel), _end(other))
        links.setdefault(frozenset(ends), ends)
    return Drawing(kinds, tuple(links.values()), tuple(control))


def _end(channel: str) -> Endpoint:
    node, _, port = channel.partition(":")
    return Endpoint(node, int(port) if port.isdecimal() and len(port) < 10 else port)


def _only(drawing: Drawing, used: set[str]) -> Drawing:
    """Return the part of a large network that does something."""
    kept = dict(islice(((name, kind) for name, kind in drawing.kinds.items() if name in used), MOST_NODES))
    links = tuple((a, b) for a, b in drawing.links if a.node in kept and b.node in kept)
    control = tuple(pair for pair in drawing.control if pair[0] in kept and pair[1] in kept)
    return Drawing(kept, links, control)


# Steps and story.


def _tell(document: Document, trace: Trace, states: Unfolded) -> None:
    writer = StepWriter(document.drawing, document.lanes, document.strings)
    lines, _ = chosen_lines(trace, Choice(whole=True))
    telling = {line.number for line in chosen_lines(trace, Choice())[0]}
    if len(lines) > MOST_STEPS:
        document.remarks.append(f"Only the first {MOST_STEPS:,} of {len(lines):,} steps are shown.")
    for line in lines[:MOST_STEPS]:
        document.steps.append(
            writer.step(
                line,
                relevant=line.number in telling,
                changes=states.changes.get(line.number, ()),
            )
        )


def _story(document: Document, trace: Trace) -> list[int] | None:
    """Return the story in short: all of a search's run, of a fuzzing run what led to the violation."""
    if isinstance(trace, FuzzTrace):
        if first_lasting(trace) is None:
            return None
        # Its last line is about the options of a command.
        told = list(tell_run(trace, Choice()))[:-1]
    else:
        told = []
        begin = len(trace.lines) - document.loop
        for place, line in enumerate(trace.lines):
            if place == begin and document.loop:
                told.append("and then again and again:")
            told += numbered(line.number, line.told or (line.transition,))
    if len(told) > MOST_STORY:
        told = [*told[:MOST_STORY], f"… and {len(told) - MOST_STORY:,} more lines"]
    return document.strings.numbers(text.rstrip() for text in told if text.strip())


# Minimisations.


def minimised_part(found: Minimised | None, document: Document) -> dict[str, object] | None:
    """Return how a minimisation went, as far as it is."""
    if found is None:
        return None
    summary = found.summary or {}
    numbers = document.strings.numbers
    before = [] if found.before is None else _inputs(found.before, document.drawing)
    sequence = summary.get("sequence")
    after = [str(text) for text in sequence] if isinstance(sequence, list) else []
    if found.after is not None and not after:
        after = _inputs(found.after, document.drawing)
    points = turning_points(found.points)
    return {
        "before": {"inputs": _count(summary.get("inputs"), len(before)), "steps": _steps(found.before)},
        "after": None
        if found.after is None
        else {"inputs": _count(summary.get("size"), len(after)), "steps": _steps(found.after)},
        "inputs_before": numbers(before),
        "inputs_after": numbers(after),
        "replays": _count(summary.get("replays"), len(found.points)),
        "seconds": round(found.points[-1].seconds, 3) if found.points else 0.0,
        "progress": [[point.replay, point.size] for point in points],
    }


def _count(given: object, otherwise: int) -> int:
    return given if type(given) is int and given >= 0 else otherwise


def _steps(trace: Trace | None) -> int:
    """Return how many steps a run took until its violation."""
    if trace is None:
        return 0
    finding = first_lasting(trace)
    return sum(1 for line in trace.lines if finding is None or line.number < finding.number)


def _inputs(trace: Trace, drawing: Drawing) -> list[str]:
    if isinstance(trace, FuzzTrace):
        return inputs_of(trace)
    return [line.transition for line in trace.lines if _is_from_outside(line, drawing)]


def _is_from_outside(line: Line, drawing: Drawing) -> bool:
    """Tell whether a step of a search is what a host, the fabric or a wire did by itself."""
    verb = line.transition.partition(" ")[0]
    return verb == FABRIC or verb in CHANNEL_FAULTS or drawing.kinds.get(verb) == "host"
