"""A trace that somebody made up gives a report or one sentence that says why not, whatever is in it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock._report.document import report_on
from penstock._trace.consent import consent_given
from penstock._trace.trace import read_header
from penstock.errors import PenstockError

WORDS = st.sampled_from(
    [
        *(
            "h1",
            "s1",
            "c0",
            "fabric",
            "deliver h1:0",
            "deliver s1:c0",
            "deliver",
            "time s1:99",
            "time s1:x",
            "",
        ),
        *(
            "fabric move h1 to s2:9",
            "inject c0:s1",
            "drop h1:0",
            "[x]",
            "h1#1 [ARP]",
            "PacketIn(port=1)",
            "move",
        ),
        *(
            "s1:1 h1#1 [UDP]",
            "h1:0 [x]",
            "crashed c0 x Traceback /home/a/b.py",
            "rule-removed",
            "\ud800",
            "\0",
        ),
        *(
            "h" + "9" * 5000,
            "<script>alert(1)</script>",
            "/etc/passwd",
            "a" * 300,
            "Order(x)",
            "Carrier(port 1 up)",
        ),
    ]
)
NUMBERS = st.integers(-1, 9) | st.sampled_from([10**9, 10**18])
VALUES: st.SearchStrategy[Any] = WORDS | NUMBERS | st.none() | st.booleans() | st.lists(WORDS, max_size=3)


def lines() -> st.SearchStrategy[dict[str, Any]]:
    """Return lines that are mostly as they should be."""
    texts = st.lists(WORDS, max_size=3)
    step = st.fixed_dictionaries(
        {"step": st.integers(0, 9), "transition": WORDS, "node": WORDS},
        optional={
            "message": WORDS,
            "sends": texts,
            "events": texts,
            "lost": texts,
            "told": texts,
            "causes": st.lists(st.integers(-3, 12), max_size=3),
            "at": st.integers(0, 10**6),
        },
    )
    given_input = st.fixed_dictionaries({"step": NUMBERS, "input": WORDS, "at": NUMBERS})
    logged = st.fixed_dictionaries({"step": NUMBERS, "log": WORDS, "text": WORDS, "at": NUMBERS})
    finding = st.fixed_dictionaries(
        {"step": st.integers(0, 9), "violated": WORDS, "message": WORDS, "at": st.integers(0, 9)},
        optional={"persistent": st.booleans()},
    )
    anything = st.dictionaries(WORDS, VALUES, max_size=4)
    return st.one_of(step, step, step, given_input, logged, finding, anything)


def headers() -> st.SearchStrategy[dict[str, Any]]:
    scenario = st.dictionaries(
        st.sampled_from(["name", "topology", "controllers", "controller", "hosts", "x"]),
        VALUES | st.sampled_from(["linear,2", {"mininet": "x.py"}, {"c0": {}, "c1": {}}]),
        max_size=4,
    )
    return st.fixed_dictionaries(
        {"scenario": scenario, "folder": st.just(".")},
        optional={
            "engine": VALUES,
            "seed": VALUES,
            "verify": VALUES | st.just({"loop": -7}),
            "coverage": VALUES | st.just({"states": 1e308}),
        },
    )


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(header=headers(), body=st.lists(lines(), max_size=8), runs=st.booleans())
def test_whatever_is_written_in_a_trace(
    header: dict[str, Any], body: list[dict[str, Any]], runs: bool, tmp_path: Path
) -> None:
    trace = tmp_path / "strange.jsonl"
    first = {"format": "penstock-trace", "version": 2, **header}
    trace.write_text("".join(json.dumps(line) + "\n" for line in (first, *body)))
    try:
        document = report_on(trace, consent_given(read_header(trace)) if runs else None)
    except PenstockError as error:
        assert str(error).endswith((".", "'", "…"))
        return
    text = document.as_text()
    assert json.loads(text)["format"] == "penstock-report"
    assert "/etc/passwd" not in text and "/home/a" not in text
    assert text.isascii()


@pytest.mark.parametrize(
    "shape", ["linear,999999999", "tree,40,40", "torus,-1,2", "nothing", "single," + "9" * 5000]
)
def test_a_network_that_nobody_could_build_is_drawn_from_the_lines(shape: str, tmp_path: Path) -> None:
    trace = tmp_path / "huge.jsonl"
    header = {"format": "penstock-trace", "version": 2, "scenario": {"topology": shape}, "folder": "."}
    step = {"step": 1, "transition": "deliver h1:0", "node": "s1", "message": "[x]"}
    trace.write_text(json.dumps(header) + "\n" + json.dumps(step) + "\n")
    document = report_on(trace)
    assert document.lanes == ["h1", "s1", "c0"]
    assert document.remarks and not document.states
