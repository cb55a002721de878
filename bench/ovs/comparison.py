"""Putting two observations side by side.

Order is kept per port and per kind of message to one controller: packet_ins among themselves,
port_statuses among themselves, answers among themselves.  Asynchronous messages of different
kinds may overtake each other, and one event that removes several entries may tell of them in any
order: the specification orders neither.  The parts of a statistics reply are joined, its lists
sorted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from bench.ovs.contrast import contrast
from bench.ovs.deviations import DEVIATIONS
from bench.ovs.observation import Observation
from penstock.openflow.messages import (
    FeaturesReply,
    FlowRemoved,
    OpenFlowMessage,
    PacketIn,
    PortStatus,
)
from penstock.openflow.stats import StatsReply

View = dict[str, tuple[Any, ...]]
"""Per place of observation (`port 1`, `c0 packet_in`), what was seen there, in canonical form."""


def view(observation: Observation) -> View:
    """Return an observation in canonical form."""
    seen: View = {f"port {port}": frames for port, frames in observation.frames.items()}
    for controller, messages in observation.messages.items():
        kinds: dict[str, list[OpenFlowMessage]] = {}
        for message in messages:
            kinds.setdefault(_kind(message), []).append(_canonical(message))
        for kind, found in kinds.items():
            if kind == "flow_removed":
                found.sort(key=repr)
            seen[f"{controller} {kind}"] = tuple(_joined(found))
    return seen


def _kind(message: OpenFlowMessage) -> str:
    match message:
        case PacketIn():
            return "packet_in"
        case FlowRemoved():
            return "flow_removed"
        case PortStatus():
            return "port_status"
        case _:
            return "answer"


def _canonical(message: OpenFlowMessage) -> OpenFlowMessage:
    match message:
        case FeaturesReply():
            return replace(message, ports=tuple(sorted(message.ports, key=repr)))
        case _:
            return message


def _joined(messages: Iterable[OpenFlowMessage]) -> list[OpenFlowMessage]:
    """Return the messages with the parts of each statistics reply made one, and its lists sorted."""
    joined: list[OpenFlowMessage] = []
    for message in messages:
        last = joined[-1] if joined else None
        if isinstance(message, StatsReply) and isinstance(last, StatsReply) and last.more:
            joined[-1] = replace(message, body=_concatenated(last.body, message.body))
        else:
            joined.append(message)
    return [replace(m, body=_sorted(m.body)) if isinstance(m, StatsReply) else m for m in joined]


def _lists(body: Any) -> dict[str, tuple[Any, ...]]:
    """Return the lists of records that a statistics body consists of."""
    found = {field.name: getattr(body, field.name) for field in fields(body)}
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, tuple) and all(is_dataclass(record) for record in value)
    }


def _concatenated(first: Any, second: Any) -> Any:
    return replace(second, **{name: value + getattr(second, name) for name, value in _lists(first).items()})


def _sorted(body: Any) -> Any:
    return replace(body, **{name: tuple(sorted(value, key=repr)) for name, value in _lists(body).items()})


@dataclass(frozen=True, slots=True)
class Difference:
    """What was seen differently at one place."""

    place: str
    model: tuple[Any, ...]
    ovs: tuple[Any, ...]

    def __str__(self) -> str:
        return "\n".join(contrast(self.place, self.model, self.ovs))


def compare(model: Observation, ovs: Observation) -> tuple[list[Difference], list[str]]:
    """Return how two observations differ, and which deviations explain what does not count."""
    ours, theirs = view(model), view(ovs)
    differences, met = [], []
    for place in sorted({*ours, *theirs}):
        left, right = ours.get(place, ()), theirs.get(place, ())
        if left == right:
            continue
        explained = []
        for deviation in DEVIATIONS:
            forgiven = deviation.forgive(left, right)
            if forgiven != (left, right):
                left, right = forgiven
                explained.append(deviation.name)
            if left == right:
                break
        if left == right:
            met += explained
        else:
            differences.append(Difference(place, left, right))
    return differences, met
