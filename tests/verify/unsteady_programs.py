"""Programs whose switches do more than match and forward, and that hear more than requests."""

from typing import Any

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import ApplyActions, GotoTable, Group, Output, SetField
from penstock.openflow.fields import ETH_IPV4, ETH_MPLS, IP_TCP
from penstock.openflow.match import Match
from penstock.openflow.messages import (
    Bucket,
    Error,
    FeaturesReply,
    FeaturesRequest,
    FlowCommand,
    FlowMod,
    FlowRemoved,
    GroupMod,
    GroupType,
    OpenFlowMessage,
    PacketIn,
    PacketOut,
    PortConfig,
    PortMod,
    PortNo,
)
from penstock.openflow.stats import AggregateRequest, DescRequest, StatsReply, StatsRequest

H2, NOBODY = 0x0A000002, 0x0A000063
SSH = {"eth_type": ETH_IPV4, "ip_proto": IP_TCP, "tcp_dst": 22}
ASK = (Output(PortNo.CONTROLLER),)
ADD_GROUP, MODIFY_GROUP = 0, 1
NOWHERE = 99_999_999
"""A number that no port can have."""


class Rewriting(Controller):
    """Has one switch write another address into packets, and the next let those through that go to ssh."""

    def switch_join(self, switch: str) -> None:
        if switch == "s1":
            actions = (SetField("ipv4_dst", NOBODY), Output(2))
            self.install(switch, Match.of(eth_type=ETH_IPV4, ipv4_dst=H2), actions)
        else:
            self.install(switch, Match.of(**SSH, ipv4_dst=NOBODY), (Output(1),))


class RewritingBetweenTables(Controller):
    """The same in two tables of one switch."""

    def switch_join(self, switch: str) -> None:
        instructions = (ApplyActions((SetField("ipv4_dst", NOBODY),)), GotoTable(1))
        match = Match.of(eth_type=ETH_IPV4, ipv4_dst=H2)
        self.send(switch, FlowMod(FlowCommand.ADD, match, instructions))
        self.install(switch, Match.of(**SSH, ipv4_dst=NOBODY), (Output(2),), table_id=1)


class Spreading(Controller):
    """Has a switch choose a port for each packet."""

    def switch_join(self, switch: str) -> None:
        buckets = tuple(Bucket((Output(port),), 1) for port in (2, 3))
        self.send(switch, GroupMod(ADD_GROUP, GroupType.SELECT, 1, buckets))
        self.install(switch, Match.of(in_port=1), (Group(1),))


class Labelling(Controller):
    """Lets through what has an MPLS label."""

    def switch_join(self, switch: str) -> None:
        self.install(switch, Match.of(eth_type=ETH_MPLS, mpls_label=46), (Output(2),))


class Copying(Controller):
    """Has packets handed over and sent out, both."""

    def switch_join(self, switch: str) -> None:
        self.install(switch, actions=(*ASK, Output(2)))


class Once(Controller):
    """Does something about the first packet, which comes in by port 1, and nothing about others."""

    def __init__(self) -> None:
        self.packets = 0
        self.addresses: dict[int, int] = {}

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.packets = min(self.packets + 1, 2)
        if self.packets == 1 and message.in_port == 1:
            self.begin(switch, message)

    def begin(self, switch: str, message: PacketIn) -> None:
        """Do it."""


class CopyingAndDeleting(Once):
    """Has packets handed over and sent out, and a rule deleted that was never there."""

    def switch_join(self, switch: str) -> None:
        self.install(switch, actions=(*ASK, Output(2)), priority=0)

    def begin(self, switch: str, _message: PacketIn) -> None:
        self.send(switch, FlowMod(FlowCommand.DELETE, Match.of(in_port=7)))


class SendingByTable(Once):
    """Adds a rule for what the program sends, and sends the packet through the tables."""

    def begin(self, switch: str, message: PacketIn) -> None:
        self.install(switch, Match.of(in_port=9), (Output(2),))
        self.send(switch, PacketOut(message.buffer_id, 9, (Output(PortNo.TABLE),), message.data))


class Circling(Controller):
    """Sends every packet through the tables, which ask the program again."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.packet_out(switch, message, (Output(PortNo.TABLE),))


class ChangingGroups(Once):
    """Sends a packet by a group, and then changes where the group leads."""

    def switch_join(self, switch: str) -> None:
        self.send(switch, GroupMod(ADD_GROUP, GroupType.INDIRECT, 1, (Bucket((Output(1),)),)))
        self.install(switch, actions=ASK, priority=0)

    def begin(self, switch: str, message: PacketIn) -> None:
        self.packet_out(switch, message, (Group(1),))
        self.send(switch, GroupMod(MODIFY_GROUP, GroupType.INDIRECT, 1, (Bucket((Output(2),)),)))


class OpeningPorts(Once):
    """Keeps a port down, sends the first packet to it, and only then has it up."""

    def switch_join(self, switch: str) -> None:
        self.send(switch, FeaturesRequest())

    def other(self, switch: str, message: OpenFlowMessage) -> None:
        if isinstance(message, FeaturesReply):
            self.addresses = {port.port_no: port.hw_addr for port in message.ports}
            self.send(switch, PortMod(2, self.addresses[2], PortConfig.DOWN, PortConfig.DOWN))

    def begin(self, switch: str, message: PacketIn) -> None:
        self.packet_out(switch, message, (Output(2),))
        self.send(switch, PortMod(2, self.addresses[2], 0, PortConfig.DOWN))


class RulesAfterAnswers(Controller):
    """Asks a switch who made it, and lets ssh through when it hears."""

    def packet_in(self, switch: str, _message: PacketIn) -> None:
        self.send(switch, StatsRequest(DescRequest()))

    def stats(self, switch: str, _message: StatsReply) -> None:
        self.install(switch, Match.of(**SSH, in_port=1), (Output(2),))


class Counting(Controller):
    """Cannot bear that a rule was used."""

    def switch_join(self, switch: str) -> None:
        self.install(switch, actions=ASK, priority=0)

    def packet_in(self, switch: str, _message: PacketIn) -> None:
        self.send(switch, StatsRequest(AggregateRequest()))

    def stats(self, _switch: str, message: StatsReply) -> None:
        body: Any = message.body
        if body.packet_count:
            raise RuntimeError("it was used")


class CountingAtTheEnd(Controller):
    """Cannot bear that a rule was used much before it went."""

    def packet_in(self, switch: str, _message: PacketIn) -> None:
        self.install(switch, Match.of(in_port=1), (Output(2),), idle_timeout=5, flags=1)

    def flow_removed(self, _switch: str, message: FlowRemoved) -> None:
        if message.packet_count > 3:
            raise RuntimeError("it was used")


class KnowingNumbers(Controller):
    """Knows by its number which message was refused."""

    def packet_in(self, switch: str, _message: PacketIn) -> None:
        instructions = (ApplyActions((Output(NOWHERE),)),)
        self.send(switch, FlowMod(FlowCommand.ADD, Match.of(in_port=1), instructions, xid=77))

    def error(self, _switch: str, message: Error) -> None:
        if message.xid == 77:
            raise RuntimeError("it was refused")


class TwoRules(Once):
    """Sends two rules, and cannot bear that the first one is refused."""

    upsetting = 1

    def begin(self, switch: str, _message: PacketIn) -> None:
        for number in (1, 2):
            instructions = (ApplyActions((Output(number),)),)
            self.send(switch, FlowMod(FlowCommand.ADD, Match.of(in_port=number), instructions, xid=number))

    def error(self, _switch: str, message: Error) -> None:
        if message.xid == self.upsetting:
            raise RuntimeError("it was refused")


class TwoRulesTheOtherWay(TwoRules):
    """Cannot bear that the second one is refused."""

    upsetting = 2


class RaisingAtFirst(Controller):
    """Does not survive that a switch joins."""

    def switch_join(self, _switch: str) -> None:
        raise RuntimeError("no switches, please")


class CountingForEver(Controller):
    """Has ever more states."""

    def __init__(self) -> None:
        self.packets = 0

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.packets += 1
        self.packet_out(switch, message, FLOOD)
