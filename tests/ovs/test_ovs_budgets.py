"""The budgets of one packet, each just within it and just over it, on the model and on Open vSwitch.

`world.switch.budgets` names the figures; here Open vSwitch is asked for them.
"""

from itertools import chain

import pytest
from bench.ovs.difftest import DifferentialTest
from bench.ovs.instance import OpenVSwitch
from bench.ovs.on_model import run_on_model
from bench.ovs.programs import Arrive, Program, Step, Tell

from penstock._world.switch import budgets
from penstock.openflow.actions import (
    Action,
    ApplyActions,
    GotoTable,
    Group,
    Instruction,
    Output,
    SetField,
    WriteActions,
)
from penstock.openflow.error_codes import ErrorCode
from penstock.openflow.match import ANYTHING, Match
from penstock.openflow.messages import (
    NO_BUFFER,
    V10,
    V13,
    Bucket,
    Error,
    FlowCommand,
    FlowMod,
    GroupCommand,
    GroupMod,
    GroupType,
    OpenFlowMessage,
    PacketOut,
    PortNo,
)
from penstock.packet import udp_datagram

FRAME = udp_datagram(
    eth_src=1, eth_dst=2, ip_src="10.0.0.1", ip_dst="10.0.0.2", udp_src=5000, udp_dst=80, payload=b"payload"
).to_bytes()
TO_TABLE = Output(PortNo.TABLE)
FLOOD = Output(PortNo.FLOOD)

DEEPEST, RESUBMITS, COPIES = budgets.DEPTH.most, budgets.RESUBMITS.most, budgets.COPIES.most
TABLES = 254
ROUNDS = RESUBMITS // TABLES

Shown = dict[int, int]
"""How many frames left by each port."""


def tell(message: OpenFlowMessage) -> Tell:
    return Tell("c0", message)


def rule(*instructions: Instruction, match: Match = ANYTHING, **more: int) -> Tell:
    return tell(FlowMod(FlowCommand.ADD, match, instructions, **more))


def send_out(*actions: Action) -> Tell:
    return tell(PacketOut(NO_BUFFER, 1, actions, FRAME))


def group(number: int, *buckets: tuple[Action, ...]) -> Tell:
    return tell(GroupMod(GroupCommand.ADD, GroupType.ALL, number, tuple(map(Bucket, buckets))))


def chain_of_groups(length: int) -> list[Tell]:
    """Each group hands the packet to the one before; the first sends it out."""
    return [group(1, (Output(2),)), *(group(number, (Group(number - 1),)) for number in range(2, length + 1))]


def doubling_groups(length: int) -> list[Tell]:
    """Each group hands two copies of the packet to the one before, so that there are 2^(length-1)."""
    inner = (Group(number - 1) for number in range(2, length + 1))
    return [group(1, (Output(2),)), *(group(at, (one,), (one,)) for at, one in enumerate(inner, 2))]


def returning_rules() -> list[Tell]:
    """Each value of a field sends the packet back to table 0 with the next one; the last, to table 1."""
    count_up = (
        rule(
            ApplyActions((SetField("ip_dscp", value + 1), TO_TABLE)),
            match=Match.of(eth_type=0x0800, ip_dscp=value),
        )
        for value in range(DEEPEST - 1)
    )
    return [*count_up, rule(GotoTable(1), priority=1), rule(ApplyActions((Output(2),)), table_id=1)]


def chain_of_tables(length: int) -> list[Tell]:
    return [
        *(rule(GotoTable(number + 1), table_id=number) for number in range(length - 1)),
        rule(ApplyActions((Output(2),)), table_id=length - 1),
    ]


NOTHING: Shown = {}

CASES: dict[str, tuple[int, list[Step], Shown]] = {
    "as many groups inside each other as may be": (
        V13,
        [*chain_of_groups(DEEPEST), rule(ApplyActions((Output(3), Group(DEEPEST)))), Arrive(1, FRAME)],
        {2: 1, 3: 1},
    ),
    "one group more": (
        V13,
        [
            *chain_of_groups(DEEPEST + 1),
            rule(ApplyActions((Output(3), Group(DEEPEST + 1)))),
            Arrive(1, FRAME),
        ],
        NOTHING,
    ),
    "one group more, by a packet-out": (
        V13,
        [*chain_of_groups(DEEPEST + 1), send_out(Output(3), Group(DEEPEST + 1))],
        NOTHING,
    ),
    "one group more, by the action set": (
        V13,
        [*chain_of_groups(DEEPEST + 1), rule(WriteActions((Group(DEEPEST + 1),))), Arrive(1, FRAME)],
        NOTHING,
    ),
    "groups that lead back to themselves": (
        V13,
        [
            group(1, (Output(2),), (Group(2),)),
            group(2, (Group(1),)),
            rule(ApplyActions((Output(3), Group(1)))),
            Arrive(1, FRAME),
        ],
        NOTHING,
    ),
    "back to table 0 without end": (
        V13,
        [rule(ApplyActions((Output(3), TO_TABLE))), Arrive(1, FRAME)],
        NOTHING,
    ),
    "as many returns to table 0 as may be, and on to table 1": (
        V13,
        [*returning_rules(), Arrive(1, FRAME)],
        {2: 1},
    ),
    "one return more, and on to table 1": (V13, [*returning_rules(), send_out(Output(3), TO_TABLE)], NOTHING),
    "as many look-ups as may be": (
        V10,
        [rule(ApplyActions((Output(2),))), send_out(*[TO_TABLE] * RESUBMITS)],
        {2: RESUBMITS},
    ),
    "one look-up more": (
        V10,
        [rule(ApplyActions((Output(2),))), send_out(Output(3), *[TO_TABLE] * (RESUBMITS + 1))],
        NOTHING,
    ),
    "all tables, as often as may be": (
        V13,
        [*chain_of_tables(TABLES), send_out(*[TO_TABLE] * ROUNDS)],
        {2: ROUNDS},
    ),
    "all tables, once more": (
        V13,
        [*chain_of_tables(TABLES), send_out(*[TO_TABLE] * (ROUNDS + 1))],
        NOTHING,
    ),
    "as many copies as may be": (
        V13,
        [*doubling_groups(14), rule(ApplyActions((Group(14), Output(3)))), Arrive(1, FRAME)],
        {2: COPIES, 3: 1},
    ),
    "a milliard copies": (
        V13,
        [*doubling_groups(31), rule(ApplyActions((Group(31), Output(3)))), Arrive(1, FRAME)],
        {2: COPIES, 3: 1},
    ),
    "too many copies by look-ups end the list": (
        V10,
        [
            rule(ApplyActions((Output(2), Output(3), Output(4)))),
            send_out(*[TO_TABLE] * 3000, Output(2)),
        ],
        dict.fromkeys((2, 3, 4), COPIES // 3 + 1),
    ),
    "a plain list of floods is carried out": (
        V13,
        [send_out(*[FLOOD] * 4000)],
        dict.fromkeys((2, 3, 4), 4000),
    ),
}


def shown_last(version: int, steps: list[Step]) -> tuple[Shown, list[Error]]:
    observed = [*run_on_model(Program(0, version, ("c0",), tuple(steps)))]
    frames = chain.from_iterable(one.frames.items() for one in observed)
    counts: Shown = {}
    for port, sent in frames:
        counts[port] = counts.get(port, 0) + len(sent)
    last = observed[-1].messages.get("c0", ())
    return counts, [message for message in last if isinstance(message, Error)]


@pytest.mark.parametrize("case", CASES)
def test_a_packet_within_its_budgets_is_sent_and_one_over_them_is_not(case: str) -> None:
    version, steps, expected = CASES[case]
    shown, errors = shown_last(version, steps)
    assert shown == expected
    is_packet_out = isinstance(steps[-1], Tell) and isinstance(steps[-1].message, PacketOut)
    refused = (
        [Error(*ErrorCode.FLOW_UNKNOWN.code(version), errors[0].data)]
        if is_packet_out and not expected
        else []
    )
    assert errors == refused


@pytest.mark.ovs
@pytest.mark.parametrize("case", CASES)
def test_open_vswitch_does_the_same(case: str, ovs: OpenVSwitch) -> None:
    version, steps, _ = CASES[case]
    found = DifferentialTest(ovs).run(Program(0, version, ("c0",), tuple(steps)))
    assert found is None, str(found)
