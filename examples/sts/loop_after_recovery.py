"""A hub that floods along a spanning tree; after a link failed and recovered, packets go round for ever.

Each switch sends every packet out of the ports on the tree and out of those that lead to hosts.  A port
leads to a host if no link was found there.  The bug: whether a port is up does not count.  When a link
fails, its ports are taken for hosts' ports and get packets again; when it recovers nobody looks for it,
because its ports were never gone, and the packets go round.  (Pyretic had such a hub.)

Mended, ports that are down get nothing, and those that come up are probed.
"""

from __future__ import annotations

from typing import Any

from os_ken.lib.packet import ether_types
from routing import Router

PROBES, PACKETS = 20, 10
"""The priorities of rules."""


class TreeHub(Router):
    """Floods along a tree."""

    def joined(self, switch: Any) -> None:
        """Have probes come up whatever becomes of packets."""
        super().joined(switch)
        self.send_up(switch, PROBES, {"eth_type": ether_types.ETH_TYPE_LLDP})
        self.reroute()

    def port_up(self, switch: Any, port: int) -> None:
        """Look where a port leads."""
        if self.mended:
            super().port_up(switch, port)

    def port_down(self, switch: Any, port: int) -> None:
        """Do without a link."""
        if self.mended:
            super().port_down(switch, port)
        else:
            self.forget(switch.id, port)
            self.reroute()

    def found_host(self, host: str, here: tuple[int, int]) -> None:
        """Hosts are of no interest to a hub."""

    def tree(self) -> set[tuple[int, int]]:
        """Return the ports on a spanning tree."""
        neighbours = self.neighbours()
        ports: set[tuple[int, int]] = set()
        met: set[int] = set()
        for root in sorted(self.switches):
            waiting = [root]
            while waiting:
                at = waiting.pop()
                met.add(at)
                for other, port in neighbours.get(at, ()):
                    if other not in met and other not in waiting:
                        ports |= {(other, port), self.links[other, port]}
                        waiting.append(other)
        return ports

    def reroute(self) -> None:
        """Have each switch flood to the tree and to hosts."""
        tree = self.tree()
        for number, switch in sorted(self.switches.items()):
            out = [
                port
                for port in sorted(self.ports.get(number, ()))
                if (number, port) in tree or (number, port) not in self.links
            ]
            self.install(switch, PACKETS, {}, [switch.ofproto_parser.OFPActionOutput(port) for port in out])
