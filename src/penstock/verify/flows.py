"""What of a packet goes into the program's memory or into its messages without deciding anything.

Concolic execution tells packets apart for which the program goes different ways.  A program can also keep a
number from a packet, or send it on, and go the same way for all: what it keeps may decide later, and what it
sends may lead elsewhere.

    self.ports.append(tcp.dst)          self.packet_out(switch, message, (Output(tcp.dst),))

So of each class a second packet is made that differs from the first in everything that the class leaves open,
and the program is given both in the same state.  If it then is in another state, or has sent something else,
the header field that makes the difference is found, and its values are told apart.

That a packet is sent on as it came is no difference, nor is what rules ask of packets: classes are split by
that anyway.  A native program may also keep a packet whole, to send it on later, if all that it was ever
given leaves the same behind whichever of the two packets it has kept.  What it asks of a packet that it has
kept, when it is given something else, tells packets apart as well (`looked_into`).

Limits: a number that is the same for the two packets by chance (their parity, say, of which the class says
nothing) is not noticed; there are two second packets for that reason, one of the same layout.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

from penstock.controllers import contents
from penstock.controllers.native import NativeController
from penstock.controllers.snapshot import Snapshot
from penstock.openflow.match import Match
from penstock.openflow.messages import BarrierRequest, FlowMod, OpenFlowMessage, PacketIn, PacketOut
from penstock.symbolic.packets.frames import FrameSpace
from penstock.symbolic.packets.inputs import PacketQuestion
from penstock.symbolic.run import Run
from penstock.symbolic.solving.solver import Solver
from penstock.symbolic.space import Inputs, Variable
from penstock.symbolic.terms import Term, const, eq, evaluate, negation
from penstock.verify.abstract_controller import Request, Subject
from penstock.verify.variables import snapshot_of
from penstock.world.component import Port, Send, Step

_LAYOUT: Final = frozenset(
    {"eth_type", "ip_proto", "vlan_vid", "icmpv6_type", "igmp_type", "igmp_v3", "lldp_own", "slow_subtype"}
)
"""The inputs that say which headers a packet has."""


_MOST_KEPT: Final = 500
"""How many states of a program that keeps a packet are looked at."""


class Asking(NamedTuple):
    """How a program is asked about a packet: in which of its states, by whom, and all but the packet."""

    program: Hashable
    switch: str
    template: PacketIn


@runtime_checkable
class Handling(Protocol):
    """A controller that can be given a message in one of its states."""

    def receive(self, state: Any, port: Port, message: Any, /) -> Step:
        """Return what it does."""
        ...


class Flows:
    """What one host's packets leave in a program, and in what it sends."""

    def __init__(self, frames: FrameSpace, solver: Solver, controller: Handling) -> None:
        self._frames = frames
        self._solver = solver
        self._controller = controller
        self._numbered = isinstance(controller, NativeController)
        """Whether barriers have the numbers that the program chose, and not by chance."""
        self._others: dict[tuple[Term, ...], tuple[Inputs, ...]] = {}
        self._steps: dict[Hashable, Step] = {}
        self.unclear = False
        """Whether there was more to what a program does with packets that it has kept."""

    def telling(
        self, condition: tuple[Term, ...], inputs: Inputs, asking: Asking, subjects: Collection[Subject]
    ) -> Variable | None:
        """Return a header field that makes packets of a class leave different things behind, if one does.

        `subjects` are what the program may be given afterwards.
        """

        def alike(one: Inputs, other: Inputs) -> bool:
            return self._alike(asking, subjects, self._frames.data(one), self._frames.data(other))

        for other in self._contrasts(condition, inputs):
            if not alike(inputs, other):
                return self._cause((*self._solver.space.constraints, *condition), inputs, other, alike)
        return None

    def looked_into(
        self, condition: tuple[Term, ...], inputs: Inputs, asking: Asking, subjects: Collection[Subject]
    ) -> tuple[tuple[tuple[Term, ...], ...], ...]:
        """Return what a program asks of a packet of a class that it has kept, when it is given others.

        Each answer is conditions of which one and only one holds of a packet.
        """
        request = Request(asking.switch, asking.template)
        kept = self._step(asking.program, request, self._frames.data(inputs)).state
        others = [self._frames.data(other) for other in self._contrasts(condition, inputs)]
        if all(self._step(asking.program, request, other).state == kept for other in others):
            return ()
        followed = PacketQuestion(asking.template, self._frames).follow_native(inputs)
        ahead = [self._controller.receive(asking.program, asking.switch, followed).state]
        known, found = set(ahead), dict[tuple[tuple[Term, ...], ...], None]()
        while ahead and len(known) <= _MOST_KEPT:
            here = ahead.pop()
            for subject in subjects:
                with Run() as run:
                    after = self._controller.receive(here, subject.switch, subject.message).state
                held = tuple(decision.holds for decision in run.decisions)
                found[held, *((*held[:place], negation(term)) for place, term in enumerate(held))] = None
                # Whoever saves the program's memory reads values without asking.
                self.unclear |= any(loss.place.file != contents.__file__ for loss in run.losses)
                if after not in known:
                    known.add(after)
                    ahead.append(after)
        self.unclear |= bool(ahead)
        return tuple(found)

    def _cause(
        self,
        conditions: tuple[Term, ...],
        inputs: Inputs,
        other: Inputs,
        alike: Callable[[Inputs, Inputs], bool],
    ) -> Variable:
        """Return an input whose value makes the difference: by itself if there is such a one."""
        different = [each for each in self._solver.space.variables if inputs[each.name] != other[each.name]]
        for variable in different:
            alone = {**inputs, variable.name: other[variable.name]}
            if all(evaluate(term, alone) for term in conditions) and not alike(inputs, alone):
                return variable
        mixed = dict(other)
        for variable in different[:-1]:
            mixed[variable.name] = inputs[variable.name]
            if not alike(mixed, other):
                return variable
        return different[-1]

    def _alike(self, asking: Asking, subjects: Collection[Subject], one: bytes, other: bytes) -> bool:
        """Tell whether two packets leave the same behind, now and in what comes of it."""
        first = Request(asking.switch, asking.template)
        known: set[Hashable] = set()
        ahead: list[tuple[Hashable, Hashable, Collection[Subject]]]
        ahead = [(asking.program, asking.program, (first,))]
        while ahead:
            here, there, given = ahead.pop()
            for subject in given:
                is_packet = subject is first or subject.message == _about(subject, one)
                now = self._step(here, subject, one if is_packet else None)
                then = self._step(there, subject, other if is_packet else None)
                if not self._says_the_same(now, one, then, other):
                    return False
                if now.state == then.state:
                    continue
                kept = without_packet(now.state, one)
                if kept is None or kept != without_packet(then.state, other) or len(known) >= _MOST_KEPT:
                    return False
                if kept not in known:
                    known.add(kept)
                    ahead.append((now.state, then.state, subjects))
        return True

    def _step(self, program: Hashable, subject: Subject, packet: bytes | None) -> Step:
        """Return what a program does with something, of which it may be another packet."""
        message = subject.message if packet is None else _about(subject, packet)
        key = (program, subject.switch, message)
        if key not in self._steps:
            self._steps[key] = self._controller.receive(program, subject.switch, message)
        return self._steps[key]

    def _says_the_same(self, now: Step, one: bytes, then: Step, other: bytes) -> bool:
        """Tell whether two steps let others know the same, or each of them its own packet."""
        if [event.kind for event in now.events] != [event.kind for event in then.events]:
            return False
        if len(now.sends) != len(then.sends):
            return False
        return all(
            mine.port == yours.port
            and _told(mine.message, kept, numbered=self._numbered)
            == _told(yours.message, others, numbered=self._numbered)
            for mine, yours in zip(now.sends, then.sends, strict=True)
            for kept, others in [(one, other) if _has(mine, one) and _has(yours, other) else (b"", b"")]
        )

    def _contrasts(self, condition: tuple[Term, ...], inputs: Inputs) -> tuple[Inputs, ...]:
        """Return packets of a class that differ from one as much as they can."""
        found = self._others.get(condition)
        if found is None:
            free = [each for each in self._solver.space.variables if self._is_free(condition, inputs, each)]
            same = [each for each in free if each.name not in _LAYOUT]
            kept = tuple(
                eq(each.term, const(inputs[each.name]))
                for each in self._solver.space.variables
                if each.name in _LAYOUT
            )
            both = (
                self._contrast(condition, inputs, free),
                self._contrast((*condition, *kept), inputs, same),
            )
            found = self._others[condition] = tuple(each for each in both if each is not None)
        return found

    def _is_free(self, condition: tuple[Term, ...], inputs: Inputs, variable: Variable) -> bool:
        return self._solver.solve((*condition, _differs(variable, inputs))) is not None

    def _contrast(
        self, condition: tuple[Term, ...], inputs: Inputs, free: Iterable[Variable]
    ) -> Inputs | None:
        wanted = list(condition)
        for variable in free:
            differs = _differs(variable, inputs)
            if self._solver.solve((*wanted, differs)) is not None:
                wanted.append(differs)
        return self._solver.solve(wanted)


def _about(subject: Subject, packet: bytes) -> Any:
    """Return a message with a packet in it, if it is one that has a packet."""
    message = subject.message
    if not isinstance(message, PacketIn):
        return None
    return replace(message, data=packet, total_len=len(packet))


def without_packet(program: Any, packet: bytes) -> Hashable | None:
    """Return what a program has in memory but for a packet that it keeps whole; None if that is unclear."""
    snapshot = snapshot_of(program)
    if snapshot is None or not isinstance(program, tuple):
        return None
    places = {id(entry[0]): place for place, entry in enumerate(snapshot.entries)}
    found: list[Hashable] = [part for part in program if not isinstance(part, Snapshot)]
    for owner, _, _, pieces, gaps in snapshot.entries:
        filled = tuple(_place(gap, places) for gap in gaps)
        if isinstance(owner, PacketIn) and owner.data == packet:
            found.append(replace(owner, data=b"", total_len=0, tag="", xid=0))
        elif pieces is None or None in filled:
            return None
        else:
            found.append((tuple(piece.replace(repr(packet), "packet") for piece in pieces), filled))
    return tuple(found)


def _place(value: Any, places: Mapping[int, int]) -> Hashable | None:
    """Return where in memory something is, or what it is if it never changes; None if that is unclear."""
    if id(value) in places:
        return places[id(value)]
    if type(value) is tuple:
        within = tuple(_place(item, places) for item in value)
        return None if None in within else within
    return repr(value) if type(value) in (int, str, bool) else None


def _differs(variable: Variable, inputs: Inputs) -> Term:
    return negation(eq(variable.term, const(inputs[variable.name])))


def _has(sent: Send, packet: bytes) -> bool:
    return isinstance(sent.message, PacketOut) and sent.message.data == packet


def _told(message: Any, packet: bytes, *, numbered: bool) -> Hashable:
    """Return what a message says, whatever the packet that it sends on and the rules' conditions."""
    match message:
        case PacketOut() if message.data == packet:
            return replace(message, data=b"", xid=0)
        case FlowMod():
            return replace(message, match=Match(), xid=message.xid if numbered else 0)
        case BarrierRequest() if numbered:
            return message
        case OpenFlowMessage():
            return replace(message, xid=0)
        case _:
            return repr(message)
