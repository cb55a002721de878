"""A router for networks with cycles, which several apps here build on; by itself it has none of their bugs.

1. When a switch joins, clear its table, have ARP come up whoever it is for, and probe its links: a frame of
   link discovery leaves by each port.
2. A probe that comes up at another switch is a link.  Ports without one lead to hosts.
3. A packet that comes up from a host's port tells where its sender is.
4. Every switch has one rule for each known host: the next hop on a shortest path.  When links or hosts
   come or go, only the rules that change are sent.
5. What has no rule is sent out of all ports that lead to hosts, wherever they are.  Only a packet whose
   sender was elsewhere before is not: it may be a copy that crossed a link not found yet, and go round.
6. With a port that goes down, its link or its hosts are gone.  A port that comes up is probed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ether_types, ethernet, lldp, packet
from switching import SwitchingApp

Place = tuple[int, int]
"""A switch and one of its ports."""

ROUTE, QUESTION = 10, 20
"""The priorities of rules."""
_MULTICAST = 1


class Router(SwitchingApp):
    """Routes packets along shortest paths."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.ports: dict[int, set[int]] = {}
        self.links: dict[Place, Place] = {}
        """The links found so far, each in both directions."""
        self.hosts: dict[str, Place] = {}
        self.rules: dict[tuple[int, str], int] = {}
        """The port that each switch was told to send each host's packets to."""

    @property
    def in_charge(self) -> bool:
        """Whether it is for this router to change the network."""
        return True

    # Switches and ports.

    def joined(self, switch: Any) -> None:
        """Take a new switch in, and look for its links."""
        super().joined(switch)
        self.ports[switch.id] = {
            number
            for number, port in switch.ports.items()
            if number <= switch.ofproto.OFPP_MAX and not port.state & switch.ofproto.OFPPS_LINK_DOWN
        }
        self.probe(switch, self.ports[switch.id])

    def prepare(self, switch: Any) -> None:
        """Clear a switch's table, and have it ask about what it does not know."""
        if self.in_charge:
            self.install(switch, 0, {}, [], switch.ofproto.OFPFC_DELETE)  # 1
        super().prepare(switch)
        self.send_up(switch, QUESTION, {"eth_type": ether_types.ETH_TYPE_ARP})

    def left(self, switch: Any) -> None:
        """Forget a switch and all that is at it."""
        super().left(switch)
        for port in self.ports.pop(switch.id, set()):
            self.forget(switch.id, port)
        self.rules = {key: out for key, out in self.rules.items() if key[0] != switch.id}
        self.reroute()

    @set_ev_cls(ofp_event.EventOFPPortStatus, MAIN_DISPATCHER)
    def port_changed(self, event: Any) -> None:
        """Hear of a port that goes up or down."""
        switch, port = event.msg.datapath, event.msg.desc
        ports = self.ports.get(switch.id)
        if ports is None:
            return
        is_up = not port.state & switch.ofproto.OFPPS_LINK_DOWN
        if is_up and port.port_no not in ports:
            self.port_up(switch, port.port_no)
        elif not is_up and port.port_no in ports:
            self.port_down(switch, port.port_no)

    def port_up(self, switch: Any, port: int) -> None:
        """Look where a port leads."""
        self.ports[switch.id].add(port)
        self.probe(switch, {port})  # 6
        self.reroute()

    def port_down(self, switch: Any, port: int) -> None:
        """Do without whatever a port led to."""
        self.ports[switch.id].discard(port)
        self.forget(switch.id, port)
        self.reroute()

    def forget(self, switch: int, port: int) -> None:
        """Forget the link or the hosts at a port."""
        other = self.links.pop((switch, port), None)
        if other is not None:
            self.links.pop(other, None)
        self.forget_hosts((switch, port))

    def forget_hosts(self, place: Place) -> None:
        """Forget the hosts at a port."""
        self.hosts = {host: at for host, at in self.hosts.items() if at != place}

    # Links.

    def probe(self, switch: Any, ports: set[int]) -> None:
        """Send frames of link discovery out of ports."""
        for port in sorted(ports):
            frame = ethernet.ethernet(lldp.LLDP_MAC_NEAREST_BRIDGE, "02:00:00:00:00:01", 0x88CC)
            body = lldp.lldp(
                [
                    lldp.ChassisID(subtype=lldp.ChassisID.SUB_LOCALLY_ASSIGNED, chassis_id=b"%d" % switch.id),
                    lldp.PortID(subtype=lldp.PortID.SUB_LOCALLY_ASSIGNED, port_id=b"%d" % port),
                    lldp.TTL(ttl=120),
                    lldp.End(),
                ]
            )
            probe = packet.Packet(protocols=[frame, body])
            probe.serialize()
            self.send_out(switch, bytes(probe.data), [port])

    def probed(self, here: Place, message: Any) -> None:
        """Take in a probe that came through a link."""
        body = packet.Packet(message.data).get_protocol(lldp.lldp)
        if body is None or here[1] not in self.ports.get(here[0], ()):
            return
        there = (int(body.tlvs[0].chassis_id), int(body.tlvs[1].port_id))
        if there[1] in self.ports.get(there[0], ()) and self.links.get(here) != there:
            self.found_link(here, there)

    def found_link(self, here: Place, there: Place) -> None:
        """Note a link; no host is where it ends."""
        self.links[here], self.links[there] = there, here  # 2
        for place in (here, there):
            self.forget_hosts(place)
        self.reroute()

    # Packets.

    def packet_in(self, switch: Any, in_port: int, frame: Any, message: Any) -> None:
        """Learn where a packet comes from, and see that it gets where it should."""
        here = (switch.id, in_port)
        if frame.ethertype == ether_types.ETH_TYPE_LLDP:
            self.probed(here, message)
            return
        is_elsewhere = False
        if here not in self.links and in_port in self.ports.get(switch.id, ()):
            is_elsewhere = self.hosts.get(frame.src, here) != here
            self.found_host(frame.src, here)
        if self.in_charge and not is_elsewhere:
            self.forward(here, frame, message)

    def found_host(self, host: str, here: Place) -> None:
        """Note where a host is."""
        if not int(host[:2], 16) & _MULTICAST and self.hosts.get(host) != here:
            self.hosts[host] = here  # 3
            self.reroute()

    def forward(self, here: Place, frame: Any, message: Any) -> None:
        """Hand a packet to the switch of its receiver, or to all hosts."""
        at = self.hosts.get(frame.dst)
        if at is not None:
            self.send_out(self.switches[at[0]], message.data, [at[1]])
            return
        for switch, ports in sorted(self.ports.items()):  # 5
            out = [port for port in sorted(ports) if (switch, port) not in self.links]
            out = [port for port in out if (switch, port) != here]
            if out and switch in self.switches:
                self.send_out(self.switches[switch], message.data, out)

    # Routes.

    def next_hops(self) -> dict[tuple[int, int], int]:
        """Return the port on a shortest path from one switch to another, where there is a path."""
        hops: dict[tuple[int, int], int] = {}
        neighbours = self.neighbours()
        for target in self.switches:
            waiting, met = deque([target]), {target}
            while waiting:
                at = waiting.popleft()
                for other, port in neighbours.get(at, ()):
                    if other not in met:
                        met.add(other)
                        hops[other, target] = port
                        waiting.append(other)
        return hops

    def neighbours(self) -> dict[int, list[Place]]:
        """Return the switches next to each, with the port by which they reach it."""
        found: dict[int, list[Place]] = {}
        for (switch, port), (other, _) in sorted(self.links.items()):
            found.setdefault(other, []).append((switch, port))
        return found

    def routes(self) -> Iterator[tuple[tuple[int, str], int]]:
        """Yield the rules that there should be: a switch, a host, and the port that leads to it."""
        hops = self.next_hops()
        for host, (at, port) in sorted(self.hosts.items()):
            for switch in sorted(self.switches):
                out = port if switch == at else hops.get((switch, at))
                if out is not None:
                    yield (switch, host), out

    def reroute(self) -> None:
        """Bring the rules up to what is known."""
        if not self.in_charge:
            return
        wanted = dict(self.routes())
        for key in [key for key in self.rules if key not in wanted]:  # 4
            self.unroute(key)
        for key, out in wanted.items():
            if self.rules.get(key) != out:
                self.route(key, out)

    def route(self, key: tuple[int, str], out: int) -> None:
        """Tell a switch where to send a host's packets."""
        switch = self.switches[key[0]]
        self.rules[key] = out
        self.install(switch, ROUTE, {"eth_dst": key[1]}, [switch.ofproto_parser.OFPActionOutput(out)])

    def unroute(self, key: tuple[int, str]) -> None:
        """Have a switch ask about a host's packets again."""
        del self.rules[key]
        switch = self.switches[key[0]]
        self.install(switch, ROUTE, {"eth_dst": key[1]}, [], switch.ofproto.OFPFC_DELETE_STRICT)
