"""No packet is left lying in a switch's buffer."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock._properties.base import Property, Violated
from penstock._properties.packets import called, fabric_action, is_move
from penstock._world.network import Network
from penstock._world.switch import SwitchState
from penstock._world.transition import Record
from penstock.openflow.messages import NO_BUFFER, PacketIn

UNUSED: Final = "unused"
USED: Final = "used"
FAILED: Final = "failed"
"""How things stand: no switch ever kept a packet; one did; or something failed.

After a failure the controller may never have heard of a packet, so nothing is judged any more.
"""


@dataclass(eq=False)
class NoForgottenPackets(Property):
    """When the network comes to rest, no switch keeps a packet for the controller.

    Switches keep packets only if they have buffers (`SwitchOptions.buffers`); Open vSwitch has none.
    """

    sentence = "The controller releases every packet that a switch keeps for it in a buffer."
    needs = "switches with buffers, and one that keeps a packet there for the controller"
    unjudged_after_faults = "what becomes of packets in buffers"

    def start(self, _network: Network, /) -> str:
        """Begin with unused buffers."""
        return UNUSED

    def see(self, record: Record, /) -> Hashable | None:
        """See that a switch keeps a packet, or that something failed."""
        action = fabric_action(record)
        if action and not is_move(action):
            return FAILED
        kept = any(isinstance(m, PacketIn) and m.buffer_id != NO_BUFFER for _, m in record.sends)
        return USED if kept else None

    def next(self, state: str, seen: str, /) -> str:
        """Remember the worst."""
        return FAILED if FAILED in (state, seen) else USED

    def judges(self, _state: str, _seen: str, /) -> bool:
        """Nothing is judged before the end."""
        return False

    def at_rest(self, state: str, states: Mapping[str, Any], /) -> bool:
        """Look into the buffers."""
        if state != USED:
            return False
        for name, switch in states.items():
            for number, kept in switch.buffers.items() if isinstance(switch, SwitchState) else ():
                packet = called(kept.frame.tag, kept.frame.data)
                raise Violated(
                    f"{name} still keeps {packet}, which came in on port {kept.in_port}, in buffer {number}: "
                    f"the controller was told of it and never released it."
                )
        return True
