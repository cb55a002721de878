"""Which path is right in NICE's traffic engineering (section 9.3), said apart from the program itself.

For the property UseCorrectRoutingTable: `load` follows the answers to statistics requests, `path` says
which switches must get rules for a packet that enters the network.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.addresses import ipv4
from penstock.openflow.stats import Ports, StatsReply
from penstock.packet import Ethernet, IPv4

HIGH_LOAD = 500_000_000
INGRESS = {ipv4("10.0.0.1"): "s1", ipv4("10.0.0.2"): "s2", ipv4("10.0.0.3"): "s2"}


class Load(NamedTuple):
    """What the always-on link has carried in all, and whether that was much of late."""

    carried: int = 0
    high: bool = False


def load(before: Load | None, _switch: str, answer: StatsReply) -> Load | None:
    """Return the load after an answer about the always-on link, the only one that is asked after."""
    if not isinstance(answer.body, Ports):
        return before
    (port,) = answer.body.ports
    carried = before.carried if before else 0
    return Load(port.tx_bytes, port.tx_bytes - carried > HIGH_LOAD)


def path(packet: Ethernet, switch: str, now: Load | None) -> tuple[str, ...] | None:
    """Return the path of a packet from s1 to s2 or back; one that comes from within has its path already."""
    header = packet.payload
    if not isinstance(header, IPv4) or INGRESS.get(header.src) != switch:
        return None
    egress = INGRESS[header.dst]
    is_on_demand = now is not None and now.high and header.dst % 2 == 1
    return (switch, "s3", egress) if is_on_demand else (switch, egress)
