"""A learning switch that remembers the last two stations only."""

from collections import OrderedDict

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import parse


class RecentHosts(Controller):
    """Keeps stations in the order in which they were last heard of."""

    SIZE = 2

    def __init__(self) -> None:
        self.recent: OrderedDict[int, int] = OrderedDict({1: 1, 2: 2})

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Note the sender, forget the oldest, look for the receiver."""
        packet = parse(message.data)
        if packet.src in self.recent:
            self.recent.move_to_end(packet.src)
        else:
            self.recent[packet.src] = message.in_port
            if len(self.recent) > self.SIZE:
                self.recent.popitem(last=False)
        port = self.recent.get(packet.dst)
        if port is not None:
            self.packet_out(switch, message, (Output(port),))
        else:
            self.packet_out(switch, message, FLOOD)
