"""The network of a trace, put together without running anything that the trace names.

Switches and the usual hosts are as they were.  Every actor (see `scene`) has a silent one in its place, which
takes what comes and says nothing; what the actor said is in the trace, and whoever plays the trace puts it
in.  Properties, policies and the like have no part in that.  Whatever the scenario of a stranger says, no
code of it can be loaded here, for every way there is barred.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock._base.typed import Table
from penstock._base.users_code import nothing_runs
from penstock._controllers.tcp.remote import RemoteController
from penstock._engine.building import NetworkBuilder
from penstock._fuzz.building import FuzzNetworkBuilder, PolicyFunction
from penstock._properties.base import Property
from penstock._scenario.options import Command, SymbolicOptions, command_of
from penstock._scenario.scenario import Scenario, scenario_of
from penstock._trace.scene import Scene, read_scene
from penstock._trace.trace import JOINING, FuzzTrace, ProofTrace, Trace
from penstock._world.component import Component, Message, Port, Step
from penstock._world.hosts import Host, HostMaker, HostState, host
from penstock._world.network import Network
from penstock._world.topology import Topology
from penstock.errors import PenstockError

_NOWHERE: Final = Path("/nonexistent")
"""Where the files are that a stranger's scenario names."""


@dataclass(eq=False, kw_only=True)
class SilentHost(Host):
    """A host that takes what comes; what it sends comes from outside."""

    def receive(self, state: HostState, _port: Port, _message: Message) -> Step:
        """Stay as it is."""
        return Step(state)


class _SilentController(RemoteController):
    """A controller that takes what comes, from switches that speak a version of OpenFlow."""

    def __init__(self, version: int) -> None:
        super().__init__()
        self.version = version


@dataclass(frozen=True, slots=True)
class Inert:
    """A network in which nothing of the user's runs, and those who are silent in it."""

    network: Network
    actors: frozenset[str]
    processes: frozenset[str]
    """Which of them were processes of their own, so that what they said came from outside."""


def inert_network(trace: Trace) -> Inert:
    """Return the network of a trace; an error says why it does not carry enough for that."""
    if isinstance(trace, ProofTrace):
        raise PenstockError("The trace of a proof has sets of packets, which only its controller can answer.")
    if isinstance(trace.network, Mapping) and trace.network.get(JOINING, ()) is None:
        raise PenstockError(
            "The trace leaves out how its switches joined, since there were too many of them."
        )
    with nothing_runs():
        scene = read_scene(trace.network)
        scenario = scenario_of(dict(trace.scenario), _NOWHERE)
        return scenario.fitted(lambda: _assemble(scenario, scene, fuzzed=isinstance(trace, FuzzTrace)))


def _assemble(scenario: Scenario, scene: Scene, *, fuzzed: bool) -> Inert:
    if not fuzzed:
        return Inert(_InertBuilding(scenario, scene).assembled().network, scene.actors, frozenset())
    setting = _InertFuzzBuilding(scenario, scene).setting()
    return Inert(setting.network, scene.actors, frozenset(setting.commands))


class _Silent(NetworkBuilder):
    """What is put in the places of all that would run code."""

    _scene: Scene

    def _topology(self) -> Topology:
        return self._scene.topology

    def _properties(self, _given: Iterable[str | Table | Property]) -> tuple[Property, ...]:
        return ()

    def _host(self, name: str, given: Table | HostMaker) -> HostMaker:
        if name not in self._scene.actors:
            return super()._host(name, given)
        options = self._host_options(name, given) if isinstance(given, Mapping) else {}
        return host(SilentHost, **{key: options[key] for key in ("mobility",) if key in options})


class _InertBuilding(_Silent):
    """The network of a search."""

    def __init__(self, scenario: Scenario, scene: Scene) -> None:
        super().__init__(scenario, asked=False)
        self._scene = scene

    def _controller(self, _drawing: Topology, _version: int | None, _finding: SymbolicOptions) -> Component:
        return _SilentController(self._scene.version)


class _InertFuzzBuilding(_Silent, FuzzNetworkBuilder):
    """The network of a fuzzing run."""

    def __init__(self, scenario: Scenario, scene: Scene) -> None:
        FuzzNetworkBuilder.__init__(self, scenario)
        self._scene = scene

    def _agreeing_brains(
        self, _drawing: Topology, *, followed: bool
    ) -> tuple[list[Component], dict[str, Command], int]:
        del followed
        given = self._scenario.controllers or {"c0": self._scenario.controller}
        commands = {
            name: command_of(table, name)
            for name, table in given.items()
            if isinstance(table, Mapping) and "cmd" in table
        }
        return [*map(RemoteController, given)], commands, self._scene.version

    def _discovery(self, *_: object) -> None:
        return None

    def _policies(self) -> dict[str, PolicyFunction]:
        return {}
