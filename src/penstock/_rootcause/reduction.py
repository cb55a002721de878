"""The commands of a controller: replayed to the switches alone, and reduced to those that matter.

OpenFlow replay: the switches of a run alone, at any line of it, to be looked at (as with OFRewind).

Nothing of the controllers is there but the messages they sent; so whatever a person tries out, nobody
answers.

Which of a controller's commands matter for the tables that it left behind.

Controllers overwrite their rules, let them time out, flush tables and fill them again; most of what they
said no longer shows.  What a switch ends up with follows from what it received and from nothing else, so
each switch is looked at by itself: everything that reached it is handed to it again, without some of the
commands, and the tables must come out the same.  A first guess keeps the commands that made the entries
which are still there; delta debugging then makes sure that none of the rest can be left out.  That is a
proof by trying: the tables without the others *are* the same, and with any one less they are not.

Commands are flow-mods, group-mods and meter-mods.  Everything else that reached a switch stays: packets keep
rules alive, power cuts empty tables.  That a rule was written at another moment does not count as another
table, unless it decides when the rule times out.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from penstock._fuzz.deliveries import hops_of
from penstock._fuzz.inputs import PROTOCOLS, SendPacket
from penstock._fuzz.traffic import order_of
from penstock._minimize.delta import ddmin
from penstock._replay.player import Playable, TracePlayer
from penstock._world.component import Endpoint, Message, Port
from penstock._world.frame import Frame
from penstock._world.hosts import ASK
from penstock._world.signals import FABRIC
from penstock._world.switch import FlowEntry, Switch, SwitchState
from penstock._world.transition import ACT, DELIVER, TIME, Record
from penstock.errors import PenstockError
from penstock.openflow.match import port_text
from penstock.openflow.messages import NO_BUFFER, FlowMod, GroupMod, MeterMod, OpenFlowMessage


class Rewind(TracePlayer):
    """The switches of a run at one moment of it, to be looked at."""

    def flows(self, switch: str) -> Iterator[str]:
        """Yield the flow tables, groups and meters of a switch as text."""
        state = self._switch(switch)
        if not state.powered:
            yield f"{switch} is off"
        for number, table in sorted(state.tables.items()):
            for entry in table:
                yield f"table {number}: {entry}"
        for number, group in sorted(state.groups.items()):
            yield f"group {number}: {' | '.join(map(str, group.buckets)) or 'drop'}"
        for number in sorted(state.meters):
            yield f"meter {number}"
        if not any(len(table) for table in state.tables.values()):
            yield f"{switch} has no rules"

    def ports(self, switch: str) -> Iterator[str]:
        """Yield the ports of a switch, each with its state and where it leads."""
        state = self._switch(switch)
        network = self.playable.network
        wiring = self.world.state(network.fabric.name)
        for number, port in sorted(state.ports.items()):
            end = network.fabric.peer(wiring, Endpoint(switch, number))
            up = "up" if port.usable else "down"
            yield f"port {port_text(number)}: {up}, {f'to {end}' if end is not None else 'leads nowhere'}"

    def queues(self) -> Iterator[str]:
        """Yield what is in flight."""
        for channel in self.playable.network.channels:
            if waiting := self.world.queue(channel):
                yield f"{channel}: {'; '.join(map(str, waiting))}"

    def path(self, host: str, to: str, protocol: str = PROTOCOLS[0]) -> Iterator[Record]:
        """Yield where a packet from one host to another would go at this moment."""
        if protocol not in PROTOCOLS:
            raise PenstockError(f"{protocol!r} is nothing to send: choose {', '.join(PROTOCOLS)}.")
        stations = self.playable.stations
        packet = order_of(SendPacket(host, to, protocol), stations).packet
        if packet.dst == ASK:
            packet = replace(packet, dst=stations[to].mac)
        frame = Frame(packet.to_bytes(), f"{host}?")
        return hops_of(self.world, Endpoint(host, stations[host].port), frame)

    def _switch(self, name: str) -> SwitchState:
        if name not in self.playable.switches:
            known = ", ".join(self.playable.switches[:8])
            raise PenstockError(f"unknown switch {name[:40]!r}: choose {known}.")
        state = self.world.state(name)
        assert isinstance(state, SwitchState), "switches have such states"
        return state


COMMANDS: Final = (FlowMod, GroupMod, MeterMod)

Tables = frozenset[Hashable]
"""All that a switch forwards by, each entry with where it is."""


@dataclass(frozen=True, slots=True)
class Received:
    """What reached a switch: a message at a port, or only that it is later; or what it did by itself."""

    line: int
    clock: int
    port: Port | None = None
    message: Message | None = None
    action: str = ""

    @property
    def is_command(self) -> bool:
        """Tell whether it is something that a controller changed tables with."""
        return isinstance(self.message, COMMANDS)

    @property
    def is_only_later(self) -> bool:
        """Tell whether nothing came but that time went on."""
        return self.port is None and not self.action


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a controller to a switch, by the line in which it took effect."""

    line: int
    controller: str
    switch: str
    message: OpenFlowMessage


@dataclass(frozen=True, slots=True)
class Reduced:
    """The commands that matter for the tables at a line of a run."""

    line: int
    all_commands: int
    kept: tuple[Command, ...]
    tests: int
    """How often a switch was run again to make sure."""


class _Mailboxes:
    """What reached each switch."""

    def __init__(self, player: TracePlayer) -> None:
        self._player = player
        self.received: dict[str, list[Received]] = {name: [] for name in player.playable.switches}
        self.line = 0
        player.world.observe(self._observe)

    def fill(self, line: int) -> None:
        """Take all lines up to one."""
        for turn in self._player.playable.turns:
            if turn.line.number > line:
                return
            self.line = turn.line.number
            self._player.forward()

    def _observe(self, record: Record) -> None:
        if record.node not in self.received:
            return
        clock, verb = self._player.world.clock, record.transition.verb
        if verb == DELIVER and record.at is not None:
            found = Received(self.line, clock, record.at.port, record.message)
        elif verb == ACT:
            found = Received(self.line, clock, action=str(record.transition.what))
        elif verb == TIME:
            found = Received(self.line, clock)
        else:
            return
        self.received[record.node].append(found)


def tables_of(state: SwitchState) -> Tables:
    """Return all that a switch forwards by, as a value to be compared."""
    flows = ((number, _timeless(entry)) for number, table in state.tables.items() for entry in table)
    groups = ((number, replace(group, created=0)) for number, group in state.groups.items())
    meters = ((number, replace(meter, created=0)) for number, meter in state.meters.items())
    return frozenset((*flows, *groups, *meters))


def _timeless(entry: FlowEntry) -> FlowEntry:
    return replace(entry, created=0, modified=entry.modified if entry.hard_timeout else 0)


def _heeds_packets(message: object) -> bool:
    """Tell whether what a command does may depend on the packets that came."""
    return isinstance(message, FlowMod) and bool(message.idle_timeout or message.buffer_id != NO_BUFFER)


class _Bench:
    """One switch by itself, with what it received."""

    def __init__(self, switch: Switch, start: SwitchState, received: Sequence[Received]) -> None:
        self._switch = switch
        self._start = start
        self._received = list(enumerate(received))
        """What it received, each with its place."""
        self.commands = tuple(place for place, one in enumerate(received) if one.is_command)
        self.tests = 0
        self._wanted = tables_of(self._end(self.commands))
        self._leave_packets_out()

    def _leave_packets_out(self) -> None:
        """Do without packets where they cannot touch the tables: they are most of what a switch receives.

        A packet keeps a rule with an idle timeout alive, and fills the buffer that a flow-mod may name.
        """
        whole = self._received
        if any(_heeds_packets(one.message) for _, one in whole):
            return
        lean: list[tuple[int, Received]] = []
        for place, one in whole:
            if isinstance(one.message, Frame):
                continue
            if lean and lean[-1][1].is_only_later and one.is_only_later:
                lean.pop()  # whoever hears the later time need not hear the earlier
            lean.append((place, one))
        self._received = lean
        if not self.passes(self.commands):
            self._received = whole

    def passes(self, commands: Iterable[int]) -> bool:
        """Tell whether the tables come out the same with only these commands."""
        self.tests += 1
        return tables_of(self._end(commands)) == self._wanted

    def fewest(self) -> tuple[int, ...]:
        """Return commands of which none can be left out, by their places."""
        guess = self._makers()
        candidates = guess if self.passes(guess) else self.commands
        if not candidates or self.passes(()):
            return ()
        return ddmin(candidates, self.passes)

    def _makers(self) -> tuple[int, ...]:
        """Return the commands after which an entry that is there in the end was there first."""
        made: dict[Hashable, int] = {}
        state, before = self._start, tables_of(self._start)
        for place, one in self._received:
            state = self._next(state, one)
            if one.is_command:
                now = tables_of(state)
                made.update(dict.fromkeys(now - before, place))
                before = now
        return tuple(sorted({place for entry, place in made.items() if entry in self._wanted}))

    def _end(self, commands: Iterable[int]) -> SwitchState:
        kept = frozenset(commands)
        state = self._start
        for place, one in self._received:
            if not one.is_command or place in kept:
                state = self._next(state, one)
        return state

    def _next(self, state: SwitchState, one: Received) -> SwitchState:
        switch = self._switch
        if one.port is not None:
            found: object = switch.receive(state, one.port, one.message).state
        elif not one.action:
            found = switch.advance(state, one.clock).state
        elif one.action in switch.actions(state):
            found = switch.act(state, one.action).state
        else:
            return state  # it was about a command that is left out
        assert isinstance(found, SwitchState), "a switch stays one"
        return found


def reduce_commands(playable: Playable, line: int | None = None) -> Reduced:
    """Return the commands that matter for the tables after a line, by default at the violation."""
    end = playable.end if line is None else line
    boxes = _Mailboxes(TracePlayer(playable))
    boxes.fill(end)
    kept: list[Command] = []
    commands = tests = 0
    network = playable.network
    for name, received in boxes.received.items():
        place = network.places[name]
        switch, start = network.components[place], playable.start.states[place]
        assert isinstance(switch, Switch) and isinstance(start, SwitchState), "it is among the switches"
        bench = _Bench(switch, start, received)
        fewest = bench.fewest()
        commands += len(bench.commands)
        tests += bench.tests
        kept += [_command(name, received[index]) for index in fewest]
    return Reduced(end, commands, tuple(sorted(kept, key=lambda command: command.line)), tests)


def _command(switch: str, received: Received) -> Command:
    assert isinstance(received.message, OpenFlowMessage) and received.port not in (None, FABRIC)
    return Command(received.line, str(received.port), switch, received.message)
