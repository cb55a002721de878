"""Putting a fuzzing run together: from a scenario to a network, and how often each input is drawn.

Profiles: how often each kind of input is drawn, by name.

A rate is a weight: a kind with rate 2 is drawn twice as often as one with rate 1, whenever it is
possible at all.  What fails must come back, so the rates of recoveries are above those of failures;
otherwise a run soon has nothing left to break (STS found the choice of rates to decide what is found).

| profile | what it is for |
| --- | --- |
| `usual` | the default: whatever a controller has to cope with, seldom enough that the network mostly works |
| `everything` | also switches whose tables are full, or lose rules without a word |
| `traffic` | packets only, ordinary and odd: does the controller handle what hosts may send? |
| `links` | links and switches come and go under traffic: loops and black holes after a change |
| `control` | controllers crash, sessions break, control messages are late: races and recovery |
| `wires` | the data plane loses, doubles, reorders and delays frames |
| `mobility` | hosts move between switches under traffic |
| `tables` | flow tables fill up, forget entries and ignore flow-mods; sessions begin anew, so that rules do |

`rates` in the scenario changes single ones; a rate of 0 leaves a kind out.  `class_packet` and `policy`
have to be asked for, because they need a controller that runs in process and a function of the user's.

Putting a fuzzing run together: from a scenario to a network that everything can happen to.

It is the scenario's network, with three differences from a search's.  Faults have no budget to speak
of.  A host without a kind is a `FuzzHost`, which sends what the fuzzer says.  Where hosts may migrate,
every switch has one spare port that they can move to.

A controller that is given as a command is a `RemoteController` in the network; the live stage starts
the process behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from penstock._base.text import hint
from penstock._base.typed import made_from
from penstock._base.users_code import load_object
from penstock._controllers.native import NativeController
from penstock._controllers.probing import Probeable
from penstock._engine.building import NetworkBuilder, spoken_by
from penstock._fuzz.traffic import FuzzHost, RememberingController, Station
from penstock._properties.base import Property
from penstock._properties.registry import is_followed
from penstock._scenario.options import Command, FuzzOptions, SymbolicOptions, command_of
from penstock._scenario.scenario import DEFAULT_PROPERTIES, Scenario
from penstock._symbolic.discovery import Discovery
from penstock._trace.scene import Scene, scene_of
from penstock._world.assembly import build_network
from penstock._world.component import Component, Endpoint
from penstock._world.fabric import Mobility, Wire
from penstock._world.faults import Faults
from penstock._world.hosts import Host, HostMaker, host
from penstock._world.network import Network
from penstock._world.switch import Switch, SwitchOptions
from penstock._world.topology import Topology
from penstock.errors import OtherVersion, PenstockError
from penstock.openflow.messages import V10, V13

KINDS: Final[Mapping[str, str]] = {
    "link_failure": "a link is cut",
    "link_recovery": "a cut link recovers",
    "switch_failure": "a switch loses power, and its tables",
    "switch_recovery": "a switch is powered again",
    "controller_crash": "a controller crashes",
    "controller_restart": "a controller restarts",
    "disconnect": "a switch loses its session with a controller",
    "reconnect": "a lost session is opened again",
    "partition": "a controller loses all its sessions",
    "heal": "a partitioned controller has its sessions back",
    "packet": "a host sends a ping, an ARP request, a datagram or opens a connection",
    "broadcast": "a host sends a broadcast",
    "odd_packet": "a frame with unusual headers is injected",
    "class_packet": "a packet of a class that the controller distinguishes is injected",
    "packet_drop": "a frame in flight is lost",
    "packet_duplicate": "a frame in flight is duplicated",
    "packet_reorder": "a frame in flight overtakes another",
    "packet_delay": "a data channel is delayed",
    "control_delay": "a control channel is delayed",
    "control_block": "a control channel is held",
    "control_unblock": "a held channel is released",
    "migration": "a host is plugged into another switch",
    "table_limit": "a switch's flow tables are limited",
    "table_unlimit": "the limit is lifted",
    "entry_loss": "a flow entry vanishes",
    "flow_mod_loss": "flow-mods have no effect",
    "policy": "the user's function changes the policy",
    "check": "the invariants are checked",
    "wait": "time passes",
}
"""The kinds of inputs, each with what it means."""

_TRAFFIC: Final = {"packet": 10.0, "broadcast": 1.0, "wait": 3.0, "check": 1.0}
_LINKS: Final = {"link_failure": 1.0, "link_recovery": 2.0, "switch_failure": 0.3, "switch_recovery": 1.0}
_WIRES: Final = {"packet_drop": 0.5, "packet_duplicate": 0.5, "packet_reorder": 0.5, "packet_delay": 0.5}
_CONTROL: Final = {
    "controller_crash": 0.2,
    "controller_restart": 1.0,
    "disconnect": 0.4,
    "reconnect": 1.0,
    "partition": 0.2,
    "heal": 1.0,
    "control_delay": 0.5,
    "control_block": 0.4,
    "control_unblock": 1.0,
}
_MOBILITY: Final = {"migration": 1.0}
_TABLES: Final = {"table_limit": 0.3, "table_unlimit": 0.5, "entry_loss": 0.4, "flow_mod_loss": 0.3}

_USUAL: Final = {
    **_TRAFFIC,
    "odd_packet": 1.0,
    **_LINKS,
    **_WIRES,
    **_CONTROL,
    **_MOBILITY,
}

PROFILES: Final[Mapping[str, Mapping[str, float]]] = {
    "usual": _USUAL,
    "everything": {**_TRAFFIC, "odd_packet": 1.0, **_LINKS, **_WIRES, **_CONTROL, **_MOBILITY, **_TABLES},
    "traffic": {**_TRAFFIC, "odd_packet": 4.0},
    "links": {**_TRAFFIC, **_LINKS},
    "control": {**_TRAFFIC, **_CONTROL},
    "wires": {**_TRAFFIC, **_WIRES},
    "mobility": {**_TRAFFIC, **_MOBILITY},
    "tables": {**_TRAFFIC, **_TABLES, "disconnect": 0.3, "reconnect": 1.0},
}


def rates_of(profile: str, changes: Mapping[str, float]) -> dict[str, float]:
    """Return the rates of a profile with changes; kinds that never happen are left out."""
    if profile not in PROFILES:
        raise PenstockError(f"unknown profile {profile!r}: {hint(profile, PROFILES)}")
    for kind in changes:
        if kind not in KINDS:
            raise PenstockError(f"unknown kind of input {kind!r} in rates of [fuzz]: {hint(kind, KINDS)}")
    rates = {**PROFILES[profile], **changes}
    found = {kind: float(rates[kind]) for kind in KINDS if rates.get(kind)}
    if not found:
        raise PenstockError("All rates in [fuzz] are 0: give at least one kind of input a rate above 0.")
    return found


UNLIMITED: Final = 10**12
"""As often as anybody likes."""

ANY_FAULTS: Final = Faults(
    drops=UNLIMITED,
    duplicates=UNLIMITED,
    reorders=UNLIMITED,
    link_failures=UNLIMITED,
    switch_failures=UNLIMITED,
    controller_crashes=UNLIMITED,
    disconnects=UNLIMITED,
)

PolicyFunction = Callable[[Any, int], Any]


@dataclass(frozen=True, slots=True)
class FuzzContext:
    """What a fuzzing run is about: a network, and what the fuzzer has to know of it."""

    scenario: Scenario
    options: FuzzOptions
    rates: Mapping[str, float]
    version: int
    network: Network
    topology: Topology
    controllers: tuple[str, ...]
    commands: Mapping[str, Command]
    """How the processes of controllers are started; those that run in process are not among them."""
    properties: tuple[Property, ...]
    addresses: Mapping[str, Station]
    talkers: tuple[str, ...]
    """The hosts that send what they are told to."""
    homes: Mapping[str, Endpoint]
    """Where the hosts that can move are at home."""
    places: tuple[Endpoint, ...]
    """The spare ports that hosts can move to."""
    links: tuple[tuple[Wire, bool], ...]
    """The links as they were built, each with whether its name has to tell its ports."""
    sessions: tuple[Wire, ...]
    switches: tuple[str, ...]
    data_channels: frozenset[Endpoint]
    acts_alone: frozenset[str]
    """The components that may do something by themselves."""
    policies: Mapping[str, PolicyFunction] = field(default_factory=dict)
    discovery: Discovery | None = None
    """What finds the packets that the controller tells apart, where that is wanted."""
    drawing: Topology | None = None
    """The network as it was drawn, without spare ports."""

    @property
    def scene(self) -> Scene | None:
        """What a trace carries of this, so that it can be looked at."""
        if self.drawing is None:
            return None
        return scene_of(self.network.components, self.drawing, self.scenario.hosts)


class FuzzNetworkBuilder(NetworkBuilder):
    """A scenario on its way to the setting of a run."""

    searches = False

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario, asked=False)
        self._options = scenario.fuzzing()
        self._rates = rates_of(self._options.profile, self._options.rates)

    def setting(self) -> FuzzContext:
        """Return the network and all that the fuzzer has to know of it."""
        scenario = self._scenario
        drawn = self._topology()
        drawing, places = self._with_spare_ports(self._with_places(drawn))
        asked = self._rates.get("class_packet", 0) > 0
        brains, commands, version = self._agreeing_brains(drawing, followed=asked)
        # A process may ask for statistics and go by them; in process, a switch that counts nothing is faster.
        switches = {"counters": bool(commands), **scenario.switches}
        options = made_from(SwitchOptions, {**switches, "version": version}, "switches")
        finding = made_from(SymbolicOptions, scenario.symbolic, "symbolic")
        # What nobody asked for is left to the invariants, which a run has of its own.
        given = () if scenario.properties is DEFAULT_PROPERTIES else scenario.properties
        wanted = (*given, *self._named_properties())
        properties = self._properties(wanted)
        controllers, options = self._with_callers([*map(_remembering, brains)], options, drawing)
        # Only properties follow packets by name; nameless ones are alike, so that steps can be remembered.
        hosts = self._makers(drawing, places, named=bool(wanted or commands))
        network = build_network(
            drawing,
            hosts=hosts,
            controllers=controllers,
            switches=options,
            faults=ANY_FAULTS,
        )
        ends = {node.name for node in drawing.hosts}
        sessions = tuple(
            Wire(Endpoint(switch.name, brain.name), Endpoint(brain.name, switch.name))
            for brain in brains
            for switch in drawing.switches
        )
        made_hosts = [made for made in network.components if isinstance(made, Host)]
        talkers = tuple(made.name for made in made_hosts if isinstance(made, FuzzHost))
        spoken_to = {made.name for made in controllers}
        on_wires = {*ends, *_names(drawing)}
        return FuzzContext(
            scenario=scenario,
            options=self._options,
            rates=self._rates,
            version=version,
            network=network,
            topology=drawing,
            controllers=tuple(brain.name for brain in brains),
            commands=commands,
            properties=properties,
            addresses={made.name: Station(made.name, made.mac, made.ip, made.port) for made in made_hosts},
            talkers=talkers,
            homes={
                node.name: node.attachment
                for node in drawing.hosts
                if places and node.name in talkers and node.attachment is not None
            },
            places=places,
            links=_links(drawing, ends),
            sessions=sessions,
            switches=tuple(node.name for node in drawing.switches),
            data_channels=frozenset(
                end for end in network.channels if end.port not in spoken_to and end.node in on_wires
            ),
            acts_alone=frozenset(_act_alone(network.components, talkers, options)),
            policies=self._policies(),
            discovery=self._discovery(network, brains, finding) if asked else None,
            drawing=drawn,
        )

    def _named_properties(self) -> list[Any]:
        """Return the invariants of `[fuzz]` that are properties, and not yet among the scenario's."""
        return [
            given
            for given in self._options.invariants
            if given not in self._scenario.properties and is_followed(given)
        ]

    # Hosts.

    def _with_spare_ports(self, drawing: Topology) -> tuple[Topology, tuple[Endpoint, ...]]:
        """Give every switch a port to move to, where hosts may migrate."""
        if not self._rates.get("migration"):
            return drawing, ()
        places = []
        for switch in drawing.switches:
            spare = max(switch.ports, default=0) + 1
            drawing = drawing.with_port(switch.name, spare)
            places.append(Endpoint(switch.name, spare))
        return drawing, tuple(places)

    def _makers(
        self, drawing: Topology, places: tuple[Endpoint, ...], *, named: bool
    ) -> dict[str, HostMaker]:
        """Return what makes each host; one without a kind talks, and moves where there is room."""
        usual: dict[str, Any] = {"named": named}
        moving = dict(usual)
        if places:
            moving["mobility"] = Mobility(tuple(map(str, places)), moves=UNLIMITED)
        makers: dict[str, HostMaker] = {}
        for name in self._scenario.hosts:
            drawing.host(name)
        for node in drawing.hosts:
            given = self._scenario.hosts.get(node.name, {})
            if isinstance(given, Mapping) and "kind" not in given:
                movable = moving if node.attachment is not None and len(node.ports) == 1 else usual
                makers[node.name] = host(
                    FuzzHost, f"[hosts.{node.name}]", **{**movable, **self._host_options(node.name, given)}
                )
            else:
                makers[node.name] = self._host(node.name, given)
        return makers

    # Controllers.

    def _agreeing_brains(
        self, drawing: Topology, *, followed: bool
    ) -> tuple[list[Component], dict[str, Command], int]:
        """Return the controllers, the commands of those that are processes, and the version all speak.

        What processes speak, their greetings say; until then it is taken to be the newest.
        """
        asked = self._asked_version
        several = len(self._scenario.controllers) > 1
        for version in (V13, V10) if asked is None and several else (asked,):
            try:
                brains, commands = self._brains(drawing, version, followed=followed)
            except OtherVersion as error:
                if version == V13 and asked is None and V10 in error.spoken:
                    continue
                raise
            break
        return brains, commands, version or spoken_by(brains[0])

    def _brains(
        self, drawing: Topology, version: int | None, *, followed: bool
    ) -> tuple[list[Component], dict[str, Command]]:
        """Return the controllers, and the commands of those that are processes."""
        brains: list[Component] = []
        commands: dict[str, Command] = {}
        given = self._scenario.controllers or {"c0": self._scenario.controller}
        for name, table in given.items():
            if isinstance(table, Mapping) and "cmd" in table:
                from penstock._controllers.tcp.remote import RemoteController

                where = "controller" if not self._scenario.controllers else f"controllers.{name}"
                command = command_of(table, where)
                if any(command.port == other.port for other in commands.values()):
                    raise PenstockError(f"Two controllers listen on port {command.port}: give each its own.")
                commands[name] = command
                brains.append(RemoteController(name))
            else:
                alone = NetworkBuilder(
                    replace(self._scenario, controller=table, controllers={}), asked=followed
                )
                alone.searches = False
                brains.append(alone.program(drawing, version, followed=followed, name=name))
        return brains, commands

    def _with_callers(
        self, controllers: Sequence[Component], options: SwitchOptions, drawing: Topology
    ) -> tuple[Sequence[Component], SwitchOptions]:
        """Make room for those who call on switches that listen; the fuzzer knows nothing of them."""
        if not self._options.listen:
            return controllers, options
        from penstock._fuzz.listening import with_services

        for name in self._options.listen:
            if name not in _names(drawing):
                raise PenstockError(
                    f"unknown switch {name!r} in listen of [fuzz]: choose {', '.join(_names(drawing)[:8])}."
                )
        return with_services(controllers, options)

    def _discovery(
        self, network: Network, brains: list[Component], finding: SymbolicOptions
    ) -> Discovery | None:
        if len(brains) != 1 or not isinstance(brains[0], Probeable):
            raise PenstockError(
                "class_packet in the rates of [fuzz] needs one controller that runs in process: "
                "an os-ken, Ryu or native one."
            )
        return Discovery(network, brains[0], finding)

    def _policies(self) -> dict[str, PolicyFunction]:
        text = self._options.policy
        if text is None:
            if self._rates.get("policy") and "policy" in self._options.rates:
                raise PenstockError(
                    'Changes of policy need a function: write policy = "file.py:function" in [fuzz].'
                )
            return {}
        function = load_object(text, self._scenario.folder, "policy function")
        if not callable(function):
            raise PenstockError(
                f"{text} is not a function: policy in [fuzz] names one that takes a view and a number."
            )
        return {text.rpartition(":")[2]: function}


def _remembering(brain: Component) -> Component:
    return RememberingController(brain) if isinstance(brain, NativeController) else brain


def build_setting(scenario: Scenario) -> FuzzContext:
    """Put a scenario together for fuzzing."""
    return scenario.fitted(FuzzNetworkBuilder(scenario).setting)


def _names(drawing: Topology) -> tuple[str, ...]:
    return tuple(node.name for node in drawing.switches)


def _links(drawing: Topology, hosts: set[str]) -> tuple[tuple[Wire, bool], ...]:
    """Return the links, hosts' first and from the host on, each with whether its nodes do not name it."""
    wires = [Wire(link.b, link.a) if link.b.node in hosts else Wire(link.a, link.b) for link in drawing.links]
    wires.sort(key=lambda wire: wire.a.node not in hosts)
    pairs: dict[frozenset[str], int] = {}
    cards: dict[str, int] = {}
    for wire in wires:
        pair = frozenset((wire.a.node, wire.b.node))
        pairs[pair] = pairs.get(pair, 0) + 1
        cards[wire.a.node] = cards.get(wire.a.node, 0) + 1
    return tuple(
        (
            wire,
            cards[wire.a.node] > 1
            if wire.a.node in hosts
            else pairs[frozenset((wire.a.node, wire.b.node))] > 1,
        )
        for wire in wires
    )


def _act_alone(
    components: tuple[Component, ...], talkers: tuple[str, ...], options: SwitchOptions
) -> list[str]:
    """Return the names of the components that may do something by themselves."""
    found = []
    for made in components[:-1]:
        quiet = made.name in talkers or (
            isinstance(made, Switch)
            and options.reorder == "none"
            and not (options.expiries or options.overruns or options.overlaps)
        )
        if not quiet:
            found.append(made.name)
    return found
