"""Which packets a controller tells apart, at the start of a scenario or after some steps of a trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from penstock._check.packet_listing import HostClasses, classes_of
from penstock._engine.building import build
from penstock._scenario.scenario import Scenario
from penstock._symbolic.discovery import Discovery
from penstock._trace.trace import read_trace
from penstock._world.hosts import Host
from penstock._world.world import World, states_of
from penstock.errors import PenstockError


def list_packets(
    scenario: Scenario, *, trace: Path | None = None, steps: int | None = None, host: str | None = None
) -> tuple[list[HostClasses], Discovery]:
    """Return the classes of packets that hosts could send, and what found them."""
    if steps is not None and trace is None:
        raise PenstockError("--steps counts the steps of a trace: name it with --after.")
    # All of them are to be listed, also those that only another name makes different.
    listed = replace(scenario, symbolic={**scenario.symbolic, "symmetry": False})
    built = build(listed, asked=True)
    assert built.discovery is not None
    hosts = [made.name for made in built.network.components if isinstance(made, Host)]
    if host is not None and host not in hosts:
        raise PenstockError(f"unknown host {host!r}: choose {', '.join(hosts)}.")
    world = World(built.network)
    world.restore(built.start)
    if trace is not None:
        for line in read_trace(trace).lines[:steps]:
            world.take(line.transition)
    return classes_of(built.discovery, states_of(world), host), built.discovery
