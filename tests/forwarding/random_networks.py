"""Random networks with random tables, groups and ports, and random changes to them.

Rules and packets are drawn as for the comparison of our switch with Open vSwitch, so that they meet.
"""

from __future__ import annotations

from random import Random

from bench.ovs.pool import Sample, sample
from bench.ovs.rules import GROUPS, draw_bucket, draw_instructions, draw_match
from tests.forwarding.flow_lab import Lab

from penstock._forwarding.header_space import header_of
from penstock._forwarding.kinds import kind_of
from penstock._world.faults import Faults
from penstock._world.signals import FABRIC
from penstock._world.switch import Switch
from penstock._world.switch.headers import read
from penstock.openflow.actions import ApplyActions, Output
from penstock.openflow.match import Match
from penstock.openflow.messages import (
    V10,
    V13,
    Bucket,
    FlowCommand,
    FlowMod,
    GroupCommand,
    GroupMod,
    GroupType,
    PortConfig,
    PortMod,
    PortNo,
)

SHAPES = ("single,3", "linear,2", "linear,3", "ring,3", "tree,2,2")
CONFIGS = (PortConfig.DOWN, PortConfig.NO_RECV, PortConfig.NO_FLOOD, PortConfig.NO_FWD)
COMMANDS = (FlowCommand.DELETE, FlowCommand.DELETE_STRICT, FlowCommand.MODIFY_STRICT)
TABLES = (0, 1, 2)
FAULTS = Faults(link_failures=9, switch_failures=9)


def packets(random: Random, version: int, count: int) -> list[Sample]:
    """Return packets of kinds that are followed."""
    found: list[Sample] = []
    while len(found) < count:
        drawn = sample(random, version == V10)
        if kind_of(header(drawn)) is not None and not read(drawn.data).fragment:
            found.append(drawn)
    return found


def header(drawn: Sample) -> int:
    """Return what a switch reads in a packet."""
    return header_of(read(drawn.data).fields)


class RandomNetwork:
    """A lab that was set up at random, and goes on changing at random."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.version = random.choice((V10, V13, V13))
        self.samples = packets(random, self.version, 6)
        self.lab = Lab(random.choice(SHAPES), self.version, FAULTS)
        for name in self.lab.switches:
            self._set_up(name)

    def _set_up(self, name: str) -> None:
        if self.version == V13:
            for group in GROUPS:
                self._put_group(name, group, GroupCommand.ADD)
        for table in self._tables():
            for _ in range(self.random.randint(0, 4)):
                self.add_rule(name, table)
            if self.version == V13 and self.random.random() < 0.6:
                asking = (ApplyActions((Output(PortNo.CONTROLLER),)),)
                self.lab.tell(name, FlowMod(FlowCommand.ADD, Match(), asking, priority=0, table_id=table))

    def _tables(self) -> tuple[int, ...]:
        return TABLES if self.version == V13 else (0,)

    def _put_group(self, name: str, group: int, command: GroupCommand) -> None:
        kind = self.random.choice(tuple(GroupType))
        below = list(range(1, group)) if self.random.random() < 0.5 else []
        buckets = tuple(
            Bucket(
                draw_bucket(self.random, list(below)),
                weight=self.random.choice((0, 1, 2)) if kind == GroupType.SELECT else 0,
                watch_port=self.random.choice((1, 2)) if kind == GroupType.FAST_FAILOVER else PortNo.ANY,
            )
            for _ in range(1 if kind == GroupType.INDIRECT else self.random.randint(0, 3))
        )
        self.lab.tell(name, GroupMod(command, kind, group, buckets))

    def add_rule(self, name: str, table: int) -> None:
        """Add an entry, which the switch may refuse."""
        match = draw_match(self.random, self.random.choice(self.samples), self.version == V10, table)
        instructions = draw_instructions(self.random, match, self.version == V10, table, list(GROUPS))
        priority = self.random.randint(1, 4)
        self.lab.tell(name, FlowMod(FlowCommand.ADD, match, instructions, priority=priority, table_id=table))

    def change(self) -> None:
        """Change something, anywhere."""
        name = self.random.choice(self.lab.switches)
        roll = self.random.random()
        if roll < 0.4:
            self.add_rule(name, self.random.choice(self._tables()))
        elif roll < 0.65:
            self._change_rule(name)
        elif roll < 0.75:
            actions = self.lab.world.network.fabric.actions(self.lab.world.state(FABRIC))
            if actions:
                self.lab.fabric(self.random.choice(actions))
        elif roll < 0.85 or self.version == V10:
            self._configure_port(name)
        else:
            self._put_group(name, self.random.choice(list(GROUPS)), GroupCommand.MODIFY)

    def _change_rule(self, name: str) -> None:
        tables = self.lab.world.state(name).tables
        entries = [(number, entry) for number in tables for entry in tables[number]]
        if not entries:
            return
        number, entry = self.random.choice(entries)
        command = self.random.choice(
            (FlowCommand.DELETE, FlowCommand.DELETE_STRICT, FlowCommand.MODIFY_STRICT)
        )
        instructions = draw_instructions(self.random, entry.match, self.version == V10, number, list(GROUPS))
        self.lab.tell(
            name,
            FlowMod(command, entry.match, instructions, priority=entry.priority, table_id=number),
        )

    def _configure_port(self, name: str) -> None:
        network = self.lab.world.network
        switch = network.components[network.places[name]]
        assert isinstance(switch, Switch)
        port = self.random.choice(switch.chassis.ports)
        config = self.random.choice(CONFIGS)
        wanted = config if self.random.random() < 0.6 else 0
        self.lab.tell(name, PortMod(port.number, port.hw_addr, wanted, config))
