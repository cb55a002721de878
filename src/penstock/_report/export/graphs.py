"""Pictures of a run for Graphviz and Mermaid: the network with the packet's way, and who told whom what.

The network is drawn as the scenario names it, one from a file as it is when the scenario is built; links
that only the trace shows (a host that moved) are added.  The way is that of the packet that the violation
names, or else of the last packet before it, each hop with the number of its step.

The run is drawn as one line of life for each component with the messages as arrows.  Of a fuzzing run only
what led to the violation is drawn, and of any run no more than the last `MOST_STEPS` steps.

Nothing else is run.  All texts are a stranger's, so nodes have made-up names and texts are escaped (see `dot`
and `mermaid` for the languages).

Each text is a quoted string, in which quotation marks and backslashes are escaped, so that none is taken
for one of the language's own escapes.

Each character that may have a meaning in the language is written by its number, as in `#35;`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

from penstock._base.text import visible
from penstock._explain.past import packet_names
from penstock._report.export.violations import Source, Violated, source_of, violations_of
from penstock._report.layout import Drawing, controllers_in, drawing_in, in_turn
from penstock._rootcause.journeys import find_packet, journey, name_of
from penstock._trace.retelling import stories_of
from penstock._trace.trace import InputLine, Line, Trace
from penstock._world.signals import FABRIC
from penstock._world.transition import DELIVER
from penstock.errors import PenstockError

MOST_STEPS: Final = 400
"""How many steps a picture of a run has; more cannot be looked at, and tools give up on some thousands."""
LONGEST_TEXT: Final = 120
"""How much is shown of a text."""
_WORD: Final = re.compile(r"[^\s:,;()]+")


@dataclass(frozen=True, slots=True)
class Node:
    """A component of the network."""

    name: str
    kind: str
    is_named: bool = False
    """Whether the violation names it."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A link, or a hop of the packet on it."""

    a: str
    b: str
    text: str = ""
    kind: str = "link"


@dataclass(frozen=True, slots=True)
class Happening:
    """A step of a picture of a run: something told, and from whom it came, if it was a message."""

    number: int
    node: str
    text: str
    sender: str = ""
    lost: int = 0
    cause: int | None = None
    """The step that sent what arrived here."""

    @property
    def told(self) -> str:
        """The step in words, with its number."""
        return f"{self.number}. {self.text}"


# What is drawn.


def network_of(source: Source, violated: Violated | None) -> tuple[list[Node], list[Edge]]:
    """Return the network of a trace with the way of the packet that a violation is about."""
    trace, drawing = (
        source.trace,
        drawing_in(source.trace) or Drawing(dict.fromkeys(controllers_in(source.trace), "controller")),
    )
    kinds = dict(drawing.kinds)
    edges = [Edge(a.node, b.node, f"{a.port} - {b.port}") for a, b in drawing.links]
    ports = {pair for a, b in drawing.links for pair in ((str(a), b.node), (str(b), a.node))}
    control = dict.fromkeys(drawing.control)
    seen: dict[tuple[str, str], None] = {}
    for line in trace.lines:
        kinds.setdefault(line.node, _kind_of(line))
        sender, port = _sender(line)
        if not sender or sender == FABRIC:
            continue
        kinds.setdefault(sender, "switch")
        if not port.isdecimal():
            control[(sender, port) if kinds[line.node] == "controller" else (port, sender)] = None
        elif (f"{sender}:{port}", line.node) not in ports:
            seen[min(sender, line.node), max(sender, line.node)] = None
    kinds.pop(FABRIC, None)
    named = set(_WORD.findall(violated.message)) if violated is not None else set()
    nodes = [Node(name, kinds[name], name in named) for name in sorted(kinds, key=in_turn)]
    edges += [Edge(a, b, "", "seen") for a, b in seen]
    edges += [Edge(switch, controller, "", "control") for switch, controller in control]
    edges += _way(trace, violated) if violated is not None else []
    return nodes, [edge for edge in edges if edge.a in kinds and edge.b in kinds]


def _kind_of(line: Line) -> str:
    about_rules = ("rule-", "matched ", "missed ", "dropped ")
    return "switch" if any(event.startswith(about_rules) for event in line.events) else "host"


def _sender(line: Line) -> tuple[str, str]:
    """Return the component and port that a delivered message came out of."""
    verb, _, where = line.transition.partition(" ")
    if verb != DELIVER:
        return "", ""
    node, _, port = where.rpartition(":")
    return node, port


def _way(trace: Trace, violated: Violated) -> list[Edge]:
    """Return the hops of the packet that a violation is about, each with its step."""
    packet = _packet(violated)
    if packet is None:
        return []
    try:
        hops = journey(trace, find_packet(trace, packet))
    except PenstockError:
        return []
    found: dict[tuple[str, str], list[str]] = {}
    for hop in hops:
        sender, port = _sender(hop.line)
        if port.isdecimal():
            found.setdefault((sender, hop.line.node), []).append(str(hop.line.number))
    return [Edge(a, b, _some(numbers), "way") for (a, b), numbers in found.items()]


def _packet(violated: Violated) -> str | None:
    """Return the packet that a violation names, or the last one before it."""
    named = packet_names(violated.message)
    among = set(named)
    for line in reversed(violated.steps.lines):
        for text in (line.message or "", *(send.partition(" ")[2] for send in line.sends)):
            if (tag := name_of(text)) in among:
                return tag
    if named:
        return named[0]
    for line in reversed(violated.steps.lines):
        if line.message is not None and (tag := name_of(line.message)):
            return tag
    return None


def _some(numbers: list[str], most: int = 6) -> str:
    return ", ".join(numbers[:most]) + (" …" if len(numbers) > most else "")


def happenings_of(trace: Trace, violated: Violated | None) -> list[Happening]:
    """Return the steps that a picture of a run shows."""
    kept = violated.steps if violated is not None else trace
    lines = kept.lines[-MOST_STEPS:]
    senders = {line.number: line for line in kept.lines}
    found: list[tuple[int, Happening]] = []
    for line, story in zip(lines, stories_of(lines), strict=True):
        sender, _ = _sender(line)
        flight = f"{line.transition.partition(' ')[2]} {line.message}"
        cause = next((n for n in line.causes if n in senders and flight in senders[n].sends), None)
        text = story[0]
        found.append((line.number, Happening(line.number, line.node, text, sender, len(line.lost), cause)))
    first = lines[0].number if lines else 0
    for given in kept.items:
        if isinstance(given, InputLine) and given.number >= first:
            found.append((given.number, Happening(given.number, "fuzzer", f"Input: {given.text}")))
    return [happening for _, happening in sorted(found, key=lambda pair: pair[0])]


def lanes_of(happenings: list[Happening]) -> list[str]:
    """Return the components of a picture, those that only sent something among them."""
    names = {happening.node for happening in happenings}
    names |= {happening.sender for happening in happenings if happening.sender}
    return sorted(names, key=in_turn)


def shorten_text(text: str) -> str:
    """Return as much of a text as a picture has room for, without what cannot be seen."""
    clean = visible(text[: LONGEST_TEXT + 1].replace("\n", " "), keep="")
    return clean if len(clean) <= LONGEST_TEXT else clean[: LONGEST_TEXT - 1] + "…"


# Pictures in Graphviz's language.


def dot_network(nodes: list[Node], edges: list[Edge], verdict: str) -> Iterator[str]:
    """Yield a network in Graphviz's language."""
    shapes = {"host": "ellipse", "switch": "box", "controller": "hexagon"}
    yield "digraph network {"
    yield f"  label={dot_text(verdict)}; labelloc=t; edge [dir=none];"
    ids = {node.name: f"n{number}" for number, node in enumerate(nodes)}
    for node in nodes:
        mark = ", color=red, penwidth=2" if node.is_named else ""
        yield f"  {ids[node.name]} [label={dot_text(node.name)}, shape={shapes[node.kind]}{mark}];"
    looks = {
        "link": "",
        "seen": ", style=dashed",
        "control": ", style=dotted, color=grey",
        "way": ", dir=forward, color=red, fontcolor=red, penwidth=2",
    }
    for edge in edges:
        yield f"  {ids[edge.a]} -> {ids[edge.b]} [label={dot_text(edge.text)}{looks[edge.kind]}];"
    yield "}"


def dot_run(happenings: list[Happening], verdict: str) -> Iterator[str]:
    """Yield the steps of a run in Graphviz's language: each component a column, time goes down."""
    columns = {name: f"g{number}" for number, name in enumerate(lanes_of(happenings))}
    yield "digraph run {"
    yield f"  label={dot_text(verdict)}; labelloc=t; node [shape=box, fontsize=10];"
    last = {}
    for name, column in columns.items():
        yield f"  {column} [label={dot_text(name)}, shape=plaintext, group={column}];"
        last[name] = column
    if len(columns) > 1:
        yield f"  {{ rank=same; {'; '.join(columns.values())} }}"
        yield f"  {' -> '.join(columns.values())} [style=invis];"
    drawn = {happening.number for happening in happenings}
    for happening in happenings:
        here, column = f"e{happening.number}", columns[happening.node]
        yield f"  {here} [label={dot_text(happening.told)}, group={column}];"
        yield f"  {last[happening.node]} -> {here} [weight=9, arrowhead=none, color=grey];"
        if happening.cause in drawn:
            yield f"  e{happening.cause} -> {here};"
        last[happening.node] = here
    yield "}"


def dot_text(text: str) -> str:
    """Return a text as a quoted string that is shown as it is."""
    escaped = shorten_text(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# Pictures in Mermaid's language, which many show in Markdown.


_SPECIAL: Final = re.compile(r"[^A-Za-z0-9 .,:()\[\]/_'+*=!?…-]")
_END: Final = re.compile(r"\b([eE])(?=[nN][dD]\b)")
"""A word of the language, wherever it stands."""


def mermaid_network(nodes: list[Node], edges: list[Edge], verdict: str) -> Iterator[str]:
    """Yield a network in Mermaid's language."""
    shapes = {"host": ('(["', '"])'), "switch": ('["', '"]'), "controller": ('{{"', '"}}')}
    yield "flowchart LR"
    yield f'  verdict["{mermaid_text(verdict)}"]'
    ids = {node.name: f"n{number}" for number, node in enumerate(nodes)}
    for node in nodes:
        left, right = shapes[node.kind]
        yield f"  {ids[node.name]}{left}{mermaid_text(node.name)}{right}"
    arrows = {"link": "---", "seen": "-.-", "control": "-.-", "way": "==>"}
    for edge in edges:
        text = f'|"{mermaid_text(edge.text)}"|' if edge.text else ""
        yield f"  {ids[edge.a]} {arrows[edge.kind]}{text} {ids[edge.b]}"
    if marked := [ids[node.name] for node in nodes if node.is_named]:
        yield "  classDef named stroke:#c00,stroke-width:3px"
        yield f"  class {','.join(marked)} named"


def mermaid_run(happenings: list[Happening], verdict: str) -> Iterator[str]:
    """Yield the steps of a run as a sequence diagram in Mermaid's language."""
    lanes = {name: f"p{number}" for number, name in enumerate(lanes_of(happenings))}
    yield "sequenceDiagram"
    for name, lane in lanes.items():
        yield f"  participant {lane} as {mermaid_text(name)}"
    for happening in happenings:
        lane, told = lanes[happening.node], mermaid_text(happening.told)
        if happening.sender in lanes and happening.sender != happening.node:
            yield f"  {lanes[happening.sender]}->>{lane}: {told}"
        else:
            yield f"  Note over {lane}: {told}"
        if happening.lost:
            yield f"  {lane}--x{lane}: {happening.lost} lost"
    if lanes:
        ends = list(lanes.values())
        over = ends[0] if len(ends) == 1 else f"{ends[0]},{ends[-1]}"
        yield f"  Note over {over}: {mermaid_text(verdict)}"


def mermaid_text(text: str) -> str:
    """Return a text that is shown as it is."""
    escaped = _SPECIAL.sub(_number, shorten_text(text).strip())
    return _END.sub(_number, escaped) or _BLANK


_BLANK: Final = "#32;"


def _number(found: re.Match[str]) -> str:
    return f"#{ord(found[0])};"


# By what they show, and by language.


def write_picture(path: Path, file: TextIO, language: str, what: str) -> str:
    """Write a picture, of the `network` or of the `run`, in a language: `dot` or `mermaid`."""
    source = source_of(path)
    broken = violations_of(source.trace)
    violated = broken[0] if broken else None
    verdict = f"{violated.property}: {violated.message}" if violated is not None else "no violation"
    if what == "network":
        nodes, edges = network_of(source, violated)
        lines = (dot_network if language == "dot" else mermaid_network)(nodes, edges, verdict)
    else:
        happenings = happenings_of(source.trace, violated)
        lines = (dot_run if language == "dot" else mermaid_run)(happenings, verdict)
    for text in lines:
        file.write(text + "\n")
    steps = len(source.trace.lines)
    if what == "run" and violated is None and steps > MOST_STEPS:
        return f"Only the last {MOST_STEPS} of {steps:,} steps are drawn."
    return ""
