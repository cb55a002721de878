"""Pictures are in the languages they claim to be in, whatever the names are, and show what happened."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.report.export.export_lab import exported, fuzzed, proved, refused, rewritten, searched

from penstock._base.text import visible
from penstock._report.export.graphs import (
    LONGEST_TEXT,
    MOST_STEPS,
    Happening,
    dot_text,
    mermaid_run,
    mermaid_text,
)

HOSTILE = {"s1": 's1"]; x [label="y\\', "h1": "end", "h2": '<b>&#35;"\n}; subgraph', "c0": "c0: --x %%{init"}

_STRING = r'"(?:[^"\\]|\\.)*"'
_ID = rf"(?:\w+|{_STRING})"
_ATTRIBUTES = rf"\[\w+={_ID}(?:, \w+={_ID})*\]"
_DOT = [
    re.compile(rf"  \w+={_ID}(?:; (?:\w+={_ID}|(?:node|edge) {_ATTRIBUTES}))*;"),
    re.compile(rf"  [neg]\d+ {_ATTRIBUTES};"),
    re.compile(rf"  [neg]\d+(?: -> [neg]\d+)+(?: {_ATTRIBUTES})?;"),
    re.compile(r"  \{ rank=same; g\d+(?:; g\d+)* \}"),
]
_WORDS = r"(?:[A-Za-z0-9 .,:()\[\]/_'+*=!?…-]|#\d+;)+"
_SEQUENCE = [
    re.compile(rf"  participant p\d+ as {_WORDS}"),
    re.compile(rf"  p\d+(?:->>|--x)p\d+: {_WORDS}"),
    re.compile(rf"  Note over p\d+(?:,p\d+)?: {_WORDS}"),
]
_FLOWCHART = [
    re.compile(rf'  (?:n\d+|verdict)(?:\[|\(\[|\{{\{{)"{_WORDS}"(?:\]|\]\)|\}}\}})'),
    re.compile(rf'  n\d+ (?:---|-\.-|==>)(?:\|"{_WORDS}"\|)? n\d+'),
    re.compile(r"  classDef named stroke:#c00,stroke-width:3px"),
    re.compile(r"  class n\d+(?:,n\d+)* named"),
]


def check_dot(text: str) -> list[str]:
    """Hold a text against what is used of Graphviz's grammar, and have Graphviz read it if it is here."""
    first, *lines, last = text.rstrip("\n").split("\n")
    assert re.fullmatch(r"digraph \w+ \{", first) and last == "}"
    for line in lines:
        assert any(form.fullmatch(line) for form in _DOT), line
    nodes = {line.split()[0] for line in lines if re.match(r"  [neg]\d+ \[", line)}
    ends = {
        end for line in lines if "->" in _plain(line) for end in re.findall(r"\b[neg]\d+\b", _plain(line))
    }
    assert ends <= nodes
    if tool := shutil.which("dot"):
        subprocess.run([tool, "-Tsvg"], input=text.encode(), capture_output=True, check=True, timeout=60)
    return lines


def _plain(line: str) -> str:
    return re.sub(_STRING, '""', line)


def check_mermaid(text: str) -> list[str]:
    """Hold a text against the part of Mermaid's grammar that is used."""
    first, *lines = text.rstrip("\n").split("\n")
    forms = {"sequenceDiagram": _SEQUENCE, "flowchart LR": _FLOWCHART}[first]
    for line in lines:
        assert any(form.fullmatch(line) for form in forms), line
        assert not re.search(r"\bend\b", line, re.IGNORECASE), line
    return lines


CHECKS: dict[str, Callable[[str], list[str]]] = {"dot": check_dot, "mermaid": check_mermaid}


def drawn(language: str, picture: str, path: Path) -> list[str]:
    text, _ = exported(language, path, "-o", "-", "--picture", picture)
    return CHECKS[language](text.decode())


@pytest.mark.parametrize("make", [searched, proved, fuzzed])
@pytest.mark.parametrize("picture", ["network", "run"])
@pytest.mark.parametrize("language", CHECKS)
def test_all_runs_can_be_drawn(
    language: str, picture: str, make: object, tmp_path: Path, ryu_sources: Path
) -> None:
    assert callable(make) and ryu_sources.is_dir()
    assert len(drawn(language, picture, make(tmp_path))) > 4


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory, ryu_sources: Path) -> Path:
    assert ryu_sources.is_dir()
    return searched(tmp_path_factory.mktemp("check"))


@pytest.fixture(scope="module")
def hostile(trace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    def change(line: dict[str, object]) -> None:
        if "node" in line:
            line["node"] = HOSTILE[str(line["node"])]
            line["told"] = ["".join(HOSTILE.values()) + "\0\x1b[2J\ud800"]
            line["transition"] = str(line["transition"]).replace("s1", HOSTILE["s1"])
        if "violated" in line:
            line["violated"], line["message"] = HOSTILE["h2"], "".join(HOSTILE.values())

    return rewritten(trace, tmp_path_factory.mktemp("hostile") / "hostile.jsonl", change)


@pytest.mark.parametrize("picture", ["network", "run"])
@pytest.mark.parametrize("language", CHECKS)
def test_names_and_texts_cannot_break_out(language: str, picture: str, hostile: Path) -> None:
    assert len(drawn(language, picture, hostile)) > 4


def test_the_network_has_its_links_its_sessions_and_the_way_of_the_packet(trace: Path) -> None:
    lines = drawn("dot", "network", trace)
    ids = {label: line.split()[0] for line in lines if (label := _label(line)) in ("h1", "h2", "s1", "c0")}
    assert set(ids) == {"h1", "h2", "s1", "c0"}
    edges = [line.strip() for line in lines if "->" in _plain(line)]
    assert f'{ids["h1"]} -> {ids["s1"]} [label="0 - 1"];' in edges
    assert f'{ids["h2"]} -> {ids["s1"]} [label="0 - 2"];' in edges
    ways = [edge for edge in edges if "dir=forward" in edge]
    assert len(ways) == 1 and ways[0].startswith(f'{ids["h1"]} -> {ids["s1"]} [label="13"')
    assert [edge.partition(" [")[0] for edge in edges if "dotted" in edge] == [f"{ids['s1']} -> {ids['c0']}"]


def _label(line: str) -> str:
    found = re.match(rf"  n\d+ \[label=({_STRING})", line)
    return found[1][1:-1] if found is not None else ""


def test_links_that_only_the_trace_shows_are_dashed(trace: Path) -> None:
    def change(line: dict[str, object]) -> None:
        if "scenario" in line:
            line["scenario"] = {"topology": {"mininet": "nowhere.py"}}
            del line["network"]

    lines = drawn("dot", "network", rewritten(trace, trace.parent / "unknown.jsonl", change))
    ids = {_label(line): line.split()[0] for line in lines if _label(line)}
    dashed = {tuple(line.split(" [")[0].split(" -> ")) for line in lines if "style=dashed" in line}
    assert dashed == {(f"  {ids['h1']}", ids["s1"]), (f"  {ids['h2']}", ids["s1"])}


def test_a_topology_from_a_file_is_drawn_with_its_links(tmp_path: Path) -> None:
    lines = drawn("mermaid", "network", proved(tmp_path))
    assert sum(" ---|" in line for line in lines) == 3


def test_messages_are_arrows_from_who_sent_them(trace: Path) -> None:
    lines = drawn("mermaid", "run", trace)
    lanes = dict(re.findall(r"participant (p\d+) as (\w+)", "\n".join(lines)))
    arrows = [
        (lanes[a], lanes[b], text) for a, b, text in re.findall(r"(p\d+)->>(p\d+): (.*)", "\n".join(lines))
    ]
    assert ("h1", "s1", "2. s1 gets h1#35;1 at port 1, from h1.") in arrows
    assert ("s1", "h2", "5. h2 receives h1#35;1.") in arrows
    assert [sender for sender, receiver, _ in arrows if receiver == "c0"] == ["s1", "s1"]
    assert lines[-1].startswith("  Note over p0,p3: StrictDirectPaths: s1 handed h1#35;2 ")


def test_causes_are_edges_of_the_run_in_graphviz(trace: Path) -> None:
    lines = drawn("dot", "run", trace)
    assert "  e1 -> e2;" in lines and "  e12 -> e13;" in lines and "  e1 -> e13;" not in lines


def test_a_long_run_is_drawn_from_its_end_and_that_is_said(tmp_path: Path, trace: Path) -> None:
    header = trace.read_text().splitlines()[0]
    long = tmp_path / "long.jsonl"
    steps = [f'{{"step": {n}, "transition": "h1 wave", "node": "h1"}}' for n in range(1, MOST_STEPS + 101)]
    long.write_text("\n".join([header, *steps]) + "\n")
    text, remark = exported("mermaid", long, "-o", "-")
    lines = check_mermaid(text.decode())
    assert len(lines) == MOST_STEPS + 2 and "Note over p0: 101. h1" in lines[1]
    assert remark.strip() == f"Only the last {MOST_STEPS} of {MOST_STEPS + 100} steps are drawn."


@given(st.text(max_size=300))
@example('\\"')
@example("a\\")
def test_any_text_is_one_quoted_string_of_graphviz(text: str) -> None:
    quoted = dot_text(text)
    assert re.fullmatch(_STRING, quoted)
    shown = re.sub(r"\\(.)", r"\1", quoted[1:-1])
    assert len(shown) <= LONGEST_TEXT
    if visible(text) == text and "\n" not in text and len(text) <= LONGEST_TEXT:
        assert shown == text


@given(st.text(max_size=300))
@example("END of end")
@example("#35;")
def test_any_text_is_words_to_mermaid_and_comes_back(text: str) -> None:
    told = mermaid_text(text)
    assert re.fullmatch(_WORDS, told)
    if visible(text) == text and "\n" not in text and 0 < len(text) <= LONGEST_TEXT and text == text.strip():
        assert re.sub(r"#(\d+);", lambda found: chr(int(found[1])), told) == text


def test_a_run_without_steps_is_a_diagram_without_lanes() -> None:
    assert list(mermaid_run([], "nothing")) == ["sequenceDiagram"]
    one = list(mermaid_run([Happening(1, "h1", "waves", lost=2)], "fine"))
    assert one[2:] == ["  Note over p0: 1. waves", "  p0--xp0: 2 lost", "  Note over p0: fine"]


def test_what_is_no_picture_cannot_be_told_what_to_draw(trace: Path) -> None:
    assert "no picture" in refused("junit", trace, "-o", "-", "--picture", "run")
