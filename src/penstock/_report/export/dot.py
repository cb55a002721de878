"""Pictures in Graphviz's language.

Each text is a quoted string, in which quotation marks and backslashes are escaped, so that none is taken
for one of the language's own escapes.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock._report.export.graphs import Edge, Happening, Node, lanes_of, shown


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
    escaped = shown(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
