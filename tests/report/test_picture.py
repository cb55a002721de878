"""Pictures of runs: every message is drawn once, and nothing is wider than the terminal."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from penstock._check.check import check
from penstock._controllers.controller import FLOOD, Controller
from penstock._engine.building import build
from penstock._report.picture import Note, Row, draw, lanes_of, picture, rows_of, trace_picture
from penstock._report.run_story import Choice
from penstock._scenario.scenario import Scenario, load_scenario
from penstock._trace.retelling import record_of
from penstock._trace.trace import lines_of, read_trace
from penstock._world.component import Endpoint, Event
from penstock._world.frame import Frame
from penstock._world.signals import FABRIC
from penstock._world.transition import ACT, DELIVER, InFlight, Record, Transition
from penstock._world.world import World
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn, PortNo

EXAMPLES = Path(__file__).parents[2] / "examples"


class Hub(Controller):
    """Floods every packet."""

    def switch_join(self, switch: str) -> None:
        self.install(switch, actions=(Output(PortNo.CONTROLLER),), priority=0)

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.packet_out(switch, message, FLOOD)


MISHAPS = Scenario(
    controller=Hub(),
    topology="ring,3",
    hosts={"h1": {"kind": "client", "to": "h2"}, "h3": {"kind": "client", "to": "h1"}},
    faults={
        "drops": 2,
        "duplicates": 2,
        "reorders": 2,
        "link_failures": 1,
        "disconnects": 1,
        "switch_failures": 1,
    },
)


def walked(seed: int, steps: int) -> tuple[list[Record], World]:
    """Return a random run with failures and losses, and the world that it ends in."""
    built = build(MISHAPS)
    assert not any(built.start.queues), "nothing was sent before the run"
    records: list[Record] = []
    world = World(built.network, [records.append])
    world.restore(built.start)
    world.run(Random(seed), limit=steps, faults=True)
    return records, world


def drawn(records: list[Record], width: int = 200, *, plain: bool = False) -> list[str]:
    return picture(enumerate(records, 1), width=width, plain=plain)


RUNS = st.builds(walked, st.integers(0, 10_000), st.integers(0, 90))


@settings(max_examples=40)
@given(RUNS)
def test_every_message_is_drawn_once(run: tuple[list[Record], World]) -> None:
    records, world = run
    rows = rows_of(list(enumerate(records, 1)))
    arrived = [row for row in rows if row.source and row.lane]
    lost = [row for row in rows if row.source and not row.lane and row.lost]
    under_way = [row for row in rows if row.source and not row.lane and not row.lost]
    assert len(arrived) == sum(record.transition.verb == DELIVER for record in records)
    assert len(lost) == sum(len(record.lost) for record in records)
    channels = world.network.channels
    assert Counter(row.source for row in under_way) == Counter(
        end.node for end in channels for _ in world.queue(end)
    )
    sent = sum(len(record.sends) for record in records)
    lost_at_once = sum(len(record.lost) for record in records if record.node != FABRIC)
    doubled = sum(record.transition.verb == "duplicate" for record in records)
    assert sent + lost_at_once + doubled == len(arrived) + len(lost) + len(under_way)


@settings(max_examples=40)
@given(RUNS, st.booleans())
def test_every_arrow_has_its_head_in_the_text(run: tuple[list[Record], World], plain: bool) -> None:
    records, _ = run
    rows = [
        Row(row.number, "", row.lane, row.source, row.lost) for row in rows_of(list(enumerate(records, 1)))
    ]
    lines = draw(rows, lanes_of(records), width=200, plain=plain)[1:]
    right, left, lost = (">", "<", "x") if plain else ("►", "◄", "×")
    for row, line in zip(rows, lines, strict=True):
        heads = line.count(right) + line.count(left)
        stubs = line.count(lost)
        assert heads == (bool(row.source) and (bool(row.lane) or not row.lost))
        assert stubs == (row.lost and (not row.lane or not row.broken))


@settings(max_examples=60)
@given(RUNS, st.integers(1, 120), st.booleans())
def test_no_line_is_wider_than_asked(run: tuple[list[Record], World], width: int, plain: bool) -> None:
    for line in drawn(run[0], width, plain=plain):
        assert cell_len(line) <= width
        assert line.isascii() or not plain


@settings(max_examples=20)
@given(RUNS)
def test_a_trace_is_drawn_as_its_run(run: tuple[list[Record], World]) -> None:
    """Messages are known from their texts alone, too: same rows, same arrows."""
    records = run[0]
    again = [record_of(line) for line in lines_of(records)]
    rows = rows_of(list(enumerate(records, 1)))
    assert [(row.number, row.lane, row.source, row.lost) for row in rows] == [
        (row.number, row.lane, row.source, row.lost) for row in rows_of(list(enumerate(again, 1)))
    ]
    # Which one is the controller is seen from the messages; the order of the others is by their names.
    assert lanes_of(again) == lanes_of(records)


# By example.


def frame(text: str = "h1#1") -> Frame:
    return Frame(b"", text)


SENT = Record(Transition(ACT, "h1", "send"), "h1", sends=(InFlight(Endpoint("h1", 0), frame()),))
GOT = Record(
    Transition(DELIVER, "h1", 0),
    "s1",
    Endpoint("s1", 1),
    frame(),
    events=(Event("matched", (frame(), 1, 0, "priority=1")),),
)


def test_a_message_is_an_arrow_from_its_sender_where_it_arrives() -> None:
    assert drawn([SENT, GOT])[1:] == [
        "1.   ●    │    h1 sends h1#1 [0 bytes, too short for a frame]",
        "2.   ├───►●    h1#1",
    ]


def test_ascii_does_where_there_is_nothing_else() -> None:
    assert drawn([SENT, GOT], plain=True)[1:] == [
        "1.   o    |    h1 sends h1#1 [0 bytes, too short for a frame]",
        "2.   |--->o    h1#1",
    ]


def test_what_has_not_arrived_is_under_way() -> None:
    assert drawn([SENT])[-1] == "     ├►   h1#1 under way, sent in 1"


def test_of_an_excerpt_nothing_is_said_to_be_under_way() -> None:
    assert picture([(7, SENT)], width=80, whole=False)[1:] == [
        "7.   ●    h1 sends h1#1 [0 bytes, too short for a frame]"
    ]


def test_an_arrow_says_which_step_sent_it_unless_it_was_the_last() -> None:
    other = Record(Transition(ACT, "h2", "wait"), "h2")
    lines = drawn([SENT, other, GOT])
    assert lines[3].endswith("h1#1, sent in 1")


def test_a_lost_packet_ends_in_a_cross() -> None:
    dropped = Record(Transition("drop", "h1", 0), FABRIC, lost=(InFlight(Endpoint("h1", 0), frame()),))
    lines = drawn([SENT, dropped])
    assert len(lines) == 3
    assert lines[2].split() == ["2.", "├×", "│", "lost:", "h1#1"]


def test_a_packet_that_a_switch_drops_is_marked_there() -> None:
    dropping = GOT._replace(events=(Event("dropped", (frame(), 1, "nothing sends it on")),))
    assert drawn([SENT, dropping])[2] == "2.   ├───►×    h1#1, dropped"


def test_the_step_that_breaks_a_property_is_marked() -> None:
    lines = picture([(1, SENT), (2, GOT), (2, Note("Mine is violated", broken=True))], width=80)
    assert lines[2] == "2.   ├───►✗    h1#1"
    assert lines[3] == " ✗   │    │    Mine is violated"


def test_lanes_that_do_not_fit_share_one_and_a_note_says_so() -> None:
    many = [Record(Transition(ACT, f"h{number}", "wait"), f"h{number}") for number in range(1, 31)]
    lines = drawn([*many, *([many[4]] * 3)], width=40)
    assert "h5" in lines[0]
    assert "+" in lines[0]
    assert lines[-1].startswith("… one lane for h")
    assert all(len(line) <= 40 for line in lines)


def test_lanes_go_from_hosts_over_switches_to_controllers_by_number() -> None:
    built = build(
        Scenario(controller=Hub(), topology="linear,11", hosts={"h1": {"kind": "client", "to": "h11"}})
    )
    records: list[Record] = []
    world = World(built.network, [records.append])
    world.restore(built.start)
    world.run()
    names = [f"{kind}{number}" for kind in "hs" for number in range(1, 12)]
    assert lanes_of(records) == [*names, "c0"]


def test_a_stranger_s_text_cannot_steer_the_terminal() -> None:
    evil = Record(Transition(ACT, "h1", "\x1b]0;evil\x07\nmore"), "h1")
    lines = drawn([evil])
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("name", ["bug_05", "bug_11"])
def test_a_violation_of_a_real_scenario_is_drawn_to_its_end(tmp_path: Path, name: str) -> None:
    report = check(load_scenario(EXAMPLES / "nice" / f"{name}.toml"), output=tmp_path)
    (finding,) = report.findings
    assert finding.trace is not None
    lines = trace_picture(read_trace(finding.trace), Choice(), width=100)
    marked = [line for line in lines if "✗" in line]
    assert len(marked) == 2
    assert marked[0].lstrip().startswith(f"{len(finding.records)}.")
    assert marked[1].endswith(f"{finding.property} is violated")
