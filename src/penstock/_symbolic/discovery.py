"""Which inputs make a difference now: NICE's `discover_packets` and `discover_stats` (section 3.3).

For a host at a port of a switch, the controller's handler is run concolically on a packet_in from
there, in the controller's present state.  Each path through it is a class of packets, and one of
each class is worth sending.  What is in the flow tables is taken into account (section 10.1 of the
paper names both as limits of NICE): where a class reaches the controller, and at which switch, is
worked out by forwarding the packet's header symbolically; a class that no longer reaches it is left
out, and of one that does so in part, a packet is chosen that does.

What rules treat by themselves reaches no controller, but may be lost, or go round: `TablePackets` finds one
packet of each class that the present tables tell apart.

Everything is remembered: a search asks the same thing in many states.

What the program keeps of a packet may decide later.  When a search is over, it is found out which other
packets it would have taken for that (`refine`, see `remembering`); they are sent as well when it is
repeated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any, Final

from penstock._concolic.packets.coherence import plausible, soft_constraints
from penstock._concolic.packets.domain import Addresses, Sender
from penstock._concolic.packets.frames import FrameSpace
from penstock._concolic.packets.inputs import PacketQuestion, Question, question_about
from penstock._concolic.paths import Exploration, Path, explore
from penstock._concolic.run import Loss, Run
from penstock._concolic.solving.solver import Solver
from penstock._concolic.space import Inputs
from penstock._concolic.terms import Term, evaluate, substitute
from penstock._controllers import watchdog
from penstock._controllers.probing import Given, Probeable, Reaction
from penstock._scenario.options import SymbolicOptions
from penstock._symbolic.classes import PacketClass
from penstock._symbolic.faithfulness import departures
from penstock._symbolic.forwarding.arrivals import Arrival, arrivals
from penstock._symbolic.remembering import Origin, Remembering, Sequel
from penstock._symbolic.symmetry import Symmetry, alike
from penstock._symbolic.table_packets import TablePackets
from penstock._symbolic.trials import Trials
from penstock._world.component import Endpoint
from penstock._world.hosts import Host
from penstock._world.hosts.symbolic_host import SymbolicHost
from penstock._world.network import Network
from penstock._world.signals import FABRIC
from penstock._world.switch import Switch
from penstock.openflow.messages import NO_BUFFER, OpenFlowMessage, PacketIn

_BRIEF_S: Final = 0.3
"""How long a handler may take to be followed once one has hung, which took seconds."""

MOST_ROUNDS: Final = 8
"""How often a search is repeated with packets that make a difference later."""


class Discovery:
    """Finds the inputs of one controller in one network that make a difference."""

    def __init__(
        self, network: Network, controller: Probeable, options: SymbolicOptions, *, symmetric: bool = False
    ) -> None:
        self.network = network
        self.controller = controller
        self.options = options
        self.losses: Counter[Loss] = Counter()
        """What could not be followed, in all that was tried."""
        self.remarks: dict[str, None] = {}
        self._has_hung = False
        """Where something was not tried to the end, in sentences."""
        self.addresses = _addresses_in(network)
        self._hosts = [made for made in network.components if isinstance(made, Host)]
        self._switches = {made.name: made for made in network.components if isinstance(made, Switch)}
        self._ports = ports_in(network)
        self._frames: dict[tuple[str, bool], FrameSpace] = {}
        self._wishes = soft_constraints(FrameSpace.fields, self._hosts, self.addresses)
        self._solvers: dict[int, Solver] = {}
        self._examples: dict[tuple[int, frozenset[Term]], Inputs | None] = {}
        self._explored: dict[Hashable, Exploration[Reaction]] = {}
        self._found: dict[Hashable, tuple[PacketClass, ...]] = {}
        self._origins: dict[bytes, dict[str, tuple[FrameSpace, Inputs]]] = {}
        """How packets were made, by what they are and by who may send them."""
        self._heard: dict[tuple[str, OpenFlowMessage], tuple[OpenFlowMessage, Question, Inputs]] = {}
        self._more_packets: dict[str, dict[bytes, None]] = {}
        self._more_messages: dict[tuple[str, OpenFlowMessage], list[Inputs]] = {}
        self._remembering = Remembering(controller, self._origins_of, most_tied=options.ties)
        """Finds what the program decides by what it has kept."""
        self._trials = Trials(controller, self._origins_of, self._remembering)
        """Finds what following the program has missed."""
        self._were_tried = False
        self._rounds = 0
        wanted = symmetric and options.symmetry
        numbers = controller.sees_numbers
        groups = alike(network, controller.sources(), numbers=numbers) if wanted else ()
        self.symmetry = Symmetry(network, groups) if groups else None
        """The hosts that nothing tells apart, if there are such."""
        self.tables = TablePackets(network, controller.name, self._frames_for, self._wishes)
        """Finds the packets that tables tell apart."""

    @property
    def names(self) -> Mapping[tuple[str, int], str]:
        """Who has which address, for whoever puts a condition into words."""
        macs = {("mac", made.mac): made.name for made in self._hosts}
        return macs | {("ipv4", made.ip): made.name for made in self._hosts}

    @property
    def is_complete(self) -> bool:
        """Whether every class of packets was found, as far as anybody can tell."""
        return not self.losses and not self.remarks and not self.tables.remarks

    def places_lost(self) -> tuple[str, ...]:
        """Return where in the controller's code it was lost what packets depend on, most often first."""
        places = (loss.place for loss, _ in self.losses.most_common())
        return tuple(dict.fromkeys(f"{FilePath(place.file).name}, line {place.line}" for place in places))

    def sentences(self) -> Iterator[str]:
        """Yield what whoever reads the results has to know: what was not followed or not tried."""
        for loss, times in self.losses.items():
            place = loss.place
            often = f", {times:,} times" if times > 1 else ""
            yield (
                f"{FilePath(place.file).name}, line {place.line}: what depends on {place.expression!r} was "
                f"not followed ({loss.what}{often}); packets that only it tells apart may be missing."
            )
        yield from self.remarks
        yield from self.tables.remarks
        if self.symmetry is not None:
            yield from self.symmetry.sentences()

    # Packets.

    @property
    def reads(self) -> tuple[str, ...]:
        """The components whose states decide which packets make a difference."""
        hosts = () if self.symmetry is None else self.symmetry.reads
        names = (self.controller.name, *self._switches, FABRIC, *hosts, *self.tables.reads)
        return tuple(dict.fromkeys(names))

    def packets(self, host: SymbolicHost, seen: Mapping[str, Any]) -> tuple[bytes, ...]:
        """Return one packet of each class that a host could send now."""
        if self.tables.only_pings:
            return ()
        found = self.classes(host, seen)
        if self.symmetry is not None:
            found = self.symmetry.distinct(host, found, seen, lambda other: self.classes(other, seen))
        more = self._more_packets.get(host.name, ()) if found else ()
        packets = tuple(dict.fromkeys((*(known.data for known in found), *more)))
        self.tables.note_offered(host, packets)
        return packets

    def table_packets(
        self, host: SymbolicHost, seen: Mapping[str, Any], sent: tuple[bytes, ...]
    ) -> tuple[bytes, ...]:
        """Return one packet of each class that tables alone treat, unless one is among those sent before."""
        known = (self._origins.get(data, {}).get(host.name) for data in sent)
        return self.tables.packets(host, seen, [made[1] for made in known if made is not None])

    def classes(self, host: Host, seen: Mapping[str, Any]) -> tuple[PacketClass, ...]:
        """Return the classes of packets that a host could send now, in a fixed order."""
        end = self.network.fabric.peer(seen[FABRIC], Endpoint(host.name, host.port))
        if end is None or end.node not in self._switches:
            return ()
        tables = [seen[name] for name in self._switches]
        key = (host.name, end, seen[self.controller.name], seen[FABRIC], *tables)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = tuple(self._classes(host, end, seen))
        return found

    def _classes(self, host: Host, end: Endpoint, seen: Mapping[str, Any]) -> Iterable[PacketClass]:
        frames = self._frames_for(host)
        solver = self._solver(frames)
        assert isinstance(end.port, int)
        reaching = arrivals(self.network, seen, end.node, end.port, frames.fields, solver.may_have)
        state = self.controller.bare(seen[self.controller.name])
        for arrival in reaching:
            if self.controller.name not in arrival.controllers:
                continue
            if not self.controller.hears(state, arrival.switch):
                continue
            changed = {name: term for name, term in arrival.fields.items() if frames.fields.get(name) != term}
            # A header that was rewritten on the way may be anybody's.
            exploring = self._frames_of(host, spoofs=True) if changed else frames
            unknown = frames.fields.keys() - arrival.fields.keys()
            for path in self._explore_packets(exploring, arrival, state).paths:
                held = [substitute(term, changed) for term in path.condition if not term.variables & unknown]
                conditions = (*held, arrival.condition)
                inputs = self._example(frames, conditions)
                if inputs is not None and path.losses:
                    inputs = self._surely(path, exploring, arrival, state, inputs)
                if inputs is not None:
                    data = frames.data(inputs)
                    self._origins.setdefault(data, {})[host.name] = (frames, inputs)
                    yield PacketClass(host.name, arrival, path, frames, conditions, inputs, data)

    def _example(self, frames: FrameSpace, conditions: tuple[Term, ...]) -> Inputs | None:
        """Return a plausible packet of a class; the same classes come up in many states."""
        key = (id(frames), frozenset(conditions))
        if key not in self._examples:
            self._examples[key] = plausible(self._solver(frames), conditions, self._wishes)
        return self._examples[key]

    def _surely(
        self, path: Path[Reaction], frames: FrameSpace, arrival: Arrival, state: Any, inputs: Inputs
    ) -> Inputs | None:
        """Return a packet that is known to go a way where something was lost, which may decide too."""
        with Run(inputs) as run:
            self.controller.probe(state, arrival.switch, self._question(frames, arrival), inputs)
        signs = [(decision.condition, decision.outcome) for decision in path.decisions]
        if [(decision.condition, decision.outcome) for decision in run.decisions] == signs:
            return inputs
        return path.inputs if evaluate(arrival.condition, path.inputs) else None

    def _question(self, frames: FrameSpace, arrival: Arrival) -> PacketQuestion:
        template = PacketIn(
            buffer_id=1 if self._switches[arrival.switch].options.buffers else NO_BUFFER,
            total_len=0,
            reason=arrival.reason,
            match=arrival.match,
            data=b"",
            table_id=arrival.table,
            cookie=arrival.cookie,
        )
        return PacketQuestion(template, frames)

    def _explore_packets(self, frames: FrameSpace, arrival: Arrival, state: Any) -> Exploration[Reaction]:
        question = self._question(frames, arrival)
        key = (id(frames), state, arrival.switch, question.template)
        return self._explored_once(key, state, arrival.switch, question, self._solver(frames))

    def _explored_once(
        self, key: Hashable, state: Any, switch: str, question: Question, solver: Solver
    ) -> Exploration[Reaction]:
        known = self._explored.get(key)
        if known is None:
            Run.ports = self._ports
            with watchdog.hurrying(_BRIEF_S) if self._has_hung else nullcontext():
                known = self._explored[key] = explore(
                    lambda inputs: self.controller.probe(state, switch, question, inputs),
                    question.space,
                    paths=self.options.paths,
                    seconds=self.options.seconds,
                    solver=solver,
                )
                departed = list(departures(self.controller, state, switch, question, known))
            self.losses += known.losses
            self.remarks.update(dict.fromkeys(departed))
            self._note_hangs(known)
            told = f"{type(question).__name__.removesuffix('Question')} from {switch}"
            self.remarks.update(dict.fromkeys(f"{told}: {remark}" for remark in known.remarks))
        return known

    def _note_hangs(self, known: Exploration[Reaction]) -> None:
        """Note that a program hangs; from then on it is not waited for as long, which is told."""
        reactions = (path.result for path in known.paths if path.result is not None)
        if any(event.kind == "hung" for reaction in reactions for event in reaction.events):
            if self._has_hung:
                self.remarks[
                    f"Handlers were followed for {_BRIEF_S:g} s only, since one had hung before."
                ] = None
            self._has_hung = True

    def _frames_for(self, host: Host) -> FrameSpace:
        return self._frames_of(host, spoofs=isinstance(host, SymbolicHost) and host.spoofs)

    def _frames_of(self, host: Host, *, spoofs: bool) -> FrameSpace:
        key = (host.name, spoofs)
        frames = self._frames.get(key)
        if frames is None:
            sender = None if spoofs else Sender(host.mac, host.ip)
            frames = self._frames[key] = FrameSpace(self.addresses, sender=sender)
        return frames

    def _solver(self, frames: FrameSpace) -> Solver:
        found = self._solvers.get(id(frames))
        if found is None:
            found = self._solvers[id(frames)] = Solver(frames.space)
        return found

    @property
    def cuts_ties(self) -> bool:
        """Whether long rows of comparisons were not followed to their end."""
        return self._remembering.cuts_ties

    # Other messages.

    def messages(self, state: Any, switch: str, template: OpenFlowMessage) -> dict[str, OpenFlowMessage]:
        """Return messages like one, each treated in another way, by what they say."""
        question = question_about(template, self.controller.version)
        state = self.controller.bare(state)
        key = (state, switch, template)
        exploration = self._explored_once(key, state, switch, question, Solver(question.space))
        more = self._more_messages.get((switch, template), ())
        found = {}
        for inputs in (*(path.inputs for path in exploration.paths), *more):
            message = found[question.describe(inputs)] = question.message(inputs)
            self._heard[switch, message] = (template, question, inputs)
        return found

    # What is kept.

    def refine(self, *, until: float | None = None) -> bool:
        """Find out what else has to be sent for what the program keeps; tell whether there is such.

        At a moment `until` on the monotonic clock it stops, and says so.
        """
        remembering = self._remembering
        Run.ports = self._ports
        new, unfinished = False, True
        while unfinished and not new:
            found = remembering.sequels(until=until)
            new = sum(map(self._is_new, found)) > 0
            unfinished = remembering.unfinished
        new |= remembering.keeps and self._hurry()
        new |= self.tables.look_further()
        if not new and not self._were_tried:
            self._were_tried = True
            new = sum(map(self._is_new, self._trials.escapes(until=until))) > 0
            self.remarks.update(self._trials.remarks)
        self.losses += remembering.losses
        remembering.losses.clear()
        self.remarks.update(remembering.remarks)
        self._rounds += new
        if self._rounds > MOST_ROUNDS:
            self.remarks[
                f"The program keeps something of packets in memory, and after {MOST_ROUNDS} searches there "
                "still were others that it would have treated differently for that."
            ] = None
            return False
        return new

    def _hurry(self) -> bool:
        """Have hosts send without waiting for an answer, unless told to wait; tell whether any did wait."""
        waiting = [
            each for each in self._hosts if isinstance(each, SymbolicHost) and each.waits and each.burst == 1
        ]
        for each in waiting:
            each.waits = False
        return bool(waiting)

    def _is_new(self, sequel: Sequel) -> bool:
        """Have a message sent in every state, since it makes a difference later; tell whether it is new."""
        sender, inputs = sequel.sender, sequel.inputs
        if not isinstance(sender, str):
            assert isinstance(sender, tuple)
            others = self._more_messages.setdefault(sender, [])
            others += [inputs] if inputs not in others else []
            return others[-1] is inputs
        frames = next(made[sender][0] for made in self._origins.values() if sender in made)
        data = frames.data(inputs)
        # It may have been sent, but not where it makes this difference.
        more = self._more_packets.setdefault(sender, {})
        if data in more:
            return False
        more[data] = None
        self._origins.setdefault(data, {})[sender] = (frames, inputs)
        return True

    def _origins_of(self, given: Given) -> list[Origin]:
        """Return whose choice a message was."""
        message = given.message
        if isinstance(message, PacketIn):
            template = replace(message, data=b"", total_len=0)
            made = self._origins.get(message.data, {})
            return [
                Origin(sender, PacketQuestion(template, frames), inputs)
                for sender, (frames, inputs) in made.items()
            ]
        heard = self._heard.get((given.switch, message)) if message is not None else None
        return [] if heard is None else [Origin((given.switch, heard[0]), *heard[1:])]


def ports_in(network: Network) -> tuple[int, ...]:
    """Return the numbers of the ports that switches have."""
    switches = [made for made in network.components if isinstance(made, Switch)]
    return tuple(sorted({port.number for made in switches for port in made.chassis.ports}))


def _addresses_in(network: Network) -> Addresses:
    """Return the addresses that hosts and switches have."""
    hosts = [made for made in network.components if isinstance(made, Host)]
    switches = [made for made in network.components if isinstance(made, Switch)]
    return Addresses(
        macs=tuple(made.mac for made in hosts),
        ipv4s=tuple(made.ip for made in hosts),
        switch_macs=tuple(port.hw_addr for made in switches for port in made.chassis.ports),
        dpids=tuple(made.chassis.dpid for made in switches),
    )
