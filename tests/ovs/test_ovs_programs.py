"""Random programs: the same for a seed, about everything, and never asking for what is not decided."""

import os
import subprocess
import sys
from collections import Counter

import pytest
from bench.ovs.coverage import step_names
from bench.ovs.generator import generate, is_about_meters
from bench.ovs.programs import (
    CARRIER_PORT,
    WAIT_SKEW_MS,
    Arrive,
    Link,
    Program,
    Tell,
    TellBytes,
    Wait,
)

from penstock.openflow.actions import (
    ApplyActions,
    Group,
    Instruction,
    Output,
    PopMpls,
    PushMpls,
    WriteActions,
)
from penstock.openflow.fields import ETH_MPLS
from penstock.openflow.match import Match
from penstock.openflow.messages import (
    V10,
    V13,
    FlowCommand,
    FlowFlag,
    FlowMod,
    GroupMod,
    GroupType,
    PortConfig,
    PortMod,
    PortNo,
)
from penstock.openflow.wire import encode

PROGRAMS = [generate(seed) for seed in range(500)]


def flow_mods(program: Program) -> list[FlowMod]:
    told = [step.message for step in program.steps if isinstance(step, Tell)]
    return [message for message in told if isinstance(message, FlowMod)]


def groups_of(instructions: tuple[Instruction, ...]) -> list[int]:
    lists = [i.actions for i in instructions if isinstance(i, ApplyActions | WriteActions)]
    return [action.group_id for actions in lists for action in actions if isinstance(action, Group)]


def test_a_seed_always_gives_the_same_program() -> None:
    assert [generate(seed) for seed in range(40)] == PROGRAMS[:40]


def test_programs_of_both_versions_take_turns() -> None:
    assert {program.version for program in PROGRAMS} == {V10, V13}
    assert abs(sum(program.version == V10 for program in PROGRAMS) - len(PROGRAMS) / 2) <= 1


def test_every_message_can_be_sent() -> None:
    for program in PROGRAMS:
        for step in program.steps:
            if isinstance(step, Tell):
                assert encode(step.message, program.version)[0] == program.version


def test_every_kind_of_step_occurs() -> None:
    counted = Counter(name for program in PROGRAMS for step in program.steps for name in step_names(step))
    expected = {
        *("packet", "link up", "link down", "wait", "packet-out", "PortMod", "SetConfig", "GetConfigRequest"),
        *(f"flow-mod {command.name.lower()}" for command in FlowCommand),
        *(f"group-mod add {kind.name.lower()}" for kind in GroupType),
        *(f"group-mod modify {kind.name.lower()}" for kind in GroupType),
        *("group-mod delete all", "group-mod unknown", "flow-mod unknown", "MeterMod", "TableMod"),
        *("RoleRequest", "SetAsync", "GetAsyncRequest", "BarrierRequest", "EchoRequest", "FeaturesRequest"),
        *("ApplyActions", "WriteActions", "ClearActions", "WriteMetadata", "GotoTable", "UseMeter"),
        *("action Output", "action Group", "action SetField", "action PushVlan", "action PopVlan"),
        *("action PushMpls", "action PopMpls", "action DecNwTtl", "action SetQueue", "action Enqueue"),
        *("action SetVlanVid", "action SetVlanPcp", "action SetTransportSrc", "action SetTransportDst"),
        *("stats FlowRequest", "stats AggregateRequest", "stats TableRequest", "stats PortStatsRequest"),
        *("stats QueueRequest", "stats GroupStatsRequest", "stats GroupDescRequest", "stats DescRequest"),
        *("stats GroupFeaturesRequest", "stats MeterRequest", "stats MeterConfigRequest"),
        *("stats MeterFeaturesRequest", "stats PortDescRequest", "stats TableFeaturesRequest"),
        *("a message cut short", "a message with more after it", "a message of no known type"),
        *("what only a switch sends", "a request for unknown statistics"),
        "a match of fields that do not belong together",
        "QueueGetConfigRequest",
    }
    assert expected - set(counted) == set()


@pytest.mark.parametrize("port", [PortNo.IN_PORT, PortNo.ALL, PortNo.FLOOD, PortNo.CONTROLLER, PortNo.TABLE])
def test_packets_are_sent_to_reserved_ports_too(port: PortNo) -> None:
    outputs = [
        action.port
        for program in PROGRAMS
        for message in flow_mods(program)
        for instruction in message.instructions
        if isinstance(instruction, ApplyActions)
        for action in instruction.actions
        if isinstance(action, Output)
    ]
    assert port in outputs


def test_overlapping_entries_of_equal_priority_are_never_added_unchecked() -> None:
    for program in PROGRAMS:
        seen: dict[tuple[int, int], list[tuple[Match, bool]]] = {}
        for message in flow_mods(program):
            if message.command > FlowCommand.MODIFY_STRICT or message.priority < 7:
                continue
            checked = bool(message.flags & FlowFlag.CHECK_OVERLAP)
            for match, was_checked in seen.get((message.table_id, message.priority), []):
                same = match == message.match
                assert same or (checked and was_checked) or not match.overlaps(message.match)
            seen.setdefault((message.table_id, message.priority), []).append((message.match, checked))


def test_no_two_moments_of_a_program_with_timeouts_are_whole_seconds_apart() -> None:
    for program in PROGRAMS:
        if is_about_meters(program.seed):
            told = [step.message for step in program.steps if isinstance(step, Tell)]
            rules = [message for message in told if isinstance(message, FlowMod)]
            assert not any(rule.idle_timeout or rule.hard_timeout for rule in rules)
            continue
        moments, now = [0], 0
        for step in program.steps:
            if isinstance(step, Wait):
                now += step.milliseconds
                moments.append(now)
        assert len({moment % 1000 for moment in moments}) == len(moments)
        assert all(moment % 1000 % WAIT_SKEW_MS == 0 for moment in moments)


def test_a_cable_is_pulled_only_where_no_port_mod_takes_the_port_down() -> None:
    for program in PROGRAMS:
        for step in program.steps:
            if isinstance(step, Link):
                assert step.port == CARRIER_PORT
            if isinstance(step, Tell) and isinstance(step.message, PortMod):
                down = step.message.mask & PortConfig.DOWN
                assert not (step.message.port_no == CARRIER_PORT and down) or step.message.hw_addr < 1 << 40


def test_nothing_is_generated_that_open_vswitch_cannot_bear() -> None:
    for program in PROGRAMS:
        for message in flow_mods(program):
            groups = groups_of(message.instructions)
            assert len(groups) == len(set(groups))
        for step in program.steps:
            if isinstance(step, Tell) and isinstance(step.message, GroupMod):
                buckets = step.message.buckets
                assert not any(isinstance(a, PushMpls) for bucket in buckets for a in bucket.actions)


def test_no_program_has_both_action_sets_and_packets_to_be_looked_at_afresh() -> None:
    for program in PROGRAMS:
        instructions = [i for message in flow_mods(program) for i in message.instructions]
        lists = [i.actions for i in instructions if isinstance(i, ApplyActions)]
        mods = [step.message for step in program.steps if isinstance(step, Tell)]
        groups = [message for message in mods if isinstance(message, GroupMod)]
        lists += [bucket.actions for message in groups for bucket in message.buckets]
        spread = any(message.type == GroupType.SELECT and message.buckets for message in groups)
        popped = any(isinstance(a, PopMpls) and a.ethertype != ETH_MPLS for actions in lists for a in actions)
        written = any(isinstance(i, WriteActions) and len(i.actions) > 1 for i in instructions)
        assert not (written and (spread or popped))


def test_every_step_can_be_told_in_words() -> None:
    for program in PROGRAMS[:100]:
        for step in program.steps:
            words = str(step)
            assert words
            match step:
                case Arrive(port=port):
                    assert words.startswith(f"on port {port} arrives")
                case Tell(controller=controller) | TellBytes(controller=controller):
                    assert words.startswith(f"{controller} sends")


def test_a_seed_means_the_same_programs_whatever_the_hash_seed() -> None:
    code = "from bench.ovs.generator import generate; print([generate(seed) for seed in range(40)])"
    printed = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1")
    ]
    assert printed[0] == printed[1]
