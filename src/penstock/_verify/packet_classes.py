"""Which packets a proof needs: one of each class that anything tells apart.

MOCS's authors worked their classes out by hand (§3.2).  Here they come out of the search itself, which is
repeated until there are no more.  Two packets of a host are in one class unless

- the program goes different ways for them, in a state that it can be in, at a port where it is asked about
  such packets (its handler is run concolically there, see `penstock._symbolic`);
- the program keeps something of theirs, and goes different ways for that when it is given something else
  later (`penstock._symbolic.remembering`);
- a rule that was ever sent, or was there from the start, matches one and not the other;
- a property tells them apart.

So a field that nobody looks at makes no difference.  Classes are kept as conditions, and refined; each has a
representative, which stays the same while the class shrinks around it.

What cannot be followed to the end is told (`remarks`): values that the program hides from concolic execution,
packets that are rewritten on their way, more classes than can be dealt with.  A proof is bounded then.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from penstock._concolic.equivalence import EquivalenceClass, Partition, Refinement
from penstock._concolic.packets.coherence import soft_constraints
from penstock._concolic.packets.domain import Sender
from penstock._concolic.packets.frames import FrameSpace
from penstock._concolic.packets.inputs import PacketQuestion
from penstock._concolic.paths import explore
from penstock._concolic.run import Loss, Run
from penstock._concolic.solving.solver import Solver
from penstock._concolic.space import Inputs, Space
from penstock._concolic.terms import Term, both, const, either, eq, negation
from penstock._controllers.probing import Given, Probeable, Reaction
from penstock._symbolic.discovery import Discovery, ports_in
from penstock._symbolic.faithfulness import departures
from penstock._symbolic.forwarding.matching import Header
from penstock._symbolic.remembering import Origin, Remembering, Sequel, cut_ties
from penstock._symbolic.trials import Trials
from penstock._verdict.verdict import Bound, Why
from penstock._verify.abstract_controller import Request
from penstock._verify.observations import LEFT_OPEN, Experience
from penstock._world.frame import Frame
from penstock._world.hosts import Host
from penstock.openflow.match import Match
from penstock.openflow.messages import PacketIn

_AT_ONCE: Final = 40
"""After how many questions a search goes on with the classes found so far, if there are more than before."""

MOST_CLASSES: Final = 64
"""How many classes of packets of one host are dealt with."""

_CONFINED: Final = ("eth_dst", "ipv4_dst", "arp_tpa")
"""Fields that hold no addresses but those of the scenario, groups, one of nobody, and what is asked for."""

MOST_ADDRESSES: Final = 16
"""How many other addresses are written to because something asks for them."""

_BESIDE: Final = frozenset({"in_port", "metadata", "tunnel_id"})
"""What rules ask for that is no part of a packet but of how it came there."""


class Context(NamedTuple):
    """How a switch asks about packets: all of a packet_in but the packet."""

    switch: str
    template: PacketIn


class HostPackets:
    """The classes of what one host may send."""

    def __init__(self, host: Host, discovery: Discovery) -> None:
        self.host = host
        frames = FrameSpace(discovery.addresses, sender=Sender(host.mac, host.ip))
        self.frames = frames
        self.anywhere = Solver(frames.space)
        """Finds packets to any address."""
        self._allowed = {name: dict.fromkeys(frames.space.by_name[name].preferred) for name in _CONFINED}
        self._wishes = soft_constraints(frames.fields, discovery_hosts(discovery), discovery.addresses)
        self._refined: dict[frozenset[tuple[Term, ...]], Partition] = {}
        self._widened = 0
        self._begin()

    @property
    def classes(self) -> list[EquivalenceClass]:
        """The classes as far as they are refined."""
        return self._refinement.classes

    @property
    def is_too_wide(self) -> bool:
        """Whether there were more addresses to write to than are dealt with."""
        return self._widened > MOST_ADDRESSES

    def _begin(self) -> None:
        """Begin with one class of all packets to the addresses that are allowed."""
        space = self.frames.space
        confined = [
            either(*(eq(self.frames.fields[name], const(value)) for value in values))
            for name, values in self._allowed.items()
        ]
        self.solver = Solver(Space(space.variables, (*space.constraints, *confined)))
        self._refinement = Refinement(self.frames, self.solver, self._wishes, MOST_CLASSES)

    def _widen(self, partition: Partition) -> bool:
        """Allow addresses that something asks for; tell whether there were such."""
        before = self._widened
        for part in partition:
            if self._widened > MOST_ADDRESSES or self.solver.solve(part) is not None:
                continue
            inputs = self.anywhere.solve(part) or {}
            for name in _CONFINED:
                value = inputs.get(name)
                if value is not None and value not in self._allowed[name]:
                    self._allowed[name][value] = None
                    self._widened += 1
        return self._widened > before

    def refine(self, partition: Partition) -> None:
        """Split the classes that a partition goes through."""
        key = frozenset(partition)
        if len(partition) < 2 or key in self._refined:
            return
        self._refined[key] = partition
        if self._widen(partition):
            self._begin()
            for earlier in self._refined.values():
                self._refinement.split(earlier)
        else:
            self._refinement.split(partition)


def discovery_hosts(discovery: Discovery) -> list[Host]:
    """Return the hosts of the network that a discovery is about."""
    return [made for made in discovery.network.components if isinstance(made, Host)]


class PacketClasses:
    """The classes of all hosts, as far as they are known."""

    def __init__(self, discovery: Discovery, controller: Probeable) -> None:
        self._controller = controller
        self._options = discovery.options
        self._ports = ports_in(discovery.network)
        self.hosts = [HostPackets(host, discovery) for host in discovery_hosts(discovery)]
        self._remembering = Remembering(controller, self._origins_of, most_tied=discovery.options.ties)
        self._trials = Trials(controller, self._origins_of, self._remembering)
        self._were_tried = False
        self.remarks: dict[str, None] = {}
        """Why there may be more classes, in sentences."""
        self.reservations: dict[str, None] = {}
        """The same where it is worth while to go on with those that there are."""
        self._asked: dict[Hashable, Partition] = {}

    @property
    def traffic(self) -> dict[str, tuple[Frame, ...]]:
        """One packet of each class, by the host that may send it."""
        return {each.host.name: tuple(Frame(known.data) for known in each.classes) for each in self.hosts}

    @property
    def count(self) -> int:
        """How many classes there are."""
        return sum(len(each.classes) for each in self.hosts)

    def tell_apart(self, conditions: Iterable[Term]) -> None:
        """Split classes by conditions of a property's."""
        for condition in conditions:
            for each in self.hosts:
                each.refine(((condition,), (negation(condition),)))

    def learn(
        self, experience: Experience, programs: Sequence[Hashable], *, until: float | None = None
    ) -> bool:
        """Split classes by what a search has met; tell whether there are more of them now.

        At a moment `until` on the monotonic clock it stops, and says so.
        """
        before = self.count
        programs = list(dict.fromkeys(map(self._controller.bare, programs)))
        for match in sorted(experience.matches):
            self.tell_apart_by(match)
        sent = {each.host.name: {known.data for known in each.classes} for each in self.hosts}
        questions = (
            (each, context, made) for each, context in self._contexts(experience, sent) for made in programs
        )
        for each, context, program in questions:
            if until is not None and time.monotonic() >= until:
                text = "Time was up before all packets were told apart: --seconds gives more."
                self.remarks[Bound(text, Why.SECONDS)] = None
                return False
            asked = len(self._asked)
            each.refine(self._ways(each, context, program))
            if len(self._asked) > asked and not len(self._asked) % _AT_ONCE:
                # Classes that are missing split others, and lead to other programs than these.
                self._refine_by_what_is_kept(until)
                if self.count > before:
                    break
        else:
            self._refine_by_what_is_kept(until)
            if self.count == before and not self._were_tried:
                self._were_tried = True
                self._refine_by_trials(until)
        self._remark_on_hosts()
        return self.count > before and not self.remarks

    def _remark_on_hosts(self) -> None:
        """Note what may be missing since there are too many packets, or packets that were not found."""
        for each in self.hosts:
            if len(each.classes) > MOST_CLASSES:
                self.remarks[
                    f"{each.host.name} may send more than {MOST_CLASSES} packets that something tells apart."
                ] = None
            if each.is_too_wide:
                self.remarks[
                    f"{each.host.name} may write to more than {MOST_ADDRESSES} addresses that nobody has and "
                    "that something tells apart."
                ] = None
            if each.solver.unknown or each.anywhere.unknown:
                text = "The solver gave up on some packets, so classes may be missing."
                self.remarks[Bound(text, Why.UNFOUND)] = None

    def _refine_by_trials(self, until: float | None) -> None:
        """Split classes by what the program does without its being seen why."""
        for sequel in self._trials.escapes(until=until):
            self._split_by(sequel)
        self.reservations.update((Bound(text, Why.UNFOUND), None) for text in self._trials.remarks)

    def _split_by(self, sequel: Sequel) -> None:
        packets = next(each for each in self.hosts if each.host.name == sequel.sender)
        wanted = both(*sequel.condition)
        packets.refine(((wanted,), (negation(wanted),)))

    def _refine_by_what_is_kept(self, until: float | None) -> None:
        """Split classes by what the program decides by what it has kept of their packets."""
        before, unfinished = self.count, True
        while unfinished and self.count == before:
            for sequel in self._remembering.sequels(until=until):
                self._split_by(sequel)
            unfinished = self._remembering.unfinished
        for loss in self._remembering.losses:
            self.remarks[_lost(loss)] = None
        self.remarks.update(self._remembering.remarks)
        if self._remembering.cuts_ties:
            self.remarks[cut_ties(self._options.ties)] = None

    def _origins_of(self, given: Given) -> list[Origin]:
        """Return whose packet it was that a program was asked about."""
        message = given.message
        if not isinstance(message, PacketIn):
            return []
        template = replace(message, data=b"", total_len=0)
        return [
            Origin(each.host.name, PacketQuestion(template, each.frames), known.inputs)
            for each in self.hosts
            for known in each.classes
            if known.data == message.data
        ]

    def tell_apart_by(self, match: Match) -> None:
        """Split classes by what a rule asks of packets, wherever they come in."""
        asked = Match(tuple(term for term in match.terms if term.field not in _BESIDE))
        for each in self.hosts:
            sure, possible = Header(each.frames.fields).accepted_by(asked)
            if sure != possible and each.solver.solve((possible, negation(sure))) is not None:
                self.reservations[f"A rule asks for {asked}, and no packets were tried for all of it."] = None
            for condition in dict.fromkeys((sure, possible)):
                each.refine(((condition,), (negation(condition),)))

    def _contexts(
        self, experience: Experience, sent: Mapping[str, set[bytes]]
    ) -> Iterator[tuple[HostPackets, Context]]:
        """Yield how the program was asked about packets of each host."""
        found: dict[tuple[str, Context], HostPackets] = {}
        for subject in experience.subjects:
            if not isinstance(subject, Request):
                continue
            message = subject.message
            context = Context(subject.switch, replace(message, data=b"", total_len=0, tag="", xid=0))
            senders = [each for each in self.hosts if message.data in sent[each.host.name]]
            if not senders:
                self.remarks[LEFT_OPEN["rewritten"]] = None
            for each in senders or self.hosts:
                found[each.host.name, context] = each
        for (_, context), each in sorted(found.items(), key=lambda item: (item[0][0], repr(item[0][1]))):
            yield each, context

    def _ways(self, packets: HostPackets, context: Context, program: Any) -> Partition:
        """Return the conditions of the ways that the program may go when it is asked."""
        key = (packets.host.name, context, program)
        found = self._asked.get(key)
        if found is None:
            found = self._asked[key] = self._explored(packets, context, program)
        return found

    def _explored(self, packets: HostPackets, context: Context, program: Any) -> Partition:
        switch, template = context
        Run.ports = self._ports
        question = PacketQuestion(template, packets.frames)

        def posed(inputs: Inputs) -> Reaction:
            return self._controller.probe(program, switch, question, inputs)

        exploration = explore(
            posed,
            packets.frames.space,
            paths=self._options.paths,
            seconds=self._options.seconds,
            solver=packets.anywhere,
        )
        for loss in exploration.losses:
            self.remarks[_lost(loss)] = None
        self.remarks.update(dict.fromkeys(exploration.remarks))
        departed = departures(self._controller, program, switch, question, exploration)
        self.remarks.update((Bound(text, Why.UNFOUND), None) for text in departed)
        return tuple(path.condition for path in exploration.paths)


def _lost(loss: Loss) -> str:
    place = loss.place
    return (
        f"What depends on {place.expression!r} in line {place.line} of {Path(place.file).name} was not "
        "followed, so packets that only it tells apart may be missing."
    )
