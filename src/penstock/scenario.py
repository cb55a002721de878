"""Scenarios: a controller, a network around it, what may fail, and what must hold.

A scenario is a TOML file or, with the same names, a `Scenario` in Python:

    topology = "linear,2"
    properties = ["NoForwardingLoops", "my_rules.py:NoTelnet"]

    [controller]
    apps = ["ryu.app.simple_switch_13"]

    [hosts.h1]
    kind = "ping"
    to = "h2"

    [faults]
    link_failures = 1

Names like `file.py:Object` are looked for beside the scenario.
"""

from __future__ import annotations

import difflib
import inspect
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from penstock.controllers.native import Controller, NativeController
from penstock.errors import PenstockError
from penstock.loading import load_object
from penstock.openflow.messages import V10, V13
from penstock.properties.base import Property
from penstock.properties.registry import property_named
from penstock.properties.watch import Watch
from penstock.world.assembly import build_network
from penstock.world.component import Component
from penstock.world.fabric import Mobility
from penstock.world.faults import Faults
from penstock.world.hosts import HostMaker, host
from penstock.world.network import GlobalState, Network
from penstock.world.switch import SwitchOptions
from penstock.world.topology import Topology, load_mininet, topology
from penstock.world.transition import ACT, DELIVER, Record, Transition
from penstock.world.world import World

VERSIONS: Final = {"1.0": V10, "1.3": V13}
Table = Mapping[str, Any]
T = TypeVar("T")

MOST_STEPS_TO_JOIN: Final = 100_000
"""How long a network may take until all switches have joined."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How a search goes about and where it stops."""

    order: Literal["breadth-first", "depth-first"] = "breadth-first"
    start: Literal["joined", "cold"] = "joined"
    states: int | None = None
    depth: int | None = None
    seconds: float | None = None
    memory_mb: int | None = None
    all_violations: bool = False
    compact: bool = False

    def __post_init__(self) -> None:
        if self.order not in ("breadth-first", "depth-first"):
            raise PenstockError(f"order = {self.order!r} is unknown: use 'breadth-first' or 'depth-first'.")
        if self.start not in ("joined", "cold"):
            raise PenstockError(f"start = {self.start!r} is unknown: use 'joined' or 'cold'.")
        for name in ("all_violations", "compact"):
            if not isinstance(getattr(self, name), bool):
                raise PenstockError(f"{name} = {getattr(self, name)!r} is neither true nor false.")
        for name in ("states", "depth", "seconds", "memory_mb"):
            number = getattr(self, name)
            if number is not None and (type(number) not in (int, float) or not number > 0):
                raise PenstockError(f"A search cannot stop at {name} = {number!r}: give a number above 0.")


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


@dataclass(frozen=True)
class Scenario:
    """All that a check needs to know.

    In Python, `controller` may also be a component or a native `Controller`, a host a class or what
    makes one, a property an object, the topology a `Topology`.
    """

    controller: Table | Component | Controller
    topology: str | Table | Topology = "single,2"
    hosts: Mapping[str, Table | HostMaker] = field(default_factory=dict)
    properties: Sequence[str | Table | Property] = ()
    openflow: str = "1.3"
    switches: Table = field(default_factory=dict)
    faults: Table = field(default_factory=dict)
    search: Table = field(default_factory=dict)
    name: str = "scenario"
    folder: Path = Path()

    def limits(self) -> Limits:
        """Return how the search goes about."""
        return _made(Limits, self.search, "search")

    def build(self) -> Built:
        """Put the network together and bring it to where the search starts."""
        try:
            return self._built()
        except (TypeError, ValueError, AttributeError, LookupError) as error:
            # A value of the wrong type, which nothing before noticed.
            raise PenstockError(
                f"The scenario {self.name} does not fit together, because of {type(error).__name__}: "
                f"{str(error).rstrip('.')}."
            ) from error

    def _built(self) -> Built:
        drawing = self._with_places(self._topology())
        version = VERSIONS.get(self.openflow)
        if version is None:
            raise PenstockError(f"openflow = {self.openflow!r} is unknown: use '1.0' or '1.3'.")
        switches = {"counters": False, **self.switches}
        options = _made(SwitchOptions, {**switches, "version": version}, "switches")
        hosts = {name: self._host(name, given) for name, given in self.hosts.items()}
        controller = self._controller(drawing, version)
        faults = _made(Faults, _tuples(self.faults), "faults")
        network = build_network(drawing, hosts=hosts, controllers=controller, switches=options, faults=faults)
        properties = tuple(map(self._property, self.properties))
        if self.limits().start == "cold":
            return Built(network, properties, network.initial())
        return joined(network, controller.name, properties)

    def _property(self, given: str | Table | Property) -> Property:
        if isinstance(given, Property):
            return given
        if isinstance(given, str):
            return property_named(given, folder=self.folder)
        options = dict(given)
        name = options.pop("name", None)
        if not isinstance(name, str):
            raise PenstockError('A property in a table has no name: write {name = "DirectPaths"}.')
        return property_named(name, options, self.folder)

    def _topology(self) -> Topology:
        given = self.topology
        if isinstance(given, Topology):
            return given
        if isinstance(given, str):
            return topology(given)
        _refuse_unknown(given, ("mininet", "name"), "topology")
        if "mininet" not in given:
            raise PenstockError('The topology table names no file: write topology = {mininet = "file.py"}.')
        return load_mininet(self.folder / given["mininet"], given.get("name"))

    def _with_places(self, drawing: Topology) -> Topology:
        """Give the switches the spare ports that hosts may move to."""
        switches = {switch.name for switch in drawing.switches}
        for given in self.hosts.values():
            moves = given.get("mobility") if isinstance(given, Mapping) else None
            for place in moves.get("places", ()) if isinstance(moves, Mapping) else ():
                switch, _, port = str(place).rpartition(":")
                if switch in switches and port.isdecimal() and int(port) > 0:
                    drawing = drawing.with_port(switch, int(port))
        return drawing

    def _host(self, name: str, given: Table | HostMaker) -> HostMaker:
        if not isinstance(given, Mapping):
            return given
        options = dict(given)
        kind = options.pop("kind", "host")
        if isinstance(kind, str) and ":" in kind:
            kind = load_object(kind, self.folder, f"host {name}")
        if isinstance(moves := options.pop("mobility", None), Mapping):
            options["mobility"] = _made(Mobility, _tuples(moves), f"hosts.{name}.mobility")
        return host(kind, **options)

    def _controller(self, drawing: Topology, version: int) -> Component:
        given = self.controller
        names = tuple(switch.name for switch in drawing.switches)
        if isinstance(given, Controller):
            return NativeController(given, names)
        if not isinstance(given, Mapping):
            return given
        options = dict(given)
        if "native" in options:
            text = options.pop("native")
            made = load_object(text, self.folder, "controller")
            _refuse_unknown(options, (), "controller")
            try:
                program = made()
            except Exception as error:
                raise PenstockError(
                    f"The controller {text} cannot be made: {type(error).__name__}: {str(error).rstrip('.')}."
                ) from error
            if not isinstance(program, Controller):
                raise PenstockError(f"{text} is no native controller: let it be a subclass of Controller.")
            return NativeController(program, names)
        if "apps" in options:
            return self._osken(options, {switch.name: switch.dpid for switch in drawing.switches}, version)
        raise PenstockError(
            'The scenario names no controller: write [controller] with apps = ["app.py"] (os-ken or Ryu) '
            'or native = "file.py:Class".'
        )

    def _osken(self, options: dict[str, Any], dpids: dict[str, int], version: int) -> Component:
        from penstock.controllers.osken import OsKenController

        apps = options.pop("apps")
        if isinstance(apps, str):
            apps = [apps]
        if not isinstance(apps, list | tuple) or not all(isinstance(app, str) for app in apps) or not apps:
            raise PenstockError('apps in [controller] is no list of names: write apps = ["app.py"].')
        _refuse_unknown(options, ("timers",), "controller")
        found = tuple(self._app(app) for app in apps)
        return OsKenController(found, dpids, version=version, **options)

    def _app(self, app: str) -> str:
        """Return an app's name, with the path of a file made whole."""
        file, colon, name = app.partition(":")
        return f"{self.folder / file}{colon}{name}" if file.endswith(".py") else app

    def table(self) -> dict[str, Any]:
        """Return the scenario as plain data; what was given as Python objects is named, not kept."""
        found = {
            item.name: _plain(getattr(self, item.name)) for item in fields(self) if item.name != "folder"
        }
        return {key: value for key, value in found.items() if value not in ({}, [], ())}


def joined(network: Network, controller: str, properties: tuple[Property, ...] = ()) -> Built:
    """Return the network once every switch has joined and all has been said about it.

    The properties watch that too, since a controller can crash over a switch that joins; the search
    then begins with properties that have seen nothing.
    """
    world = World(network)
    watch = Watch(network, properties)
    records: list[Record] = []
    for _ in range(MOST_STEPS_TO_JOIN):
        found = next((known for known in world.enabled() if _is_joining(known, controller)), None)
        if found is None or watch.broken:
            return Built(network, properties, world.snapshot(), tuple(records), watch.broken)
        records.append(world.take(found))
        watch.observe(records[-1], dict(zip(network.names, world.snapshot().states, strict=True)))
    raise PenstockError(
        f"The switches have not come to rest after {MOST_STEPS_TO_JOIN:,} steps of joining: "
        'try start = "cold" in [search], or a controller that stops talking.'
    )


def _is_joining(transition: Transition, controller: str) -> bool:
    """Tell whether a transition is part of switches joining: messages, and orders taking effect."""
    verb, node, what = transition
    if verb == ACT:
        return str(what).startswith("apply ") or (node == controller and str(what).startswith("join "))
    return verb == DELIVER


def load_scenario(path: Path) -> Scenario:
    """Read a scenario file."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PenstockError(f"{path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PenstockError(f"{path.name} is no TOML file: {error}.") from None
    return scenario_of({"name": path.stem, **table}, path.parent)


def scenario_of(table: Table, folder: Path) -> Scenario:
    """Return the scenario that plain data describes."""
    known = [item.name for item in fields(Scenario) if item.name != "folder"]
    _refuse_unknown(table, known, "scenario")
    name = table.get("name", "scenario")
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]{1,100}", name):
        raise PenstockError(f"The name {name!r} of the scenario is no file's: use letters, digits, - and _.")
    for key in ("controller", "hosts", "switches", "faults", "search"):
        if key in table and not isinstance(table[key], Mapping):
            raise PenstockError(f"{key} in the scenario is no table: write it as [{key}].")
    for name, given in table.get("hosts", {}).items():
        if not isinstance(given, Mapping):
            raise PenstockError(f"hosts.{name} in the scenario is no table: write it as [hosts.{name}].")
    if isinstance(table.get("properties", []), str):
        raise PenstockError('properties in the scenario is no list: write properties = ["NoBlackHoles"].')
    return Scenario(**{"controller": {}, **table}, folder=folder)


def _made(kind: Callable[..., T], options: Table, where: str) -> T:
    """Make a value of a kind from a table, refusing keys it does not have."""
    known = list(inspect.signature(kind).parameters)
    _refuse_unknown(options, known, where)
    try:
        return kind(**options)
    except TypeError as error:
        raise PenstockError(f"[{where}] of the scenario does not fit: {error}.") from None


def _refuse_unknown(table: Table, known: Sequence[str], where: str) -> None:
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            allowed = ", ".join(known) or "nothing more"
            hint = f"did you mean {near[0]!r}?" if near else f"it may have {allowed}."
            raise PenstockError(f"The key {key!r} in {where} is unknown: {hint}")


def _tuples(table: Table) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return f"<{getattr(value, '__name__', type(value).__name__)}>"
