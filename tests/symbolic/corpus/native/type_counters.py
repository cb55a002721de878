"""Counts packets by type, and speaks up when there are many of one."""

from collections import defaultdict

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.messages import PacketIn
from penstock.packet import parse


class TypeCounters(Controller):
    """Counters that begin at nothing by themselves."""

    LIMIT = 9

    def __init__(self) -> None:
        self.hits: defaultdict[int, int] = defaultdict(int, {0x0800: 9, 0x0806: 0})

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Count a packet; flood it while there are few of its type."""
        kind = parse(message.data).ethertype
        self.hits[kind] += 1
        if self.hits[kind] <= self.LIMIT:
            self.packet_out(switch, message, FLOOD)
