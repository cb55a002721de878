"""What makes a packet plausible: addresses that belong together.

A class of packets says what a controller looks at, and leaves the rest open.  Of two packets of a
class, the one that a host would really send is the better example: its IP address is that of the
host its MAC address names, a question goes to everybody, what is meant for the next bridge goes to
the next bridge.  These are wishes, not conditions: a class that contradicts one has examples
without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from penstock._concolic.packets.domain import MULTICAST_IPV4, MULTICAST_MAC, SLOW_PROTOCOLS, Addresses
from penstock._concolic.packets.layouts import ETH_SLOW
from penstock._concolic.solving.solver import Solver
from penstock._concolic.terms import Term, both, const, either, eq, negation
from penstock._world.hosts import Host
from penstock.addresses import BROADCAST_MAC
from penstock.openflow.fields import ETH_ARP, ETH_IPV4, ETH_LLDP
from penstock.packet import ARP_REPLY, ARP_REQUEST, NEAREST_BRIDGE

BROADCAST_IPV4: Final = 0xFFFFFFFF


def soft_constraints(
    fields: Mapping[str, Term], hosts: Sequence[Host], addresses: Addresses
) -> tuple[Term, ...]:
    """Return what is true of plausible packets, the most important first."""
    owners = [(host.mac, host.ip) for host in hosts]
    owners += [(addresses.fresh_mac, addresses.fresh_ipv4), (MULTICAST_MAC, MULTICAST_IPV4)]
    owners.append((BROADCAST_MAC, BROADCAST_IPV4))

    def is_(name: str, value: int) -> Term:
        return eq(fields[name], const(value))

    def if_(condition: Term, then: Term) -> Term:
        return either(negation(condition), then)

    found = [
        if_(is_("eth_type", ETH_LLDP), is_("eth_dst", NEAREST_BRIDGE)),
        if_(is_("eth_type", ETH_SLOW), is_("eth_dst", SLOW_PROTOCOLS)),
        if_(is_("eth_type", ETH_ARP), is_("arp_op", ARP_REQUEST)),
        if_(both(is_("eth_type", ETH_ARP), is_("arp_op", ARP_REQUEST)), is_("eth_dst", BROADCAST_MAC)),
    ]
    for mac, ip in owners:
        met = is_("eth_dst", mac)
        found.append(if_(both(met, is_("eth_type", ETH_IPV4)), is_("ipv4_dst", ip)))
        answered = both(met, is_("eth_type", ETH_ARP), is_("arp_op", ARP_REPLY))
        found.append(if_(answered, both(is_("arp_tha", mac), is_("arp_tpa", ip))))
    return tuple(found)


def plausible(solver: Solver, conditions: Sequence[Term], wanted: Sequence[Term]) -> dict[str, int] | None:
    """Return a packet of a class that fulfils as many wishes as it can, the first ones first."""
    found = solver.solve(conditions)
    if found is None:
        return None
    best = solver.likely((*conditions, *wanted))
    if best is not None:
        return best
    kept = list(conditions)
    for wish in wanted:
        better = solver.likely((*kept, wish))
        if better is not None:
            kept.append(wish)
            found = better
    return found
