"""The forwarding model: a network's tables, ports and wires, and what they do with every packet.

    model = ForwardingModel(chassis, hosts)
    model.rewire(wires)
    model.set_state("s1", state)               # ports, groups, power
    model.put("s1", 0, entry)                  # a rule comes or changes
    model.loops(), model.black_holes()         # each with a packet, its path and the rules on it
    model.outcomes("h1", Match.of(eth_type=0x0800))

Every change is taken over at once: the classes of packets are kept up (`classes`, `elements`), and what was
worked out about those concerned is stale until somebody asks (`answers`, `loops`).  The sets are exact, so
what holds of a class holds of each of its packets; it is told by one of them, as like a usual one as can be,
which is followed from switch to switch (`journeys`).

What hosts can send is taken at its widest: any packet that there is (`kinds`), whatever its addresses say.
A loop that no packet of a host gets into is not reported.
Packets that go to a controller are *undecided*: what it does with them is not for a table to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeVar

from penstock._forwarding.answers import Answers, Grounds
from penstock._forwarding.classes import Event, Joined, PacketClass, Partition, Split
from penstock._forwarding.crossing import UNCLEAR, Site
from penstock._forwarding.elements import Behaviour, Behaviours, TableElements
from penstock._forwarding.header_space import WIDTH
from penstock._forwarding.journeys import Journeys, Outcome, Source
from penstock._forwarding.kinds import all_packets, example, kind_of, usual_header
from penstock._forwarding.loops import Loops, Round, State, Way
from penstock._forwarding.sets import PacketSet, packet_space
from penstock._forwarding.steps import LOCAL, Refined, Steps
from penstock._world.component import Endpoint
from penstock._world.hosts.host import Address
from penstock._world.switch.flow_table import FlowEntry
from penstock._world.switch.state import PortStatus, SwitchState
from penstock._world.switch.turn import Chassis
from penstock.errors import PenstockError
from penstock.openflow.actions import (
    Action,
    Enqueue,
    Group,
    Output,
    PopMpls,
    PushMpls,
    PushVlan,
    SetField,
    SetTransportDst,
    SetTransportSrc,
    UnknownAction,
)
from penstock.openflow.match import Match
from penstock.openflow.messages import PortNo

_ALL_PORTS: Final = (PortNo.FLOOD, PortNo.ALL, PortNo.IN_PORT)
_EVERY_BIT: Final = (1 << WIDTH) - 1


class HostPort(NamedTuple):
    """Where a host is plugged in from, and who it is."""

    address: Address
    end: Endpoint


class Question(NamedTuple):
    """What becomes of packets of one host, for another."""

    source: str
    target: str
    packets: Match


class _Sent(NamedTuple):
    """A class of packets that a host sends."""

    source: str
    packets: PacketClass


Result = TypeVar("Result")


class ForwardingModel:
    """What a network's tables do with every packet that its hosts can send."""

    def __init__(self, switches: Iterable[Chassis], hosts: Iterable[HostPort]) -> None:
        space = self._space = packet_space()
        self._partition = Partition(space, all_packets(space))
        self._sendable = space.meet(self._partition.universe, space.cube((0, LOCAL)))
        self._behaviours = Behaviours()
        self._steps = Steps(self._partition)
        self._loops = Loops(space, self._steps, lambda _: space.everything)
        self._journeys = Journeys(self._steps)
        self._chassis = {chassis.name: chassis for chassis in switches}
        self._hosts = {host.address.name: host for host in hosts}
        self._sources = {
            name: Source(name, host.end, usual_header(host.address.mac, host.address.ip))
            for name, host in self._hosts.items()
        }
        self._answers: list[Answers[Any, Any]] = []
        self._rounds: Answers[Way, Outcome | None] = Answers(self._around)
        self._round_states: dict[Way, list[Round]] = {}
        self._all_sent: Answers[_Sent, list[Outcome]] | None = None
        self._holes: dict[_Sent, list[Outcome]] = {}
        for name, chassis in self._chassis.items():
            self._steps.sites[name] = Site(chassis, SwitchState(powered=False))

    # What there is.

    @property
    def hosts(self) -> Mapping[str, HostPort]:
        """The hosts, by name."""
        return self._hosts

    def rules(self, switch: str, table: int) -> int:
        """Return how many rules a table has."""
        found = self._steps.tables.get((switch, table))
        return len(found.entries) if found is not None else 0

    def has(self, switch: str, table: int, priority: int, match: Match) -> bool:
        """Tell whether a table has an entry of a priority and match."""
        return (priority, match) in self._table(switch, table).entries

    def overlapping(self, switch: str, table: int, priority: int, match: Match) -> list[FlowEntry]:
        """Return the entry of a priority and match, and after it those of its priority that share packets."""
        rules = self._table(switch, table)
        entry = rules.entries.get((priority, match))
        if entry is None:
            return []
        others = (other for other in rules.sharing(match) if other is not entry)
        return [entry, *(other for other in others if other.priority == priority)]

    def sharing(self, switch: str, table: int, match: Match) -> list[FlowEntry]:
        """Return the entries of a table that share packets with a match."""
        return self._table(switch, table).sharing(match)

    def hit(self, switch: str, table: int, entry: FlowEntry) -> bool:
        """Tell whether the entries before one leave it packets, whatever comes to the table."""
        return self._table(switch, table).is_hit(entry)

    def state(self, switch: str) -> SwitchState:
        """Return the ports and groups of a switch as they were last told."""
        return self._steps.sites[self._known(switch)].state

    # What changes.

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Make several changes; nothing is worked out before somebody asks."""
        yield

    def put(self, switch: str, table: int, entry: FlowEntry) -> None:
        """Add an entry to a table, in place of the one of its priority and match."""
        self._table(switch, table).put(entry)
        self._absorb()

    def remove(self, switch: str, table: int, priority: int, match: Match) -> None:
        """Take the entry of a priority and match out of a table."""
        rules = self._table(switch, table)
        if not rules.remove(priority, match):
            raise PenstockError(f"{rules} has no entry priority={priority} {match} to remove.")
        self._absorb()

    def replace_table(self, switch: str, table: int, entries: Iterable[FlowEntry]) -> None:
        """Give a table the entries it has from now on; only what differs costs anything but a comparison."""
        wanted = {(entry.priority, entry.match): entry for entry in entries}
        there = self._table(switch, table).entries
        for key in [key for key in there if key not in wanted]:
            self.remove(switch, table, *key)
        for key, entry in wanted.items():
            if there.get(key) != entry:
                self.put(switch, table, entry)

    def set_state(self, switch: str, state: SwitchState) -> None:
        """Take over a switch's ports, groups, sessions and power; its tables are told apart from it."""
        steps = self._steps
        self._known(switch)
        old = steps.sites[switch].state
        new = SwitchState(
            powered=state.powered, ports=state.ports, groups=state.groups, sessions=state.sessions
        )
        steps.sites[switch] = Site(self._chassis[switch], new)
        ports = {port for port in {*old.ports, *new.ports} if old.ports.get(port) != new.ports.get(port)}
        groups = old.groups != new.groups or (new.groups and old.sessions != new.sessions)
        if ports or groups:
            steps.site_changed(switch)
            self._redo(switch, ports)
        for port in {*old.ports, *new.ports} if old.powered != new.powered else ports:
            self._redo_end(steps.wires.get(Endpoint(switch, port)))

    def set_port(self, switch: str, port: int, status: PortStatus) -> None:
        """Change how one port of a switch stands."""
        self._known(switch)
        state = self._steps.sites[switch].state
        ports = state.ports.set(port, status)
        self.set_state(
            switch,
            SwitchState(powered=state.powered, ports=ports, groups=state.groups, sessions=state.sessions),
        )

    def rewire(self, wires: Mapping[Endpoint, Endpoint]) -> None:
        """Take over where every port of a switch or host leads now; one that is left out leads nowhere."""
        changed = ends_of(self._steps.wires, wires)
        self._steps.wires = dict(wires)
        for end in changed:
            self._redo_end(end)

    def _known(self, switch: str) -> str:
        if switch not in self._chassis:
            raise PenstockError(f"unknown switch {switch!r}: the switches are {', '.join(self._chassis)}.")
        return switch

    def _table(self, switch: str, number: int) -> TableElements:
        place = switch, number
        table = self._steps.tables.get(place)
        if table is None:
            self._known(switch)
            table = TableElements(self._partition, self._behaviours, place, self._steps.owners)
            self._steps.tables[place] = table
        return table

    def _redo_end(self, end: Endpoint | None) -> None:
        """Look again at what is sent out of a port."""
        if end is None:
            return
        if end.node in self._chassis:
            self._redo(end.node, {int(end.port)})
        elif end.node in self._hosts:
            self._host_changed(end.node)

    def _host_changed(self, host: str) -> None:
        for answers in self._answers:
            answers.all_stale(lambda key: key.source == host)
        self._rounds.all_stale(lambda _: True)

    def _redo(self, switch: str, ports: set[int]) -> None:
        """Look again at what a switch does by actions that use some of its ports, or its groups."""

        def concerns(actions: Iterable[Action]) -> bool:
            return any(
                action.port in ports or action.port in _ALL_PORTS
                if isinstance(action, Output | Enqueue)
                else isinstance(action, Group)
                for action in actions
            )

        elements = [
            element
            for place, table in self._steps.tables.items()
            if place[0] == switch
            for element in table.elements()
        ]
        concerned: list[PacketClass] = []
        for packets in self._partition.classes.values():
            met = (packets.behaviours.get(element) for element in elements)
            if any(isinstance(one, Behaviour) and concerns(one.actions) for one in met):
                concerned.append(packets)
        for packets in self._steps.switch_changed(switch, concerned):
            self._switch_changed(switch, packets)

    def _switch_changed(self, switch: str, packets: PacketClass) -> None:
        """Have what rests on what a switch does with a class worked out again."""
        for answers in (*self._answers, self._rounds):
            answers.switch_changed(switch, packets)
        self._loops.node_changed(switch, [packets])

    def _absorb(self) -> None:
        """Take in what has happened to classes."""
        journal = self._partition.journal
        if not journal:
            return
        concerned = self._steps.note(journal)
        self._loops.note(journal)
        for answers in (*self._answers, self._rounds):
            answers.note(journal, self._steps.nodes_of)
        for packets, switch in concerned:
            self._switch_changed(switch, packets)
        if self._all_sent is not None:
            self._follow_classes(self._all_sent, journal)
        journal.clear()
        self._space.tidy()

    def _follow_classes(self, sent: Answers[_Sent, list[Outcome]], journal: Iterable[Event]) -> None:
        for event in journal:
            match event:
                case Split(new, _):
                    sent.ask(_Sent(host, new) for host in self._hosts)
                case Joined(left, joined, whole):
                    if whole:
                        self._drop(sent, [_Sent(host, left) for host in self._hosts])
                    # What joins a class that no host could send may be what hosts send.
                    sent.all_stale_of(_Sent(host, joined) for host in self._hosts)
                case _:
                    pass

    def _drop(self, sent: Answers[_Sent, list[Outcome]], keys: list[_Sent]) -> None:
        sent.drop(keys)
        for key in keys:
            self._holes.pop(key, None)

    # Questions.

    def _stable(self, question: Callable[[], Result]) -> Result:
        """Ask until no classes are split on the way."""
        while True:
            try:
                return question()
            except Refined:
                self._absorb()

    def new_answers(self, *, told: bool = True) -> Answers[Question, list[Outcome]]:
        """Return answers to questions to come, kept up from now on, with or without examples."""
        answers: Answers[Question, list[Outcome]] = Answers(
            lambda question, grounds: self._outcomes(question.source, question.packets, grounds, told)
        )
        self._answers.append(answers)
        return answers

    def outcomes(self, host: str, packets: Match | int) -> list[Outcome]:
        """Return how packets of a host end, of a class or the one with a header, each with an example."""
        return self._outcomes(host, packets, {})

    def _outcomes(
        self, host: str, packets: Match | int, grounds: Grounds, told: bool = True
    ) -> list[Outcome]:
        source = self._source(host)
        space = self._space
        if isinstance(packets, int):
            header = packets & ~LOCAL
            asked = space.packet(header)
            if not space.has(self._sendable, header):
                return []
        else:
            asked = space.meet(space.match(packets), self._sendable)

        if isinstance(self._journeys.entry(source), str) and asked != space.nothing:
            return self._journeys.follow(source, example(space, asked, source.usual), None, asked, grounds)

        def work_out() -> list[Outcome]:
            found: list[Outcome] = []
            grounds.clear()
            for one in self._partition.touching(asked):
                found += self._sent(source, one, asked, grounds, told)
            return self._merged(found) if told else found

        return self._stable(work_out)

    def _sent(
        self, source: Source, packets: PacketClass, among: PacketSet, grounds: Grounds, told: bool = True
    ) -> list[Outcome]:
        """Return how packets of a class end that are in a set, told by one of them if that is wanted."""
        grounds[packets, ""] = None
        members = self._space.meet(packets.packets, among)
        if members == self._space.nothing or not self._partition.is_there(packets):
            return []
        if not told:
            return self._journeys.fates(source, packets, members, grounds)
        header = example(self._space, members, source.usual)
        return self._journeys.follow(source, header, packets, members, grounds)

    def _source(self, host: str) -> Source:
        source = self._sources.get(host)
        if source is None:
            raise PenstockError(f"unknown host {host!r}: the hosts are {', '.join(self._hosts)}.")
        return source

    def trace(self, host: str, header: int) -> list[Outcome]:
        """Return how one packet of a host and its copies end."""
        if kind_of(header) is None:
            raise PenstockError(
                f"The header {header:#x} is of no packet that is followed: see penstock._forwarding.kinds."
            )
        return self.outcomes(host, header)

    # Loops.

    def loops(self) -> list[Outcome]:
        """Return the loops that packets of hosts get into, one for each way round."""
        while True:
            self._stable(self._loops.settle)
            ways = self._loops.take_touched()
            if ways:
                self._round_states = self._loops.rounds()
                self._rounds.drop(ways)
                self._rounds.ask(way for way in ways if way in self._round_states)
            self._rounds.refresh()
            if not self._loops.has_changed:
                break
        found = (self._rounds[way] for way in self._loops)
        return [outcome for outcome in found if outcome is not None]

    def _around(self, way: Way, grounds: Grounds) -> Outcome | None:
        """Return a packet of a host that goes a way round, if there is one."""

        def work_out() -> Outcome | None:
            grounds.clear()
            for one in self._round_states[way]:
                found = self._into(one, grounds)
                if found is not None:
                    return found
            return None

        return self._stable(work_out)

    def _into(self, one: Round, grounds: Grounds) -> Outcome | None:
        """Return a packet of a host that gets into a way round, if there is one."""
        space = self._space
        if not all(self._partition.is_there(packets) for _, packets in one):
            return None
        for packets in self._sources_of(state[1] for state in one):
            members = space.meet(packets.packets, self._sendable)
            grounds[packets, ""] = None
            if members == space.nothing:
                continue
            for source in self._sources.values():
                way = self._way_into(source, packets, {*one}, grounds)
                if way is None:
                    continue
                header = example(space, members, source.usual)
                entry = one.index(way[-1])
                full = [*way[:-1], *one[entry:], *one[:entry]]
                found = self._journeys.around(source, header, members, full, len(way) - 1)
                if found is not None:
                    return found
        return None

    def _way_into(
        self, source: Source, packets: PacketClass, wanted: set[State], grounds: Grounds
    ) -> list[State] | None:
        """Return the shortest way of states from a host to one of some states."""
        entry = self._journeys.entry(source)
        if isinstance(entry, str):
            return None
        start: State = entry, packets
        came: dict[State, State | None] = {start: None}
        left = [start]
        for state in left:
            if state in wanted:
                way = [state]
                while (before := came[way[-1]]) is not None:
                    way.append(before)
                return way[::-1]
            place, of = state
            grounds[of, place[0]] = None
            for step in self._steps.onward(place, of):
                following = step[:2]
                if following not in came:
                    came[following] = state
                    left.append(following)
        return None

    def _sources_of(self, classes: Iterable[PacketClass]) -> list[PacketClass]:
        """Return classes, and those that writes turn into them."""
        found = list(dict.fromkeys(classes))
        before = self._partition.before()
        for one in found:
            found += [other for other in before.get(one.number, ()) if other not in found]
        return found

    # Losses.

    def black_holes(self) -> list[Outcome]:
        """Return the classes of packets that a rule sends on in vain.

        Of a packet that was copied on its way, a copy that is lost counts only if no other arrives anywhere.
        """
        sent = self._everything_sent()
        for key in sent.refresh():
            if _lost(sent[key]):
                self._holes[key] = _lost(self._work_out_sent(key, {}))
            else:
                self._holes.pop(key, None)
        return self._merged(one for lost in self._holes.values() for one in lost)

    def _merged(self, outcomes: Iterable[Outcome]) -> list[Outcome]:
        """Return outcomes of several classes, those that differ in their packets alone as one."""
        found: dict[tuple[Any, ...], Outcome] = {}
        for one in outcomes:
            key = (one.source, one.fate, one.node, one.why, one.path, *one[8:])
            same = found.get(key)
            if same is not None:
                one = same._replace(members=self._space.join(same.members, one.members))
            found[key] = one
        return list(found.values())

    def _everything_sent(self) -> Answers[_Sent, list[Outcome]]:
        sent = self._all_sent
        if sent is None:
            sent = self._all_sent = Answers(self._fates_of_sent)
            self._answers.append(sent)
            sent.ask(_Sent(host, one) for host in self._hosts for one in self._partition.classes.values())
        return sent

    def _work_out_sent(self, key: _Sent, grounds: Grounds) -> list[Outcome]:
        def work_out() -> list[Outcome]:
            grounds.clear()
            return self._sent(self._sources[key.source], key.packets, self._sendable, grounds)

        return self._stable(work_out)

    def _fates_of_sent(self, key: _Sent, grounds: Grounds) -> list[Outcome]:
        source = self._sources[key.source]

        def work_out() -> list[Outcome]:
            grounds.clear()
            grounds[key.packets, ""] = None
            members = self._space.meet(key.packets.packets, self._sendable)
            if members == self._space.nothing or not self._partition.is_there(key.packets):
                return []
            if isinstance(self._journeys.entry(source), str):
                return []  # What does not come in at all was sent on by no rule.
            return self._journeys.fates(source, key.packets, members, grounds)

        return self._stable(work_out)

    # What is not known.

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the answers do not take into account, as sentences."""
        reasons: set[str] = set()
        for packets in self._sources_of(self._perhaps_unfollowed()):
            for host in self._sources:
                found = self._work_out_sent(_Sent(host, packets), {})
                reasons.update(f"at {one.node}: {one.why}" for one in found if one.fate == "unfollowed")
        remarks = [
            f"Some packets are not followed beyond where they are {reason}." for reason in sorted(reasons)
        ]
        if self._loops.partial:
            remarks.append("There are more loops through some switches than are told.")
        return tuple(remarks)

    def _perhaps_unfollowed(self) -> list[PacketClass]:
        """Return the classes that somewhere meet actions after which they may not be followed."""
        return [
            one
            for one in self._partition.classes.values()
            if any(_may_lose_sight(met) for met in one.behaviours.values())
        ]


def _lost(outcomes: list[Outcome]) -> list[Outcome]:
    """Return those of the outcomes of one packet that are black holes."""
    vanishes = all(one.fate in ("lost", "dropped", "missed") for one in outcomes)
    return [one for one in outcomes if one.fate == "lost" and (one.alone or vanishes)]


def _may_lose_sight(met: object) -> bool:
    return isinstance(met, Behaviour) and any(map(_is_unclear, met.actions))


def _is_unclear(action: Action) -> bool:
    """Tell whether it may not be known what becomes of packets after an action."""
    match action:
        case Group() | PushMpls() | PopMpls() | PushVlan() | SetTransportSrc() | SetTransportDst():
            return True
        case UnknownAction():
            return True
        case Output(port):
            return port in (PortNo.TABLE, PortNo.NORMAL)
        case SetField(name):
            return name in UNCLEAR
        case _:
            return False


def ends_of(wires: Mapping[Endpoint, Endpoint], others: Mapping[Endpoint, Endpoint]) -> list[Endpoint]:
    """Return the ends whose wires two drawings of a network do not agree on."""
    return [end for end in {**wires, **others} if wires.get(end) != others.get(end)]
