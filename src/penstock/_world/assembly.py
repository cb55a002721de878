"""Putting a network together: a topology, who sits at its edge, who controls it, what may fail.

    network = build_network(
        topology("linear,2"),
        hosts={"h1": host("ping", to="h2")},
        controllers=StaticController(topology("linear,2")),
        faults=Faults(link_failures=1),
    )

A host that is not mentioned answers ARP and ping.  Every controller has a session with every
switch.  Ports are called as Open vSwitch would under Mininet (`s1-eth2`), with made-up MAC
addresses of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock._base.users_code import run_users
from penstock._world.component import Component, Endpoint
from penstock._world.fabric import Fabric, Mobility, Roaming, Wire
from penstock._world.faults import NO_FAULTS, Faults
from penstock._world.hosts import Address, Host, HostMaker
from penstock._world.network import Network
from penstock._world.switch import PortSpec, Switch, SwitchOptions
from penstock._world.topology import SwitchNode, Topology
from penstock.errors import PenstockError

_PORT_MACS = 0x0200_0000_0000
"""Where the MAC addresses of switch ports begin: among those that nobody was given."""


def build_network(
    topology: Topology,
    *,
    hosts: Mapping[str, HostMaker] | None = None,
    controllers: Component | Sequence[Component] = (),
    switches: SwitchOptions | None = None,
    faults: Faults = NO_FAULTS,
) -> Network:
    """Return the network of a topology, ready for a world to run."""
    brains = tuple(controllers) if isinstance(controllers, Sequence) else (controllers,)
    options = switches or SwitchOptions()
    if faults.rule_expiries:
        options = replace(options, expiries=faults.rule_expiries)
    made_hosts = _hosts(topology, hosts or {})
    made_switches = [
        _switch(node, options, tuple(brain.name for brain in brains)) for node in topology.switches
    ]
    names = {node.name for node in topology.hosts}
    wires = [
        Wire(link.b, link.a) if link.b.node in names else Wire(link.a, link.b) for link in topology.links
    ]
    sessions = [
        Wire(Endpoint(switch.name, brain.name), Endpoint(brain.name, switch.name))
        for brain in brains
        for switch in topology.switches
    ]
    fabric = Fabric(
        cables=[wire for wire in wires if wire.a.node not in names],
        attachments=[wire for wire in wires if wire.a.node in names],
        sessions=sessions,
        switches=[node.name for node in topology.switches],
        controllers=[brain.name for brain in brains],
        roaming=[_roaming(topology, made.name, made.mobility) for made in made_hosts if made.mobility],
        faults=faults,
    )
    data = [Endpoint(switch.name, port) for switch in topology.switches for port in switch.ports]
    data += [Endpoint(node.name, port) for node in topology.hosts for port in node.ports]
    control = [session.b for session in sessions] + [session.a for session in sessions]
    return Network((*brains, *made_switches, *made_hosts), fabric, (*control, *data))


def _hosts(topology: Topology, makers: Mapping[str, HostMaker]) -> list[Host]:
    for name in makers:
        topology.host(name)
    directory = {node.name: Address(node.name, node.mac, node.ip) for node in topology.hosts}
    made = []
    for name, mac, ip in directory.values():
        maker = makers.get(name, Host)
        if not callable(maker):
            raise PenstockError(f"{name} cannot be made from {maker!r}: give host(…) or a subclass of Host.")
        ports = topology.host(name).ports
        given = {"name": name, "mac": mac, "ip": ip, "directory": directory, "port": min(ports, default=0)}
        made.append(run_users(f"The host {name}", maker, **given))
    return made


def _roaming(topology: Topology, host: str, rule: Mobility) -> Roaming:
    node = topology.host(host)
    if node.attachment is None:
        raise PenstockError(f"{host} is attached nowhere and so cannot move: link it to a switch first.")
    places = tuple(_place(topology, host, text) for text in rule.places)
    return Roaming(Wire(Endpoint(host, min(node.ports)), node.attachment), places, rule)


def _place(topology: Topology, host: str, text: str) -> Endpoint:
    name, _, port = text.rpartition(":")
    switch = next((node for node in topology.switches if node.name == name), None)
    if switch is None or not port.isdecimal():
        raise PenstockError(f"{host} cannot move to {text!r}: name a switch and its port, as in s2:3.")
    if int(port) not in switch.ports:
        ports = ", ".join(map(str, switch.ports)) or "none"
        raise PenstockError(
            f"{host} cannot move to {text}, which does not exist: {name} has the ports {ports}; "
            f"add a spare one to the topology."
        )
    return Endpoint(name, int(port))


def _switch(node: SwitchNode, options: SwitchOptions, controllers: tuple[str, ...]) -> Switch:
    ports = tuple(
        PortSpec(number, f"{node.name}-eth{number}", _PORT_MACS | (node.dpid & 0xFFFFFF) << 16 | number)
        for number in node.ports
    )
    return Switch(node.name, node.dpid, ports, options, controllers)
