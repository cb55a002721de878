"""Ethernet types by name."""

from enum import Enum, IntEnum, auto

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import parse


class Kind(IntEnum):
    """The types that matter here."""

    IPV4 = 0x0800
    ARP = 0x0806
    IPV6 = 0x86DD


class Verdict(Enum):
    """What becomes of a packet."""

    FLOOD = auto()
    FORWARD = auto()
    DROP = auto()


def judge(kind: int) -> Verdict:
    """Return what becomes of packets of a type."""
    if kind == Kind.ARP:
        return Verdict.FLOOD
    return Verdict.FORWARD if kind in (Kind.IPV4, Kind.IPV6) else Verdict.DROP


class EtherKinds(Controller):
    """Compares numbers with members of an enumeration."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Carry out the verdict on a packet's type."""
        verdict = judge(parse(message.data).ethertype)
        if verdict is Verdict.FLOOD:
            self.packet_out(switch, message, FLOOD)
        elif verdict is Verdict.FORWARD:
            self.packet_out(switch, message, (Output(2),))
