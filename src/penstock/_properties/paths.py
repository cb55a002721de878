"""Direct paths: once a flow works, its packets no longer go to the controller.

Only packets that were sent after the moment from which the property speaks are judged; those
already under way then may still meet the controller, which is natural delay and no fault.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock._base.frozen import FrozenMap
from penstock._properties.base import Property, Violated
from penstock._properties.flows import Flow, flow_of
from penstock._properties.packets import accepted, changes, fabric_action, frames_sent, handed_over
from penstock._world.component import Event
from penstock._world.network import Network
from penstock._world.transition import Record

RESET: Final = "reset"


class Flying(NamedTuple):
    """A packet on its way: its flow, and how many copies there are."""

    flow: Flow
    copies: int


class Known(NamedTuple):
    """The flows of which a packet has been delivered, and the packets on their way that matter.

    Those are packets of flows not yet delivered, one of which may be the first, and packets that
    are judged: they were sent after the safe time.  A packet of a delivered flow is of these.
    """

    delivered: frozenset[Flow] = frozenset()
    flying: FrozenMap[str, Flying] = FrozenMap()


class Sight(NamedTuple):
    """What a step showed: packets delivered, handed over, copied or ended, and sent."""

    delivered: str
    switch: str
    handed: tuple[tuple[str, str], ...]
    changes: tuple[tuple[str, int], ...]
    sent: tuple[tuple[str, Flow], ...]


@dataclass(eq=False)
class DirectPaths(Property):
    """Once a packet of a flow has reached its destination, later ones do not go to the controller.

    When a link fails, a host moves or a rule times out, everything begins anew: the controller
    has to be asked again then.
    """

    sentence = (
        "Once a packet has reached its destination, no packet of its flow sent after that "
        "goes to the controller."
    )
    needs = "a packet that is sent after an earlier one of its flow was delivered"
    because = "although an earlier packet of its flow had reached its destination when it was sent"

    def start(self, _network: Network, /) -> Known:
        """Begin with no flow known."""
        return Known()

    def see(self, record: Record, /) -> Hashable | None:
        """See packets sent, delivered, and handed to controllers, and copies come and go."""
        if fabric_action(record) or _timed_out(record):
            return RESET
        sent = [(frame.tag, flow_of(frame.data)) for _, frame in frames_sent(record)]
        change = changes(record)
        for tag, _ in sent:
            change.pop(tag, None)
        reached = accepted(record)
        sight = Sight(
            reached[1].tag if reached and flow_of(reached[1].data) else "",
            record.node,
            handed_over(record),
            tuple(sorted(change.items())),
            tuple((tag, flow) for tag, flow in sent if flow is not None),
        )
        if not (sight.delivered or sight.handed or sight.changes or sight.sent):
            return None
        return sight if sight.handed else sight._replace(switch="")

    def next(self, state: Known, seen: Sight | str, /) -> Known:
        """Judge what goes to the controller; learn which flows work."""
        if isinstance(seen, str):
            return Known()
        delivered, flying = state
        for tag, called in seen.handed:
            if tag in flying and flying[tag].flow in delivered:
                raise Violated(f"{seen.switch} handed {called} to the controller {self.because}.")
        if seen.delivered in flying:
            flow = flying[seen.delivered].flow
            if flow not in delivered:
                delivered |= {flow}
                flying = flying.without(*(tag for tag in flying if flying[tag].flow == flow))
        for tag, change in seen.changes:
            if tag in flying:
                flow, copies = flying[tag]
                left = copies + change
                flying = flying.set(tag, Flying(flow, left)) if left > 0 else flying.without(tag)
        for tag, flow in seen.sent:
            if flow not in delivered or self.is_settled(flow, delivered):
                flying = flying.set(tag, Flying(flow, 1))
        return Known(delivered, flying)

    def is_settled(self, flow: Flow, delivered: frozenset[Flow]) -> bool:
        """Tell whether packets of a flow that are sent now are judged."""
        return flow in delivered

    def judges(self, state: Known, seen: Sight | str, /) -> bool:
        """A packet sent after the safe time is judged; it puts the property to the test where it ends."""
        if isinstance(seen, str):
            return False
        tags = [tag for tag, _ in (*seen.handed, *seen.changes)]
        return any(tag in state.flying and state.flying[tag].flow in state.delivered for tag in tags)


@dataclass(eq=False)
class StrictDirectPaths(DirectPaths):
    """Once packets of a flow were delivered both ways, later ones do not go to the controller."""

    sentence = (
        "Once two hosts have delivered a packet of a flow to each other, no packet of it sent after that "
        "goes to the controller."
    )
    needs = "a packet that is sent after a packet of its flow and an answer were delivered"
    because = "although packets of its flow had been delivered both ways when it was sent"

    def is_settled(self, flow: Flow, delivered: frozenset[Flow]) -> bool:
        """Tell whether packets of a flow that are sent now are judged."""
        return flow in delivered and flow.reverse() in delivered


def _timed_out(record: Record) -> bool:
    """Tell whether a rule timed out in a step."""
    for event in record.events:
        match event:
            case Event("rule-removed", (_, _, str(reason))) if reason.endswith("timeout"):
                return True
    return False
