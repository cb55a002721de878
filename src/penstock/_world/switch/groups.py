"""Which buckets of a group a packet goes to.

A select group's choice is the switch's own; here it is by weight, by a fixed hash of the packet's
addresses and ports, so that a flow stays on its bucket.
"""

from __future__ import annotations

from typing import Final

from penstock._world.switch.rewriting import Packet
from penstock._world.switch.state import GroupEntry
from penstock._world.switch.turn import Turn
from penstock.openflow.messages import ANY_GROUP, Bucket, GroupType, PortNo

_HASHED: Final = (
    *("eth_src", "eth_dst", "eth_type", "ip_proto", "ipv4_src", "ipv4_dst", "ipv6_src", "ipv6_dst"),
    *("tcp_src", "tcp_dst", "udp_src", "udp_dst", "sctp_src", "sctp_dst"),
)


def choose_buckets(turn: Turn, packet: Packet, group: GroupEntry) -> list[int]:
    """Return which of a group's buckets a packet goes to, by their places in the group."""
    if group.type in (GroupType.ALL, GroupType.INDIRECT):
        return list(range(len(group.buckets)))
    live = live_buckets(turn, group)
    if group.type == GroupType.FAST_FAILOVER or not live:
        return live[:1]
    point = _flow_hash(packet) % sum(group.buckets[index].weight for index in live)
    for index in live:
        point -= group.buckets[index].weight
        if point < 0:
            return [index]
    return []


def live_buckets(turn: Turn, group: GroupEntry) -> list[int]:
    """Return which of a group's buckets may be used, by their places in the group."""
    lives = _Lives(turn)
    return [i for i, bucket in enumerate(group.buckets) if lives.bucket(group, bucket)]


def spreads(turn: Turn, group: GroupEntry) -> bool:
    """Tell whether packets of a group go different ways by the switch's own choice."""
    if group.type != GroupType.SELECT:
        return False
    return len({group.buckets[place].actions for place in live_buckets(turn, group)}) > 1


def _flow_hash(packet: Packet) -> int:
    total = 0
    for name in _HASHED:
        total = (total * 0x01000193 ^ packet.fields.get(name, 0)) % 0xFFFFFFFFFFFFFFC5
    return total


class _Lives:
    """Which groups are alive, each asked once: groups may watch each other, even themselves."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._known: dict[int, bool] = {}

    def bucket(self, group: GroupEntry, bucket: Bucket) -> bool:
        """Tell whether a bucket may be used: what it watches is alive."""
        if group.type == GroupType.SELECT and bucket.weight == 0:
            return False
        if bucket.watch_port == PortNo.ANY and bucket.watch_group == ANY_GROUP:
            return True
        if bucket.watch_port == PortNo.CONTROLLER:
            return any(session.up and not session.service for session in self._turn.state.sessions.values())
        status = self._turn.state.ports.get(bucket.watch_port)
        return (status is not None and status.usable) or self._group(bucket.watch_group)

    def _group(self, number: int) -> bool:
        """Tell whether a group has a bucket alive; one that is being asked already is not."""
        group = self._turn.state.groups.get(number)
        if group is None:
            return False
        if number not in self._known:
            self._known[number] = False
            self._known[number] = any(self.bucket(group, bucket) for bucket in group.buckets)
        return self._known[number]
