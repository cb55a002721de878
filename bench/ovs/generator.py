"""Random programs: seeded, deterministic, and such that most steps mean something.

Each program has a few packets of its own and draws its matches from them, so packets meet rules.
Where entries of equal priority overlap the choice between them is the switch's own; so a match
keeps one priority, its own, for a whole program.  The exception is a priority that several
matches share but that is only ever added with CHECK_OVERLAP.

Which kinds of step a program has, and how often, is drawn first (`_mood`): programs that do a few
things a lot find more than programs that do everything a little.  One in four of 1.3 is about meters: its
rates are low, its waits short, and its packets come in bursts.  A program either writes to
action sets or has Open vSwitch look at packets afresh (select groups, last labels popped), because
the two together kill it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Final

from bench.ovs.misspellings import draw_misspelling
from bench.ovs.mistakes import draw_mistake
from bench.ovs.pool import Sample, sample
from bench.ovs.programs import (
    CARRIER_PORT,
    PORTS,
    WAIT_SKEW_MS,
    Arrive,
    Link,
    Program,
    Step,
    Tell,
    Wait,
    port_hw_addr,
)
from bench.ovs.questions import closing_questions, draw_question
from bench.ovs.rules import (
    COOKIES,
    GROUPS,
    LAST_TABLE,
    METERS,
    draw_actions,
    draw_bucket,
    draw_cookie_filter,
    draw_instructions,
    draw_match,
    keep_in_sight,
)
from penstock.openflow.actions import ApplyActions, Instruction, Output, UseMeter, WriteActions
from penstock.openflow.match import ANYTHING, Match
from penstock.openflow.messages import (
    ALL_GROUPS,
    ALL_METERS,
    ALL_TABLES,
    ANY_GROUP,
    V10,
    V13,
    Band,
    BarrierRequest,
    Bucket,
    EchoRequest,
    FlowCommand,
    FlowFlag,
    FlowMod,
    GetAsyncRequest,
    GetConfigRequest,
    GroupCommand,
    GroupMod,
    GroupType,
    MeterCommand,
    MeterMod,
    OpenFlowMessage,
    PacketOut,
    PortConfig,
    PortMod,
    PortNo,
    Role,
    RoleRequest,
    SetAsync,
    SetConfig,
    TableMod,
)
from penstock.openflow.stats import MeterRequest, StatsRequest

TIMEOUTS: Final = (1, 2, 3)
_MOST_STEPS = 34
_SHARED_PRIORITY = 7
_KBPS, _PKTPS, _BURST, _STATS = 1, 2, 4, 8


def generate(seed: int) -> Program:
    """Return the program of a seed."""
    return _Writer(seed).write()


def is_about_meters(seed: int) -> bool:
    """Tell whether the program of a seed has packets exceed the rates of meters."""
    return _Writer(seed).meters


class _Writer:
    """One program in the making."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = rng = Random(seed)
        self.version = V10 if seed % 2 else V13
        self.v10 = self.version == V10
        self.controllers = ("c0", "c1") if rng.random() < 0.3 else ("c0",)
        self.samples = [sample(rng, self.v10) for _ in range(rng.randrange(2, 6))]
        self.priorities: dict[Match, int] = {}
        self.matches: list[tuple[int, Match]] = []
        self.groups: dict[int, int] = {}
        self.steps: list[Step] = []
        self.generation = rng.choice((0, 5, (1 << 64) - 3))
        self.waits = 0
        self.ranked = False
        self.writes = not self.v10 and rng.random() < 0.6
        self.meters = not self.v10 and rng.random() < 0.25

    def write(self) -> Program:
        rng = self.rng
        if self.meters:
            for meter in METERS:
                self.tell(self.meter_mod(MeterCommand.ADD, meter))
        if not self.v10 and (self.meters or rng.random() < 0.6):
            self.tell(self.table_miss())
        if not self.v10 and rng.random() < 0.5:
            for _ in range(rng.randrange(1, 4)):
                self.group()
        for _ in range(rng.randrange(2, 6)):
            self.add()
        kinds = self._mood()
        for _ in range(rng.randrange(8, _MOST_STEPS)):
            rng.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])[0]()
        for body in closing_questions(rng, self.version):
            self.tell(body, "c0")
        return Program(self.seed, self.version, self.controllers, tuple(self.steps))

    def _mood(self) -> list[tuple[Callable[[], None], float]]:
        """Return the kinds of step and how often each comes in this program."""
        rng = self.rng
        usual: list[tuple[Callable[[], None], float]] = [
            (self.add, 10),
            (self.modify, 5),
            (self.delete, 5),
            (self.arrive, 16),
            (self.packet_out, 5),
            (self.port_mod, 2),
            (self.link, 1.5),
            (self.wait, 3),
            (self.ask, 5),
            (self.configure, 2),
            (self.small_talk, 1),
            (self.mistake, 4),
        ]
        if not self.v10:
            usual += [(self.group, 6), (self.standing, 2), (self.meter, 1.2)]
        return [(kind, weight * rng.choice((0.2, 1, 1, 2))) for kind, weight in usual]

    def tell(self, message: OpenFlowMessage, controller: str | None = None) -> None:
        self.steps.append(
            Tell(controller or self.rng.choice(self.controllers), replace(message, xid=len(self.steps) + 1))
        )

    def a_sample(self) -> Sample:
        if self.rng.random() < 0.12:
            self.samples.append(sample(self.rng, self.v10))
        return self.rng.choice(self.samples)

    def priority(self, match: Match) -> int:
        """Return the match's own priority."""
        if match not in self.priorities:
            if not match.terms and self.rng.random() < 0.5:
                self.priorities[match] = 0
            else:
                self.priorities[match] = 10 + 3 * len(self.priorities) + 200 * self.rng.randrange(300)
        return self.priorities[match]

    def a_match(self, table: int) -> Match:
        """Return a match: of a rule there may be, or a new one."""
        known = [match for where, match in self.matches if where == table]
        if known and self.rng.random() < 0.4:
            return self.rng.choice(known)
        match = draw_match(self.rng, self.a_sample(), self.v10, table)
        self.matches.append((table, match))
        return match

    def a_table(self) -> int:
        return 0 if self.v10 or self.rng.random() < 0.55 else self.rng.randrange(1, LAST_TABLE + 1)

    def table_miss(self) -> FlowMod:
        self.priorities[ANYTHING] = 0
        to_controller = ApplyActions((Output(PortNo.CONTROLLER, self.rng.choice((0xFFFF, 64))),))
        metered = (UseMeter(self.rng.choice(METERS)),) if self.meters else ()
        instructions = (*metered, to_controller)
        return FlowMod(FlowCommand.ADD, ANYTHING, instructions, 0, cookie=self.rng.choice(COOKIES))

    def some_groups(self) -> list[int]:
        """Return groups to send packets to: most often ones that exist."""
        return [*GROUPS] if self.rng.random() < 0.05 else [*self.groups]

    def instructions(self, match: Match, table: int) -> tuple[Instruction, ...]:
        drawn = draw_instructions(self.rng, match, self.v10, table, self.some_groups())
        if self.meters and not isinstance(drawn[0] if drawn else None, UseMeter) and self.rng.random() < 0.5:
            drawn = (UseMeter(self.rng.choice(METERS)), *drawn)
        if not self.writes:
            return tuple(i for i in drawn if not isinstance(i, WriteActions))
        return tuple(
            ApplyActions(keep_in_sight(i.actions)) if isinstance(i, ApplyActions) else i for i in drawn
        )

    def some_flags(self) -> int:
        rng, flags = self.rng, 0
        if rng.random() < 0.5:
            flags |= FlowFlag.SEND_FLOW_REM
        if not self.v10:
            for flag in (FlowFlag.RESET_COUNTS, FlowFlag.NO_PKT_COUNTS, FlowFlag.NO_BYT_COUNTS):
                if rng.random() < 0.1:
                    flags |= flag
        return flags

    def timeouts(self) -> dict[str, int]:
        rng = self.rng
        if self.meters:
            return {}
        return {
            "idle_timeout": rng.choice(TIMEOUTS) if rng.random() < 0.25 else 0,
            "hard_timeout": rng.choice(TIMEOUTS) if rng.random() < 0.2 else 0,
        }

    def add(self) -> None:
        rng, table = self.rng, self.a_table()
        match = self.a_match(table)
        flags, priority = self.some_flags(), self.priority(match)
        if rng.random() < 0.1:
            flags |= FlowFlag.CHECK_OVERLAP
            if rng.random() < 0.7:
                priority = _SHARED_PRIORITY
        self.tell(
            FlowMod(
                FlowCommand.ADD,
                match,
                self.instructions(match, table),
                priority,
                table,
                cookie=rng.choice(COOKIES),
                flags=flags,
                **self.timeouts(),
            )
        )

    def cookie_filter(self) -> dict[str, int]:
        if self.v10 or self.rng.random() < 0.6:
            return {"cookie": self.rng.choice(COOKIES)}
        cookie, mask = draw_cookie_filter(self.rng)
        return {"cookie": cookie, "cookie_mask": mask}

    def modify(self) -> None:
        rng, table = self.rng, self.a_table()
        match = self.a_match(table)
        command = rng.choice((FlowCommand.MODIFY, FlowCommand.MODIFY_STRICT))
        self.tell(
            FlowMod(
                command,
                match,
                self.instructions(match, table),
                self.priority(match),
                table,
                flags=self.some_flags(),
                **self.timeouts(),
                **self.cookie_filter(),
            )
        )

    def delete(self) -> None:
        rng, table = self.rng, self.a_table()
        match = self.a_match(table) if rng.random() < 0.85 else ANYTHING
        command = rng.choice((FlowCommand.DELETE, FlowCommand.DELETE_STRICT, FlowCommand.DELETE_STRICT))
        priority = self.priority(match) if rng.random() < 0.9 else rng.choice((0, _SHARED_PRIORITY))
        out_port = rng.choice((*PORTS, PortNo.CONTROLLER)) if rng.random() < 0.2 else PortNo.ANY
        out_group = rng.choice(GROUPS) if not self.v10 and rng.random() < 0.1 else ANY_GROUP
        if not self.v10 and rng.random() < 0.15:
            table = ALL_TABLES
        self.tell(
            FlowMod(
                command,
                match,
                (),
                priority,
                table,
                out_port=out_port,
                out_group=out_group,
                flags=rng.choice((0, FlowFlag.SEND_FLOW_REM)),
                **self.cookie_filter(),
            )
        )

    def arrive(self) -> None:
        arrival = Arrive(self.rng.choice(PORTS), self.a_sample().data)
        self.steps += [arrival] * (self.rng.choice((1, 3, 6, 10)) if self.meters else 1)

    def packet_out(self) -> None:
        rng, given = self.rng, self.a_sample()
        fields = {name: value for name, value in given.fields.items() if name in ("eth_type", "ip_proto")}
        promised = Match.of(**fields)
        actions = draw_actions(rng, promised, self.v10, self.some_groups())
        if rng.random() < 0.35:
            actions = (
                (Output(PortNo.TABLE, 0),) if rng.random() < 0.7 else (*actions, Output(PortNo.TABLE, 0))
            )
        in_port = rng.choice((*PORTS, *PORTS, PortNo.CONTROLLER, PortNo.ANY, PortNo.LOCAL))
        if rng.random() < 0.05:
            in_port = rng.choice((0, 77, PortNo.FLOOD, PortNo.IN_PORT, PortNo.MAX))
        self.tell(PacketOut(0xFFFFFFFF, in_port, actions, given.data))

    def port_mod(self) -> None:
        rng = self.rng
        port = rng.choice(PORTS)
        bits = [PortConfig.NO_FLOOD, PortConfig.NO_FWD, PortConfig.NO_RECV, PortConfig.NO_PACKET_IN]
        if self.v10:
            bits += [PortConfig.NO_RECV_STP, PortConfig.NO_STP]
        else:
            bits.remove(PortConfig.NO_FLOOD)
        if port != CARRIER_PORT:
            bits += [PortConfig.DOWN, PortConfig.DOWN]
        mask = rng.choice(bits)
        config = rng.choice((0, mask))
        self.tell(PortMod(port, port_hw_addr(port), config, mask))

    def link(self) -> None:
        self.steps.append(Link(CARRIER_PORT, self.rng.random() < 0.5))

    def wait(self) -> None:
        self.waits += 1
        if self.meters:
            # Without timeouts nothing falls due, so that any moment will do.
            self.steps.append(Wait(self.rng.choice((1, 2, 7, 40, 333, 1000, 2500, 100_000))))
        elif self.waits * WAIT_SKEW_MS < 1000:
            self.steps.append(Wait(self.rng.choice((0, 1, 1, 2, 3, 4)) * 1000 + WAIT_SKEW_MS))

    def ask(self) -> None:
        rng, table = self.rng, self.a_table()
        match = self.a_match(table) if rng.random() < 0.5 else ANYTHING
        if self.meters and rng.random() < 0.5:
            self.tell(StatsRequest(MeterRequest()))
        else:
            self.tell(draw_question(rng, self.version, match))

    def configure(self) -> None:
        rng = self.rng
        if rng.random() < 0.3:
            self.tell(GetConfigRequest())
        else:
            flags = rng.choice((0, 0, 0, 1, 4) if self.v10 else (0, 0, 0, 1))
            self.tell(SetConfig(flags, rng.choice((0, 14, 64, 128, 0xFFFF))))

    def small_talk(self) -> None:
        rng = self.rng
        choices: list[OpenFlowMessage] = [BarrierRequest(), EchoRequest(rng.randbytes(rng.choice((0, 5))))]
        if not self.v10:
            choices.append(TableMod(rng.choice((0, 3, ALL_TABLES)), rng.choice((0, 3))))
        self.tell(rng.choice(choices))

    def standing(self) -> None:
        rng = self.rng
        if rng.random() < 0.6:
            self.generation += rng.choice((0, 0, 1, 1, -1))
            self.ranked = True
            self.tell(RoleRequest(rng.choice(tuple(Role)), self.generation % (1 << 64)))
        elif rng.random() < 0.3:
            self.tell(GetAsyncRequest())
        else:
            masks = [(rng.choice((0b111, 0b11111, 0b1, 0)), rng.choice((0b111, 0b10, 0))) for _ in range(3)]
            self.tell(SetAsync(*masks))

    def meter(self) -> None:
        rng = self.rng
        command = rng.choice((MeterCommand.ADD, MeterCommand.ADD, MeterCommand.MODIFY, MeterCommand.DELETE))
        meter = rng.choice((*METERS, ALL_METERS)) if command == MeterCommand.DELETE else rng.choice(METERS)
        self.tell(self.meter_mod(command, meter))

    def meter_mod(self, command: int, meter: int) -> MeterMod:
        rng = self.rng
        if command == MeterCommand.DELETE:
            return MeterMod(command, 1, meter)
        rates = (1, 2, 3, 7, 30, 100) if self.meters else (1, 5, 1_000_000)
        bands = tuple(
            Band(1, rng.choice(rates), rng.choice((0, 0, 1, 2, 3, 8, 100_000)))
            for _ in range(rng.choice((1, 1, 2, 2, 3)))
        )
        flags = rng.choice((_KBPS, _PKTPS)) | rng.choice((0, _BURST)) | rng.choice((0, _STATS))
        return MeterMod(command, flags, meter, bands)

    def group(self) -> None:
        rng = self.rng
        group = rng.choice(GROUPS)
        roll = rng.random()
        if roll < 0.15:
            group = rng.choice((group, ALL_GROUPS))
            self.tell(GroupMod(GroupCommand.DELETE, GroupType.ALL, group))
            self.groups = {} if group == ALL_GROUPS else {g: t for g, t in self.groups.items() if g != group}
            return
        kind = rng.choice([kind for kind in GroupType if kind != GroupType.SELECT or not self.writes])
        command = GroupCommand.MODIFY if group in self.groups and roll < 0.9 else GroupCommand.ADD
        self.tell(GroupMod(command, kind, group, self._buckets(kind, group)))
        self.groups[group] = kind

    def _buckets(self, kind: int, group: int) -> tuple[Bucket, ...]:
        """Return buckets that chain to later groups only and, where the choice is the switch's, are alike."""
        rng = self.rng
        later = [other for other in self.groups if other > group]
        count = 1 if kind == GroupType.INDIRECT else rng.choice((0, 1, 2, 2, 3))
        lists = [draw_bucket(rng, [*later]) for _ in range(count)]
        if self.writes:
            lists = [keep_in_sight(actions) for actions in lists]
        if kind == GroupType.SELECT:
            alike = lists[0] if lists else ()
            return tuple(Bucket(alike, weight=rng.choice((1, 1, 5))) for _ in lists)
        if kind == GroupType.FAST_FAILOVER:
            return tuple(Bucket(actions, **self._watch(later)) for actions in lists)
        return tuple(Bucket(actions) for actions in lists)

    def _watch(self, groups: list[int]) -> dict[str, int]:
        """Return what a fast-failover bucket watches: a port, or a later group."""
        if groups and self.rng.random() < 0.2:
            return {"watch_group": self.rng.choice(groups)}
        return {"watch_port": self.rng.choice((*PORTS, *PORTS, CARRIER_PORT, PortNo.CONTROLLER))}

    def mistake(self) -> None:
        """Make a mistake; one in the bytes only while nobody is a slave, who may not even misspell."""
        rng, controller, xid = self.rng, self.rng.choice(self.controllers), len(self.steps) + 1
        if rng.random() < 0.4 and not self.ranked:
            self.steps.append(draw_misspelling(rng, self.version, controller, xid))
        else:
            self.tell(draw_mistake(rng, self.version), controller)
