"""Which packets a proof needs: one of each class that anything tells apart.

MOCS's authors worked their classes out by hand (§3.2).  Here they come out of the search itself, which is
repeated until there are no more.  Two packets of a host are in one class unless

- the program goes different ways for them, in a state that it can be in, at a port where it is asked about
  such packets (its handler is run concolically there, see `penstock.symbolic`);
- the program keeps or sends something of theirs that is not the same (`flows`);
- a rule that was ever sent, or was there from the start, matches one and not the other;
- a property tells them apart.

So a field that nobody looks at makes no difference.  Classes are kept as conditions, and refined; each has a
representative, which stays the same while the class shrinks around it.

What cannot be followed to the end is told (`remarks`): values that the program hides from concolic execution,
packets that are rewritten on their way, more classes than can be dealt with.  A proof is bounded then.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from penstock.controllers.reactions import Answering, Reaction
from penstock.openflow.match import Match
from penstock.openflow.messages import PacketIn
from penstock.symbolic.discovery import Discovery
from penstock.symbolic.forwarding.matching import Header
from penstock.symbolic.packets.coherence import wishes
from penstock.symbolic.packets.domain import Sender
from penstock.symbolic.packets.frames import FrameSpace
from penstock.symbolic.packets.inputs import PacketQuestion
from penstock.symbolic.paths import explore
from penstock.symbolic.solving.solver import Solver
from penstock.symbolic.space import Inputs, Space, Variable
from penstock.symbolic.terms import FALSE, TRUE, Term, const, either, eq, evaluate, negation
from penstock.verify.abstract_controller import Request, Subject
from penstock.verify.assumed import Assumed
from penstock.verify.experience import LEFT_OPEN, Experience
from penstock.verify.flows import Asking, Flows, Handling
from penstock.world.frame import Frame
from penstock.world.hosts import Host

MOST_CLASSES: Final = 64
"""How many classes of packets of one host are dealt with."""

MOST_VALUES: Final = 3
"""How many values of a header field are told apart because they leave traces, if there is no end of them."""

_CONFINED: Final = ("eth_dst", "ipv4_dst", "arp_tpa")
"""Fields that hold no addresses but those of the scenario, groups, and one that nobody has."""

_BESIDE: Final = frozenset({"in_port", "metadata", "tunnel_id"})
"""What rules ask for that is no part of a packet but of how it came there."""

Partition = tuple[tuple[Term, ...], ...]
"""Conditions of which one and only one holds of each packet."""


class Context(NamedTuple):
    """How a switch asks about packets: all of a packet_in but the packet."""

    switch: str
    template: PacketIn


@dataclass(frozen=True, slots=True)
class PacketClass:
    """Packets that nothing tells apart, and one of them."""

    condition: tuple[Term, ...]
    inputs: Inputs
    frame: Frame


class HostPackets:
    """The classes of what one host may send."""

    def __init__(self, host: Host, discovery: Discovery, controller: Handling) -> None:
        self.host = host
        frames = FrameSpace(discovery.addresses, sender=Sender(host.mac, host.ip))
        self.frames = frames
        confined = [
            either(*(eq(frames.fields[name], const(value)) for value in frames.space.by_name[name].preferred))
            for name in _CONFINED
        ]
        self.solver = Solver(Space(frames.space.variables, (*frames.space.constraints, *confined)))
        self._flows = Flows(frames, self.solver, controller)
        self._always = self.solver.space.constraints
        self._wishes = wishes(frames.fields, discovery_hosts(discovery), discovery.addresses)
        self._refined: set[frozenset[tuple[Term, ...]]] = set()
        self._told_apart: Counter[str] = Counter()
        self.kept: dict[str, None] = {}
        """The header fields of which the program keeps or sends more values than were told apart."""
        self.classes: list[PacketClass] = []
        whole = self._example(())
        if whole is not None:
            self.classes.append(whole)

    def refine(self, partition: Partition) -> None:
        """Split the classes that a partition goes through."""
        key = frozenset(partition)
        if len(partition) < 2 or key in self._refined:
            return
        self._refined.add(key)
        found: list[PacketClass] = []
        for known in self.classes:
            assumed = Assumed((*self._always, *known.condition))
            for part in partition:
                left = {assumed.left_of(term): None for term in part}
                condition = (*known.condition, *(term for term in left if term != TRUE))
                if all(evaluate(term, known.inputs) for term in part):
                    found.append(replace(known, condition=condition))
                elif FALSE not in left and (made := self._example(condition)) is not None:
                    found.append(made)
        self.classes = found[: MOST_CLASSES + 1]

    def refine_by_traces(self, asking: Asking, subjects: Collection[Subject]) -> None:
        """Split the classes whose packets leave different things in a program, or in what it sends."""
        alike = 0
        while alike < len(self.classes) <= MOST_CLASSES:
            known = self.classes[alike]
            found = self._flows.telling(known.condition, known.inputs, asking, subjects)
            if found is None:
                alike += 1
                for partition in self._flows.looked_into(known.condition, known.inputs, asking, subjects):
                    self.refine(partition)
            elif not self._may_split(found):
                alike += 1
            else:
                telling = eq(found.term, const(known.inputs[found.name]))
                self.refine(((telling,), (negation(telling),)))
        if self._flows.unclear:
            self.kept["the contents"] = None

    def _may_split(self, field: Variable) -> bool:
        """Tell whether one more value of a field is to be told apart; note it if not."""
        told = self._told_apart[field.name]
        if field.name not in _CONFINED and told >= MOST_VALUES:
            self.kept[field.name] = None
            return False
        self._told_apart[field.name] += 1
        return True

    def _example(self, condition: tuple[Term, ...]) -> PacketClass | None:
        inputs = self.solver.solve(condition)
        if inputs is None:
            return None
        assumed = Assumed((*self._always, *condition))
        wanted = [wish for wish in map(assumed.left_of, self._wishes) if wish not in (TRUE, FALSE)]
        inputs = self.solver.likely((*condition, *wanted)) or inputs
        return PacketClass(condition, inputs, Frame(self.frames.data(inputs)))


def discovery_hosts(discovery: Discovery) -> list[Host]:
    """Return the hosts of the network that a discovery is about."""
    return [made for made in discovery.network.components if isinstance(made, Host)]


class PacketClasses:
    """The classes of all hosts, as far as they are known."""

    def __init__(self, discovery: Discovery, controller: Answering) -> None:
        assert isinstance(controller, Handling)
        self._controller = controller
        self._options = discovery.options
        self.hosts = [HostPackets(host, discovery, controller) for host in discovery_hosts(discovery)]
        self.remarks: dict[str, None] = {}
        """Why there may be more classes, in sentences."""
        self.reservations: dict[str, None] = {}
        """The same where it is worth while to go on with those that there are."""
        self._asked: dict[Hashable, Partition] = {}

    @property
    def traffic(self) -> dict[str, tuple[Frame, ...]]:
        """One packet of each class, by the host that may send it."""
        return {each.host.name: tuple(known.frame for known in each.classes) for each in self.hosts}

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
        for match in sorted(experience.matches):
            self.tell_apart_by(match)
        sent = {each.host.name: {known.frame.data for known in each.classes} for each in self.hosts}
        for each, context in self._contexts(experience, sent):
            for program in programs:
                if until is not None and time.monotonic() >= until:
                    self.remarks["Time was up before all packets were told apart."] = None
                    return False
                each.refine(self._ways(each, context, program))
                each.refine_by_traces(Asking(program, *context), experience.subjects)
        for each in self.hosts:
            for field in each.kept:
                self.reservations[
                    f"The program keeps or sends {field} of packets from {each.host.name}, of which only a "
                    "few values were tried."
                ] = None
            if len(each.classes) > MOST_CLASSES:
                self.remarks[
                    f"{each.host.name} may send more than {MOST_CLASSES} packets that something tells apart."
                ] = None
            if each.solver.unknown:
                self.remarks["The solver gave up on some packets, so classes may be missing."] = None
        return self.count > before and not self.remarks

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
        question = PacketQuestion(template, packets.frames)

        def posed(inputs: Inputs) -> Reaction:
            return self._controller.pose(program, switch, question, inputs)

        exploration = explore(
            posed,
            packets.solver.space,
            paths=self._options.paths,
            seconds=self._options.seconds,
            solver=packets.solver,
        )
        for loss in exploration.losses:
            self.remarks[
                f"What depends on {loss.place.expression!r} in line {loss.place.line} was not followed, so "
                "packets that only it tells apart may be missing."
            ] = None
        self.remarks.update(dict.fromkeys(exploration.remarks))
        return tuple(path.condition for path in exploration.paths)
