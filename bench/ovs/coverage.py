"""Counting what programs exercised, as seen on Open vSwitch: a test that meets nothing shows nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.ovs.observation import PROBE, Observation
from bench.ovs.programs import Arrive, Link, Step, Tell, TellBytes, Wait
from penstock.openflow.actions import ApplyActions, WriteActions
from penstock.openflow.match import Match
from penstock.openflow.messages import (
    Error,
    FlowCommand,
    FlowMod,
    FlowRemoved,
    FlowRemovedReason,
    GroupCommand,
    GroupMod,
    GroupType,
    OpenFlowMessage,
    PacketIn,
    PacketInReason,
    PacketOut,
)
from penstock.openflow.stats import Flows, Meters, StatsReply, StatsRequest


@dataclass(slots=True)
class Exercise:
    """How often each kind of thing happened."""

    steps: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    _packets: dict[tuple[int, int, Match], int] = field(default_factory=dict)
    _exceeded: int = 0

    def begin(self) -> None:
        """Start a program: its tables are empty."""
        self._packets = {}
        self._exceeded = 0

    def count(self, step: Step, observation: Observation, version: int) -> None:
        """Count a step and what it made visible."""
        self.steps.update(step_names(step))
        matched = self._matched(observation)
        forwarded = bool(observation.frames)
        if isinstance(step, Arrive):
            self.seen["arrivals"] += 1
            self.seen["arrivals matched"] += matched
            self.seen["arrivals forwarded"] += forwarded
        self.seen["frames"] += sum(map(len, observation.frames.values()))
        for messages in observation.messages.values():
            self.seen.update(_event(message, version) for message in messages if message.xid != PROBE.xid)
            self._count_exceeded(messages)

    def _count_exceeded(self, messages: Iterable[OpenFlowMessage]) -> None:
        """Count the packets that exceeded rates since a controller last asked after all meters."""
        for message in messages:
            if isinstance(message, StatsReply) and isinstance(message.body, Meters):
                now = sum(band.packet_count for meter in message.body.meters for band in meter.bands)
                self.seen["packets over a rate"] += max(now - self._exceeded, 0)
                self._exceeded = now

    def _matched(self, observation: Observation) -> bool:
        """Tell from the probe whether some flow entry counted a packet since the last probe."""
        before, after = self._packets, {}
        for message in (m for messages in observation.messages.values() for m in messages):
            if (
                message.xid == PROBE.xid
                and isinstance(message, StatsReply)
                and isinstance(message.body, Flows)
            ):
                for flow in message.body.flows:
                    after[flow.table_id, flow.priority, flow.match] = flow.packet_count
        self._packets = after
        return any(count > before.get(key, 0) for key, count in after.items())


def step_names(step: Step) -> list[str]:
    """Return the names under which a step is counted."""
    match step:
        case Arrive():
            return ["packet"]
        case Link(up=up):
            return ["link up" if up else "link down"]
        case Wait():
            return ["wait"]
        case TellBytes(what=what):
            return [what]
        case Tell(message=message):
            return _message_names(message)


def _message_names(message: OpenFlowMessage) -> list[str]:
    match message:
        case FlowMod():
            known = message.command in tuple(FlowCommand)
            name = FlowCommand(message.command).name.lower() if known else "unknown"
            return [f"flow-mod {name}", *(type(i).__name__ for i in message.instructions), *_actions(message)]
        case GroupMod():
            known = message.command in tuple(GroupCommand) and message.type in tuple(GroupType)
            if not known:
                return ["group-mod unknown"]
            command, kind = GroupCommand(message.command).name, GroupType(message.type).name
            return [f"group-mod {command.lower()} {kind.lower()}"]
        case PacketOut():
            return ["packet-out", *(f"packet-out {type(action).__name__}" for action in message.actions)]
        case StatsRequest():
            return [f"stats {type(message.body).__name__}"]
        case _:
            return [type(message).__name__]


def _actions(message: FlowMod) -> list[str]:
    lists = [i.actions for i in message.instructions if isinstance(i, ApplyActions | WriteActions)]
    return [f"action {type(action).__name__}" for actions in lists for action in actions]


def _event(message: OpenFlowMessage, version: int) -> str:
    match message:
        case PacketIn():
            return f"packet_in {PacketInReason(message.reason).name.lower()}"
        case FlowRemoved():
            return f"flow_removed {FlowRemovedReason(message.reason).name.lower()}"
        case Error():
            return f"error {message.name(version)}"
        case _:
            return type(message).__name__
