"""Putting a scenario together: from what a user wrote to a network at the start of a search."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, cast

from penstock._base.reading import telling_lines
from penstock._base.typed import Place, Table, concerning, fit, made_from, shown
from penstock._base.users_code import load_object
from penstock._controllers import origins, watched
from penstock._controllers.controller import Controller
from penstock._controllers.native import NativeController, load_native
from penstock._controllers.probing import Probeable
from penstock._controllers.watched import Rolls
from penstock._explore.strategies.plan import Plan, plan_of
from penstock._explore.strategies.plan import without_code as strategies_without_code
from penstock._properties.base import FunctionProperty, Property
from penstock._properties.registry import property_named
from penstock._properties.watch import Watch
from penstock._scenario.options import Apps, MininetFile, NativeProgram, SymbolicOptions
from penstock._scenario.scenario import Scenario
from penstock._symbolic.discovery import Discovery
from penstock._symbolic.symbolic_messages import Controlling, SymbolicMessages
from penstock._trace.scene import Scene, scene_of
from penstock._world.assembly import build_network
from penstock._world.component import Component
from penstock._world.fabric import Mobility
from penstock._world.faults import Faults
from penstock._world.hosts import Host, HostMaker, SymbolicHost, host
from penstock._world.network import GlobalState, Network
from penstock._world.switch import Switch, SwitchOptions
from penstock._world.topology import Topology, load_mininet, topology
from penstock._world.transition import ACT, Record, Transition
from penstock._world.world import World, states_of
from penstock.errors import PenstockError
from penstock.openflow.messages import V13, VERSIONS

TIMERS: Final = 2
"""How often timers may go off, or time may pass, in a run of a search, unless the scenario says."""

MOST_STEPS_TO_JOIN: Final = 100_000
"""How long a network may take until all switches have joined."""


@dataclass(frozen=True, slots=True)
class Built:
    """A scenario put together: what a search or a run needs."""

    network: Network
    properties: tuple[Property, ...]
    start: GlobalState
    joining: tuple[Record, ...] = ()
    """How the network came to the start, if the switches have joined."""
    broken: Mapping[str, str] = field(default_factory=dict)
    """The properties that were broken on the way, with how."""
    upheld: Mapping[str, int] = field(default_factory=dict)
    """How many steps on the way each property judged by themselves."""
    discovery: Discovery | None = None
    """What finds the packets that hosts send, where nobody says which."""
    controller: str = ""
    """The name of the controller."""
    drawing: Topology | None = None
    """The network as it was drawn, without what was added to it."""
    hosts: Mapping[str, object] = field(default_factory=dict)
    """What was given of hosts."""

    @property
    def scene(self) -> Scene | None:
        """What a trace carries of this, so that it can be looked at."""
        if self.drawing is None:
            return None
        return scene_of(self.network.components, self.drawing, self.hosts, self.joining)


class NetworkBuilder:
    """A scenario on its way to a network."""

    searches = True
    """Whether a search goes through it, rather than one run."""
    watches = True
    """Whether, then, it is watched that the program's state is complete."""

    def __init__(self, scenario: Scenario, *, asked: bool) -> None:
        self._scenario = scenario
        self._asked = asked

    def alone(self) -> Component:
        """Return the controller, without a network."""
        return self.program(self._with_places(self._topology()), self._asked_version, followed=False)

    def build(self) -> Built:
        """Return the network where the search starts."""
        return begun(self.assembled(), self._scenario.limits().start)

    def assembled(self) -> Built:
        """Return the network before anything has happened in it."""
        drawn = self._topology()
        drawing = self._with_places(drawn)
        finding = made_from(SymbolicOptions, self._scenario.symbolic, "symbolic")
        controller = self._controller(drawing, self._asked_version, finding)
        # No time passes in a search by itself, and every packet that is counted would be a new state.
        switches = {"counters": False, "meters": "pass", **self._scenario.switches}
        options = made_from(SwitchOptions, {**switches, "version": spoken_by(controller)}, "switches")
        hosts = {name: self._host(name, given) for name, given in self._hosts(drawing).items()}
        faults = made_from(Faults, self._scenario.faults, "faults")
        network = build_network(drawing, hosts=hosts, controllers=controller, switches=options, faults=faults)
        with concerning("properties"):
            properties = self._properties(self._scenario.properties)
        symmetric = all(_is_even_handed(made, network) for made in properties)
        discovery = _discovery(network, controller, finding, asked=self._asked, symmetric=symmetric)
        return Built(
            network,
            properties,
            network.initial(),
            discovery=discovery,
            controller=controller.name,
            drawing=drawn,
            hosts=self._scenario.hosts,
        )

    @property
    def _asked_version(self) -> int | None:
        """The version of OpenFlow that the scenario asks for; None leaves it to the controller."""
        asked = self._scenario.openflow
        return None if asked is None else VERSIONS[asked]

    def _hosts(self, drawing: Topology) -> Mapping[str, Table | HostMaker]:
        """Return the hosts that are given; if none has a kind, all are to find out what to send."""
        if not self._finds_traffic:
            return self._scenario.hosts
        for name in self._scenario.hosts:
            drawing.host(name)
        return {
            node.name: {"kind": "curious", **_table(self._scenario.hosts.get(node.name, {}))}
            for node in drawing.hosts
        }

    @property
    def _finds_traffic(self) -> bool:
        """Whether nobody says what the hosts send, and the controller can be asked."""
        askable = isinstance(self._scenario.controller, Mapping | Controller)
        return askable and not any(
            not isinstance(given, Mapping) or "kind" in given for given in self._scenario.hosts.values()
        )

    def _properties(self, given: Iterable[str | Table | Property]) -> tuple[Property, ...]:
        return tuple(map(self._property, given))

    def _property(self, given: str | Table | Property) -> Property:
        if isinstance(given, Property):
            return given
        if isinstance(given, str):
            return property_named(given, folder=self._scenario.folder)
        options = dict(given)
        name = options.pop("name", None)
        if not isinstance(name, str):
            raise PenstockError(
                f'The property {shown(given)} has no name: write it as in {{name = "DirectPaths"}}.'
            )
        return property_named(name, options, self._scenario.folder)

    def _topology(self) -> Topology:
        given = self._scenario.topology
        if isinstance(given, Topology):
            return given
        with concerning("topology"):
            if isinstance(given, str):
                return topology(given)
            drawn = made_from(MininetFile, given, "topology")
            return load_mininet(self._scenario.folder / drawn.mininet, drawn.name)

    def _with_places(self, drawing: Topology) -> Topology:
        """Give the switches the spare ports that hosts may move to."""
        switches = {switch.name for switch in drawing.switches}
        for given in self._scenario.hosts.values():
            moves = given.get("mobility") if isinstance(given, Mapping) else None
            for place in made_from(Mobility, moves, "mobility").places if isinstance(moves, Mapping) else ():
                switch, _, port = str(place).rpartition(":")
                if switch in switches and port.isdecimal() and int(port) > 0:
                    drawing = drawing.with_port(switch, int(port))
        return drawing

    def _host(self, name: str, given: Table | HostMaker) -> HostMaker:
        if not isinstance(given, Mapping):
            return given
        options = self._host_options(name, given)
        kind = options.pop("kind", "host")
        with concerning("hosts", name, "kind"):
            if fit(kind, str | type, Place("kind", f"[hosts.{name}]")) and ":" in str(kind):
                kind = load_object(kind, self._scenario.folder, f"host {name}")
            return host(kind, f"[hosts.{name}]", **options)

    def _host_options(self, name: str, given: Table) -> dict[str, Any]:
        """Return what a host's table says, with its mobility made."""
        options = dict(given)
        if isinstance(moves := options.get("mobility"), Mapping):
            options["mobility"] = made_from(Mobility, moves, f"hosts.{name}.mobility")
        return options

    def _controller(self, drawing: Topology, version: int | None, finding: SymbolicOptions) -> Component:
        made = self.program(drawing, version, followed=self._is_followed(finding))
        if not finding.messages:
            return made
        if not isinstance(made, Probeable):
            raise PenstockError("messages in [symbolic] needs a controller that runs in process.")
        return SymbolicMessages(cast(Controlling, made), finding.messages)

    def _is_followed(self, finding: SymbolicOptions) -> bool:
        """Tell whether anybody will ask the controller what it would do."""
        kinds = (given.get("kind") for given in self._scenario.hosts.values() if isinstance(given, Mapping))
        makers = (given for given in self._scenario.hosts.values() if isinstance(given, partial))
        return (
            self._asked
            or self._finds_traffic
            or bool(finding.messages)
            or "curious" in kinds
            or any(maker.func is SymbolicHost for maker in makers)
        )

    def program(
        self, drawing: Topology, version: int | None, *, followed: bool, name: str = "c0"
    ) -> Component:
        """Return the scenario's controller as a component, which speaks a version, or the one it declares."""
        given = self._scenario.controller
        names = tuple(switch.name for switch in drawing.switches)
        if isinstance(given, Controller):
            return NativeController(
                given, names, name, version=version, followed=followed, watched=self.searches and self.watches
            )
        if not isinstance(given, Mapping):
            return given
        options = dict(given)
        if "native" in options:
            text = made_from(NativeProgram, options, "controller").native
            program, surroundings = load_native(text, self._scenario.folder)
            if not isinstance(program, Controller):
                raise PenstockError(f"{text} is not a native controller: let it be a subclass of Controller.")
            return NativeController(
                program,
                names,
                name,
                version=version,
                followed=followed,
                watched=self.searches and self.watches,
                surroundings=surroundings,
            )
        if "cmd" in options or self._scenario.controllers:
            raise PenstockError(
                "A search needs one controller that runs in process: use penstock fuzz for those that are "
                "started by cmd, and for several."
            )
        if "apps" in options:
            dpids = {switch.name: switch.dpid for switch in drawing.switches}
            return self._osken(options, dpids, version=version, followed=followed, name=name)
        raise PenstockError(
            'The scenario names no controller: write [controller] with apps = ["app.py"] (os-ken or Ryu), '
            'native = "file.py:Class" or, for penstock fuzz, cmd = "program arguments".'
        )

    def _osken(self, options: dict[str, Any], dpids: dict[str, int], **details: Any) -> Component:
        from penstock._controllers.osken.binding import OsKenController

        given = made_from(Apps, options, "controller")
        found = tuple(self._app(app) for app in given.apps)
        patient = self.searches and "timers" not in options
        return OsKenController(
            found,
            dpids,
            **details,
            timers=TIMERS if patient else given.timers,
            options=given.options,
            watched=self.searches and self.watches,
            patient=patient,
        )

    def _app(self, app: str) -> str:
        """Return an app's name, with the path of a file made whole."""
        file, colon, name = app.partition(":")
        return f"{self._scenario.folder / file}{colon}{name}" if file.endswith(".py") else app


def build(scenario: Scenario, *, asked: bool = False) -> Built:
    """Put the network of a scenario together and bring it to where the search starts.

    With `asked`, the controller will be asked what it would do, whatever the hosts are.
    """
    return scenario.fitted(NetworkBuilder(scenario, asked=asked).build)


def plan(scenario: Scenario) -> Plan:
    """Return the strategies of a scenario's search; this runs the code of those that are in files."""
    with telling_lines(scenario.source), concerning("search", "strategies"):
        return plan_of(scenario.limits().strategies, scenario.folder)


def without_code(scenario: Scenario) -> Scenario:
    """Return a scenario without the strategies whose code only a worker may run."""
    given = scenario.limits().strategies
    left = strategies_without_code(given)
    if len(left) == len(given):
        return scenario
    return replace(scenario, search={**scenario.search, "strategies": left})


def spoken_by(controller: Component) -> int:
    """Return the version of OpenFlow that a controller speaks."""
    version: int = getattr(controller, "version", V13)
    return version


def _discovery(
    network: Network, controller: Component, finding: SymbolicOptions, *, asked: bool, symmetric: bool
) -> Discovery | None:
    """Give hosts that have to find out what to send, and a controller what to hear, the means to."""
    curious = [made for made in network.components if isinstance(made, SymbolicHost)]
    if not curious and not isinstance(controller, SymbolicMessages) and not asked:
        return None
    if not isinstance(controller, Probeable):
        raise PenstockError(
            f"{controller.name} cannot be asked which packets it tells apart: use an os-ken, Ryu or native "
            f"controller, or say what the hosts send."
        )
    discovery = Discovery(network, controller, finding, symmetric=symmetric)
    for made in curious:
        made.source = discovery
        made.remembers = discovery.symmetry is not None
    if isinstance(controller, SymbolicMessages):
        controller.discovery = discovery
    return discovery


def _is_even_handed(watcher: Property, network: Network) -> bool:
    """Tell whether a property is one of ours and names no host, so that it treats all of them alike."""
    if isinstance(watcher, FunctionProperty) or not type(watcher).__module__.startswith(
        "penstock._properties."
    ):
        return False
    hosts = {made.name for made in network.components if isinstance(made, Host)}
    return not any(re.search(rf"\b{re.escape(name)}\b", repr(vars(watcher))) for name in hosts)


def begun(built: Built, start: str) -> Built:
    """Return a network where the search starts: as it is at first, or joined."""
    first = replace(built, start=built.network.initial(), joining=(), broken={}, upheld={})
    if start != "cold":
        found = joined(built.network, built.controller, built.properties)
        first = replace(
            first, start=found.start, joining=found.joining, broken=found.broken, upheld=found.upheld
        )
    for program in watched.programs(built.network.components):
        if isinstance(program, Rolls):
            program.rolls = True
    return first


def _table(given: Table | HostMaker) -> Table:
    assert isinstance(given, Mapping)
    return given


def joined(network: Network, controller: str, properties: tuple[Property, ...] = ()) -> Built:
    """Return the network once every switch has joined and all has been said about it.

    The properties watch that too, since a controller can crash over a switch that joins; the search
    then begins with properties that have seen nothing.  Which code did what is noted: whatever is found
    later may be due to rules that are installed here.
    """
    world = World(network)
    watch = Watch(network, properties)
    records: list[Record] = []
    with origins.recorded(returns=False):
        for _ in range(MOST_STEPS_TO_JOIN):
            found = next(iter((*world.deliveries(), *_joining(world, controller))), None)
            if found is None or watch.broken:
                start = world.snapshot()
                return Built(network, properties, start, tuple(records), watch.broken, watch.upheld)
            records.append(world.take(found))
            watch.observe(records[-1], states_of(world))
    raise PenstockError(
        f"The switches have not come to rest after {MOST_STEPS_TO_JOIN:,} steps of joining: "
        'try start = "cold" in [search], or a controller that stops talking.'
    )


def _joining(world: World, controller: str) -> Iterator[Transition]:
    """Yield what switches and controller do by themselves while switches join; hosts are not asked."""
    for made in world.network.components:
        for action in made.actions(world.state(made.name)) if _joins(made, controller) else ():
            if action.startswith("apply " if isinstance(made, Switch) else "join "):
                yield Transition(ACT, made.name, action)


def _joins(made: Component, controller: str) -> bool:
    return isinstance(made, Switch) or made.name == controller
