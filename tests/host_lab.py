"""Three hosts on a hub, where everybody hears everything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.little_components import Repeater

from penstock._world.component import Endpoint, Event
from penstock._world.fabric import Fabric, Wire
from penstock._world.faults import Faults
from penstock._world.frame import Frame
from penstock._world.hosts import Address, Host, HostMaker
from penstock._world.network import Network
from penstock._world.transition import Record
from penstock._world.world import World
from penstock.addresses import ipv4, mac
from penstock.packet import ARP, ICMP, TCP, UDP, parse

DIRECTORY = {
    name: Address(name, mac(f"00:00:00:00:00:0{n}"), ipv4(f"10.0.0.{n}"))
    for n, name in enumerate(("h1", "h2", "h3"), 1)
}


def make(name: str, maker: HostMaker = Host) -> Host:
    """Return one of the hosts, with its own addresses."""
    _, number, ip = DIRECTORY[name]
    return maker(name=name, mac=number, ip=ip, directory=DIRECTORY, port=0)


def frame_of(value: object) -> Frame:
    """Return what is known to be a frame as one."""
    assert isinstance(value, Frame)
    return value


class Lab:
    """Three hosts on a hub, and a record of what happens there."""

    def __init__(self, makers: Mapping[str, HostMaker], faults: Faults | None = None) -> None:
        hosts = [make(name, makers.get(name, Host)) for name in DIRECTORY]
        wires = [Wire(Endpoint(h.name, 0), Endpoint("hub", n)) for n, h in enumerate(hosts, 1)]
        fabric = Fabric(attachments=wires, switches=["hub"], faults=faults or Faults())
        hub = Repeater("hub", tuple(range(1, len(hosts) + 1)))
        self.records: list[Record] = []
        ends = [end for wire in wires for end in wire]
        self.world = World(Network([hub, *hosts], fabric, ends), [self.records.append])

    def take(self, text: str) -> None:
        """Take one transition."""
        self.world.take(text)

    def run(self) -> None:
        """Let everything happen that can."""
        self.world.run()

    def memory(self, name: str) -> Any:
        """Return what a host remembers."""
        return self.world.state(name).memory

    def events(self, kind: str, name: str) -> list[Event]:
        """Return the events of one kind at one host."""
        found = [event for record in self.records for event in record.events]
        return [event for event in found if event.kind == kind and event.detail[0] == name]

    def sent(self, name: str) -> list[str]:
        """Return what a host sent, as people would tell it."""
        return [told(event.detail[1]) for event in self.events("sent", name)]

    def offers(self, name: str) -> list[str]:
        """Return what a host may do now."""
        return [str(t.what) for t in self.world.enabled() if t.verb == "act" and t.node == name]


def told(frame: Any) -> str:
    """Return a frame as people would tell it."""
    packet = parse(frame.data)
    arp, tcp = packet.find(ARP), packet.find(TCP)
    if arp:
        return ("who has", "is at")[arp.op - 1]
    if tcp:
        return str(tcp.flags) + (f" {tcp.payload.decode()}" if tcp.payload else "")
    if icmp := packet.find(ICMP):
        return "ping" if icmp.type == 8 else "pong"
    udp = packet.find(UDP)
    return f"udp {udp.payload.decode()}" if udp else "other"
