"""Lines of traces become steps: texts once, machines' paths left out, packets followed."""

from typing import TypedDict

import pytest

from penstock._report.layout import Drawing
from penstock._report.steps import LONGEST_TEXT, ReportStep, StepWriter, Strings, placeless
from penstock._trace.trace import FindingLine, InputLine, Line, LogLine, TraceLine
from penstock._world.component import Endpoint

DRAWING = Drawing(
    {"h1": "host", "h2": "host", "s1": "switch", "c0": "controller"},
    ((Endpoint("h1", 0), Endpoint("s1", 1)), (Endpoint("h2", 0), Endpoint("s1", 2))),
    (("s1", "c0"),),
)
LANES = ["h1", "h2", "s1", "fabric", "c0"]
PING = "[ICMP echo request 10.0.0.1 > 10.0.0.2 seq 1]"
PONG = "[ICMP echo reply 10.0.0.2 > 10.0.0.1 seq 1]"


StepInWords = TypedDict(
    "StepInWords",
    {
        "kind": str,
        "lane": int,
        "at": int | None,
        "title": str,
        "packet": str | None,
        "message": str | None,
        "sends": list[tuple[str | None, str]],
        "from": int | None,
    },
)
"""What the tests look at in a step, with texts in place of their numbers."""


def steps_of(*lines: TraceLine) -> list[StepInWords]:
    """Return lines as steps, with texts in place of their numbers."""
    strings = Strings()
    writer = StepWriter(DRAWING, LANES, strings)
    steps = [writer.step(line, relevant=True) for line in lines]
    return [in_words(step, strings.texts) for step in steps]


def in_words(step: ReportStep, texts: list[str]) -> StepInWords:
    return {
        "kind": step["kind"],
        "lane": step["lane"],
        "at": step["at"],
        "title": texts[step["title"]],
        "packet": None if step["packet"] is None else texts[step["packet"]],
        "message": None if step["message"] is None else texts[step["message"]],
        "sends": [(LANES[lane] if lane >= 0 else None, texts[text]) for lane, text in step["sends"]],
        "from": step["from"],
    }


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('File "/home/ann/apps/mine.py", line 3', 'File "…/mine.py", line 3'),
        ("/usr/lib/python3/os.py and /srv/x/y", "…/os.py and …/y"),
        (r"C:\Users\ann\mine.py fails", "…/mine.py fails"),
        ("cannot read /var/log/", "cannot read …/"),
        ("ipv4_dst=10.0.0.0/8,eth_dst=01:00:00:00:00:00/01:00:00:00:00:00", None),
        ("GET http://127.0.0.1:8080/stats/flow/1", None),
        ("priority=1 in_port=1 -> output:2", None),
        ("and/or, 3/4, a / b", None),
    ],
)
def test_absolute_paths_are_cut_to_their_last_part(text: str, shown: str | None) -> None:
    assert placeless(text) == (text if shown is None else shown)


@pytest.mark.parametrize("part", ["-/-", "//", "a.b/", "a/", "a:\\"])
def test_slashes_within_words_begin_no_paths(part: str) -> None:
    assert placeless(f"x{part}" * 100) == f"x{part}" * 100


def test_a_text_longer_than_anybody_reads_is_cut() -> None:
    assert placeless("x" * (LONGEST_TEXT + 5)) == "x" * LONGEST_TEXT + "… (5 more characters)"


def test_a_text_is_kept_once() -> None:
    strings = Strings()
    assert strings.numbers(["a", "b", "a"]) == [0, 1, 0]
    assert strings.texts == ["a", "b"]


def test_an_answer_is_a_packet_of_its_own() -> None:
    sent, forwarded, answered, got = steps_of(
        Line(1, "h1 ping h2", "h1", sends=(f"h1:0 {PING}",)),
        Line(2, "deliver h1:0", "s1", PING, (f"s1:2 {PING}",), causes=(1,)),
        Line(3, "deliver s1:2", "h2", PING, (f"h2:0 {PONG}",), causes=(2,)),
        Line(4, "deliver h2:0", "s1", PONG, causes=(2, 3)),
    )
    assert [step["packet"] for step in (sent, forwarded, answered, got)] == ["h1@1", "h1@1", "h1@1", "h2@3"]
    assert [step["from"] for step in (sent, forwarded, answered, got)] == [None, 1, 2, 3]
    assert answered["sends"] == [("s1", PONG)]


def test_a_packet_is_followed_through_a_controller() -> None:
    found = steps_of(
        Line(1, "h1 ping h2", "h1", sends=(f"h1:0 {PING}",)),
        Line(2, "deliver h1:0", "s1", PING, ("s1:c0 PacketIn(port=1, no_match)",), causes=(1,)),
        Line(
            3,
            "deliver s1:c0",
            "c0",
            "PacketIn(port=1, no_match)",
            ("c0:s1 PacketOut(9 bytes, output:2)",),
            causes=(2,),
        ),
        Line(4, "deliver c0:s1", "s1", "PacketOut(9 bytes, output:2)", (f"s1:2 {PING}",), causes=(2, 3)),
    )
    assert [step["packet"] for step in found] == ["h1@1"] * 4
    assert [step["sends"][0][0] for step in found] == ["s1", "c0", "s1", "h2"]
    assert [step["kind"] for step in found] == ["host", "switch", "controller", "switch"]


def test_a_host_that_moved_is_heard_at_its_new_place() -> None:
    *_, before, moved, to_old, to_new = steps_of(
        Line(1, "deliver c0:s1", "s1", "PacketOut(9 bytes, output:2)", (f"s1:2 {PING}",)),
        Line(2, "fabric move h2 to s1:3", "fabric"),
        Line(3, "deliver c0:s1", "s1", "PacketOut(9 bytes, output:2)", (f"s1:2 {PING}",)),
        Line(4, "deliver c0:s1", "s1", "PacketOut(9 bytes, output:3)", (f"s1:3 {PING}",)),
    )
    assert moved["kind"] == "fabric" and moved["title"] == "h2 moves to s1:3."
    assert [step["sends"][0][0] for step in (before, to_old, to_new)] == ["h2", None, "h2"]


def test_every_sort_of_line_has_a_kind_and_a_title() -> None:
    found = steps_of(
        InputLine(1, "send h1 to h2 ping 1", 5),
        LogLine(2, "c0", "packet in", 6),
        Line(3, "drop h1:0", "fabric", lost=(f"h1:0 h1#1 {PING}",), events=(f"drop h1:0 h1#1 {PING}",), at=7),
        Line(4, "time s1:2000", "s1", at=2000),
        FindingLine(5, "violated", "NoForwardingLoops", "it loops", 2000, True),
        FindingLine(6, "healed", "NoForwardingLoops", "it loops", 3000),
    )
    assert [(step["kind"], step["lane"], step["at"]) for step in found] == [
        ("input", -1, 5),
        ("log", 4, 6),
        ("fault", 3, 7),
        ("time", 2, 2000),
        ("violated", -1, 2000),
        ("healed", -1, 3000),
    ]
    assert [step["title"] for step in found] == [
        "Input: send h1 to h2 ping 1",
        "c0 logs: packet in",
        f"The link out of h1:0 loses h1#1 {PING}.",
        "Time passes: it is 2 s at s1.",
        "NoForwardingLoops is violated at 2 s: it loops",
        "NoForwardingLoops holds again at 3 s; it was: it loops",
    ]
    assert found[2]["packet"] == "h1#1"
