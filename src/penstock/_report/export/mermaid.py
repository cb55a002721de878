"""Pictures in Mermaid's language, which many show in Markdown.

Each character that may have a meaning in the language is written by its number, as in `#35;`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from penstock._report.export.graphs import Edge, Happening, Node, lanes_of, shown

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
    escaped = _SPECIAL.sub(_number, shown(text).strip())
    return _END.sub(_number, escaped) or _BLANK


_BLANK: Final = "#32;"


def _number(found: re.Match[str]) -> str:
    return f"#{ord(found[0])};"
