"""Rules as functions that were made by functions."""

from collections.abc import Callable

from penstock._controllers.controller import FLOOD, Controller
from penstock.addresses import BROADCAST_MAC
from penstock.openflow.messages import PacketIn
from penstock.packet import Ethernet, parse

Rule = Callable[[Ethernet], bool]


def having(field: str, *values: int) -> Rule:
    """Make a rule about one field."""

    def holds(packet: Ethernet) -> bool:
        return getattr(packet, field) in values

    return holds


class RuleClosures(Controller):
    """Goes through rules until one holds."""

    def __init__(self) -> None:
        self.rules: list[tuple[Rule, bool]] = [
            (having("ethertype", 0x0806), True),
            (having("dst", BROADCAST_MAC), False),
            (lambda packet: packet.src == packet.dst, False),
        ]

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Flood a packet if the first rule that holds says so, or none holds."""
        packet = parse(message.data)
        tried = 0

        def verdict() -> bool:
            nonlocal tried
            for rule, flooded in self.rules:
                tried += 1
                if rule(packet):
                    return flooded
            return True

        if verdict():
            self.packet_out(switch, message, FLOOD)
