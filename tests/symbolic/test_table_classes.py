"""What is said of packets that rules treat by themselves is what becomes of them in a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.soundness import proactive_programs
from tests.soundness.programs import Program

from penstock._engine.building import Built
from penstock._engine.building import build as built_from
from penstock._properties.packets import Hosts
from penstock._scenario.scenario import scenario_of
from penstock._symbolic.table_classes import TableClass
from penstock._world.hosts import SymbolicHost
from penstock._world.world import World

PROGRAMS = [each for each in proactive_programs.programs() if each.name.startswith("native_")]
WITHOUT_CHOICE = [each for each in PROGRAMS if "select" not in each.name and "ring" not in each.name]


def build(program: Program, folder: Path) -> Built:
    for name, text in program.files.items():
        (folder / name).write_text(text)
    return built_from(scenario_of(dict(program.scenario), folder))


def classes_of(built: Built) -> list[tuple[SymbolicHost, TableClass]]:
    assert built.discovery is not None
    states = dict(zip(built.network.names, built.start.states, strict=True))
    hosts = [made for made in built.network.components if isinstance(made, SymbolicHost)]
    return [(host, known) for host in hosts for known in built.discovery.tables.classes(host, states)]


def arrives(built: Built, host: SymbolicHost, known: TableClass) -> bool:
    """Tell whether a packet of a class arrives where it should when it is sent."""
    world, hosts = World(built.network), Hosts(built.network)
    world.restore(built.start)
    (action,) = (
        each
        for each in world.enabled()
        if each.node == host.name and host._named.get(str(each.what)) == known.packets.data
    )
    record, reached = world.take(action), False
    (tag,) = (packet.tag for packet in hosts.sent(record))
    while deliveries := [*world.deliveries()]:
        record = world.take(deliveries[0])
        # A host ignores packets with VLAN tags; if one was sent so, it has come all the same.
        reached |= tag in (hosts.reached(record), hosts.ignored(record))
    return reached


@pytest.mark.parametrize("program", WITHOUT_CHOICE[::3], ids=lambda each: each.name)
def test_a_class_is_said_to_arrive_if_its_packet_does(program: Program, tmp_path: Path) -> None:
    built = build(program, tmp_path)
    judged = [(host, known) for host, known in classes_of(built) if known.receiver and not known.fate.heard]
    plain = [pair for pair in judged if not pair[1].fate.vague]
    for host, known in plain:
        rewritten = any(mac != host.find(known.receiver).mac for *_, mac in known.fate.exits)
        assert arrives(built, host, known) == known.reaches or rewritten, known


def named(name: str) -> Program:
    return next(each for each in PROGRAMS if each.name == f"native_{name}")


@pytest.mark.parametrize(
    ("name", "suspicious"),
    [("macs", 0), ("macs_without_broadcast", 2), ("no_rules", 4), ("ports_back_out", 2)],
)
def test_only_what_may_be_lost_is_suspicious(name: str, suspicious: int, tmp_path: Path) -> None:
    classes = classes_of(build(named(name), tmp_path))
    assert sum(known.is_suspicious for _, known in classes) == suspicious


def test_what_only_a_controller_gets_is_no_matter_of_tables(tmp_path: Path) -> None:
    assert not classes_of(build(named("handler_installs_a_wrong_rule"), tmp_path))
