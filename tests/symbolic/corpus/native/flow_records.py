"""Counts datagrams by flow, a record of three numbers."""

from dataclasses import dataclass

from penstock._controllers.controller import FLOOD, Controller
from penstock.addresses import ipv4
from penstock.openflow.messages import PacketIn
from penstock.packet import IPv4, parse


@dataclass(frozen=True)
class Flow:
    """What datagrams of one flow share."""

    src: int
    dst: int
    protocol: int


class FlowRecords(Controller):
    """A table whose keys are records."""

    def __init__(self) -> None:
        one, other = ipv4("10.0.0.1"), ipv4("10.0.0.2")
        self.flows = {Flow(one, other, 6): 7, Flow(other, one, 6): 7}

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Count a datagram, and flood the first of its flow."""
        datagram = parse(message.data).find(IPv4)
        if datagram is None:
            return
        flow = Flow(datagram.src, datagram.dst, datagram.protocol)
        self.flows[flow] = self.flows.get(flow, 0) + 1
        if self.flows[flow] == 1:
            self.packet_out(switch, message, FLOOD)
