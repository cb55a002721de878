"""Entries that time out: the same entries at the same moments however time passes, and thousands at once."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock._world.component import Event, Send, Step
from penstock._world.frame import Frame
from penstock._world.switch import PortSpec, Switch, SwitchState
from penstock.openflow.actions import ApplyActions, Output
from penstock.openflow.match import Match
from penstock.openflow.messages import FlowCommand, FlowFlag, FlowMod, FlowRemoved

SWITCH = Switch("s1", 1, tuple(PortSpec(number, f"s1-eth{number}", number) for number in (1, 2, 3)))


def entry(port: int, table: int, idle: int, hard: int) -> FlowMod:
    return FlowMod(
        FlowCommand.ADD,
        match=Match.of(in_port=port),
        table_id=table,
        instructions=(ApplyActions((Output(3),)),),
        idle_timeout=idle,
        hard_timeout=hard,
        flags=FlowFlag.SEND_FLOW_REM,
    )


ENTRIES = st.builds(entry, st.integers(1, 3), st.integers(0, 1), st.integers(0, 3), st.integers(0, 3))
FRAMES = st.integers(1, 3).map(lambda port: Frame(bytes(12) + b"\x12\x34", f"h{port}#1"))
HAPPENINGS = st.lists(st.one_of(ENTRIES, FRAMES, st.sampled_from([500, 1000])), max_size=12)


def lived(happenings: list[FlowMod | Frame | int]) -> SwitchState:
    """Return a switch after entries came, were used, and some time passed."""
    state = SWITCH.initial()
    for happening in happenings:
        if isinstance(happening, int):
            step = SWITCH.advance(state, state.now + happening)
        elif isinstance(happening, FlowMod):
            step = SWITCH.receive(state, "c0", happening)
        else:
            step = SWITCH.receive(state, int(happening.tag[1]), happening)
        state = step.state
    return state


def in_small_steps(state: SwitchState, end: int, by: int) -> Step:
    sends: list[Send] = []
    events: list[Event] = []
    while state.now < end:
        step = SWITCH.advance(state, state.now + by)
        state = step.state
        sends += step.sends
        events += step.events
    return Step(state, tuple(sends), tuple(events))


@settings(max_examples=150)
@given(HAPPENINGS)
def test_it_makes_no_difference_whether_time_passes_at_once(happenings: list[FlowMod | Frame | int]) -> None:
    state = lived(happenings)
    assert SWITCH.advance(state, state.now + 8000) == in_small_steps(state, state.now + 8000, 500)


@settings(max_examples=150)
@given(HAPPENINGS)
def test_the_deadline_is_when_the_first_entry_goes(happenings: list[FlowMod | Frame | int]) -> None:
    state = lived(happenings)
    deadline = SWITCH.deadline(state)
    timed = [
        known
        for table in state.tables.values()
        for known in table
        if known.idle_timeout or known.hard_timeout
    ]
    assert (deadline is None) == (not timed)
    if deadline is not None:
        assert not SWITCH.advance(state, max(deadline - 1, state.now)).sends
        assert SWITCH.advance(state, max(deadline, state.now)).sends


def test_thousands_of_entries_go_at_one_moment_in_the_order_of_the_table() -> None:
    state = SWITCH.initial()
    for number in range(3000):
        message = FlowMod(
            FlowCommand.ADD,
            match=Match.of(eth_dst=number),
            hard_timeout=5,
            flags=FlowFlag.SEND_FLOW_REM,
        )
        state = SWITCH.receive(state, "c0", message).state
    step = SWITCH.advance(state, 5000)
    removed = [send.message for send in step.sends]
    assert all(isinstance(message, FlowRemoved) for message in removed)
    assert [message.match for message in removed if isinstance(message, FlowRemoved)] == [
        Match.of(eth_dst=number) for number in range(3000)
    ]
    assert not step.state.tables
    assert not step.state.rule_usage
