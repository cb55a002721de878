"""What must hold of a forwarding state, whatever packet is sent.

Each invariant answers `check(model)` with *findings*: what is wrong now, each with a packet that shows it
and a key that stays the same while the same thing is wrong in the same place.  Who checks again after the
next change tells by the keys what is new, what lasts and what has healed.

Packets that go to a controller are neither right nor wrong: what it does with them is not known.
`undecided(model)` says in sentences what could not be judged for that reason.

An invariant keeps its answers, and the model works only those out again whose packets may have gone
elsewhere since (`answers`), so checking costs little after a small change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from penstock._forwarding.answers import Answers
from penstock._forwarding.header_space import fields_of
from penstock._forwarding.journeys import LEADS_NOWHERE, Outcome
from penstock._forwarding.model import ForwardingModel, Question
from penstock._world.switch.drops import LOST, MEANT, NO_OUTPUT, Ended, is_black_hole, kind_of
from penstock.addresses import BROADCAST_MAC
from penstock.errors import PenstockError
from penstock.openflow.fields import ETH_IPV4
from penstock.openflow.match import ANYTHING, Match

_UNKNOWN = ("controller", "unfollowed")


class Finding(NamedTuple):
    """Something that is wrong: a key that stays while it is, a sentence, and a packet to show it."""

    key: str
    message: str
    outcome: Outcome | None = None


class Invariant(Protocol):
    """Something that must hold of a forwarding state."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def check(self, model: ForwardingModel) -> tuple[Finding, ...]:
        """Return what is wrong now."""
        ...

    def undecided(self, model: ForwardingModel) -> tuple[str, ...]:
        """Return what cannot be judged now, as sentences."""
        ...


def _by_key(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return one finding of each key, in the order of the keys."""
    kept: dict[str, Finding] = {}
    for finding in found:
        kept.setdefault(finding.key, finding)
    return tuple(kept[key] for key in sorted(kept))


def _told(outcomes: Iterable[Outcome], key: Callable[[Outcome], str]) -> tuple[Finding, ...]:
    """Return a finding of each key that outcomes have; only those kept are put into words."""
    kept: dict[str, Outcome] = {}
    for outcome in outcomes:
        kept.setdefault(key(outcome), outcome)
    return tuple(Finding(one, f"{kept[one]}.", kept[one]) for one in sorted(kept))


@dataclass(eq=False)
class NoForwardingLoops:
    """No packet that a host can send comes back to a port as it was there before."""

    name: str = "NoForwardingLoops"

    def check(self, model: ForwardingModel) -> tuple[Finding, ...]:
        """Return the loops there are, one for each way round."""
        return _told(model.loops(), _round)

    def undecided(self, model: ForwardingModel) -> tuple[str, ...]:
        """Return the classes that could not be followed."""
        return model.remarks


def _round(loop: Outcome) -> str:
    """Return the way round of a loop, told from the least of its ports on."""
    return "loop " + " > ".join(f"{switch}:{port}" for switch, port in _way(loop))


def _circle(loop: Outcome) -> str:
    """Return which switches a loop goes through, in words."""
    switches = [switch for switch, _ in _way(loop)]
    return f"There is a loop through {' > '.join([*switches, switches[0]])}"


def _way(loop: Outcome) -> list[tuple[str, int]]:
    way = [(step.switch, step.port) for step in loop.path[loop.cycle :] if step.table == 0]
    least = way.index(min(way))
    return way[least:] + way[:least]


@dataclass(eq=False)
class NoBlackHoles:
    """No packet that a rule sends on is lost at a dead port or for want of a rule."""

    name: str = "NoBlackHoles"

    def check(self, model: ForwardingModel) -> tuple[Finding, ...]:
        """Return the black holes there are, one for each place and reason."""
        return _told(model.black_holes(), lambda hole: f"black hole at {hole.node}: {hole.why}")

    def undecided(self, model: ForwardingModel) -> tuple[str, ...]:
        """Return the classes that could not be followed."""
        return model.remarks


class _Kept:
    """What becomes of some packets of a model, asked for again only if it may have changed."""

    def __init__(self, *, told: bool = True) -> None:
        self._told = told
        self._model: ForwardingModel | None = None
        self._answers: Answers[Question, list[Outcome]] | None = None

    def bring_up(
        self, model: ForwardingModel, questions: Callable[[], Iterable[Question]]
    ) -> Iterable[Question]:
        """Return the questions whose answers had to be worked out again."""
        if self._answers is None or model is not self._model:
            self._model, self._answers = model, model.new_answers(told=self._told)
            self._answers.ask(questions())
        return self._answers.refresh()

    def __getitem__(self, question: Question) -> list[Outcome]:
        assert self._answers is not None
        return self._answers[question]


Reach = Literal["reached", "undecided", "unreached"]


@dataclass(eq=False)
class AllPairsReachability:
    """Every host reaches every other with the IPv4 packets that it would send it.

    These are untagged packets from its MAC and IP address to the other's, of any protocol.  A pair is
    fine if some of them arrive: that a rule drops others is policy, and that others are lost is a black hole.
    `pairs` names the pairs to judge, all unless given.
    """

    pairs: tuple[tuple[str, str], ...] | None = None
    name: str = "AllPairsReachability"

    _answers: _Kept = field(default_factory=lambda: _Kept(told=False), init=False, repr=False)
    _findings: dict[Question, Finding] = field(default_factory=dict, init=False, repr=False)
    _open: dict[Question, None] = field(default_factory=dict, init=False, repr=False)

    def check(self, model: ForwardingModel) -> tuple[Finding, ...]:
        """Return the pairs that do not reach each other."""
        self._bring_up(model)
        return _by_key(self._findings.values())

    def undecided(self, model: ForwardingModel) -> tuple[str, ...]:
        """Return the pairs whose packets go to the controller."""
        self._bring_up(model)
        return tuple(
            f"Whether {question.source} reaches {question.target} is for the controller to say."
            for question in sorted(self._open)
        )

    def _bring_up(self, model: ForwardingModel) -> None:
        for question in self._answers.bring_up(model, lambda: self._questions(model)):
            self._findings.pop(question, None)
            self._open.pop(question, None)
            outcomes = self._answers[question]
            match reach(outcomes, question.target):
                case "unreached":
                    told = model.outcomes(question.source, question.packets)
                    self._findings[question] = _unreached(question, told)
                case "undecided":
                    self._open[question] = None

    def _questions(self, model: ForwardingModel) -> list[Question]:
        self._findings.clear()
        self._open.clear()
        pairs = self.pairs
        if pairs is None:
            pairs = tuple((a, b) for a in model.hosts for b in model.hosts if a != b)
        return [Question(a, b, packets_between(model, a, b)) for a, b in pairs]


@dataclass(eq=False)
class NothingLost:
    """No packet that a host would send another vanishes, unless a rule drops it on purpose.

    The packets are those of `AllPairsReachability`, and a black hole is what it is to searches (see
    `_world.switch.drops`): a packet that was copied on its way vanishes if a host takes in none of the
    copies and none goes to a controller; that is decided by the example found.  With `drops = "lost"`, no
    rule may drop them either.
    """

    pairs: tuple[tuple[str, str], ...]
    name: str = "NothingLost"
    drops: str = MEANT

    _answers: _Kept = field(default_factory=_Kept, init=False, repr=False)
    _findings: dict[Question, Finding] = field(default_factory=dict, init=False, repr=False)

    def check(self, model: ForwardingModel) -> tuple[Finding, ...]:
        """Return the pairs between which packets vanish, each with one of them."""
        for question in self._answers.bring_up(model, lambda: self._questions(model)):
            self._findings.pop(question, None)
            outcomes = self._answers[question]
            lost = self._lost(model, question.source, outcomes)
            if lost is not None:
                never = reach(outcomes, question.target) == "unreached"
                what = "does not reach" if never else "loses packets for"
                told = f"{question.source} {what} {question.target}: {lost}."
                self._findings[question] = Finding(f"{question.source} to {question.target}", told, lost)
        return _by_key(self._findings.values())

    def undecided(self, model: ForwardingModel) -> tuple[str, ...]:
        """Return the classes that could not be followed."""
        return model.remarks

    def _lost(self, model: ForwardingModel, source: str, outcomes: list[Outcome]) -> Outcome | None:
        """Return how a packet ends that is lost with all its copies, the worst of its ends; or None."""
        known: dict[int, Outcome | None] = {}
        for one in outcomes:
            if _end(model, one) is Ended.KEPT or one.header in known:
                continue
            copies = model.trace(source, one.header)
            ends = [_end(model, copy) for copy in copies]
            if self.drops == LOST:
                ends = [Ended.LOST if end is Ended.DROPPED else end for end in ends]
            known[one.header] = None
            if is_black_hole(ends):
                return one if Ended.LOST not in ends else copies[ends.index(Ended.LOST)]
        return None

    def _questions(self, model: ForwardingModel) -> list[Question]:
        self._findings.clear()
        return [Question(a, b, packets_between(model, a, b)) for a, b in self.pairs]


def _end(model: ForwardingModel, outcome: Outcome) -> Ended:
    """Return what an outcome says of a packet; one that still goes on, or arrives, counts as kept."""
    match outcome.fate:
        case "missed":
            return Ended.LOST
        case "lost":
            return Ended.LOST if not outcome.why.endswith(LEADS_NOWHERE) else Ended.ASTRAY
        case "dropped":
            return kind_of(outcome.why or NO_OUTPUT)
        case "delivered" if not _is_taken(model, outcome):
            return Ended.ASTRAY
    return Ended.KEPT


def _is_taken(model: ForwardingModel, outcome: Outcome) -> bool:
    """Tell whether a host takes in a packet as it arrives there: untagged, and to its own address."""
    host = model.hosts.get(outcome.node)
    if host is None:
        return True
    fields = fields_of(outcome.at_end)
    return not fields.get("vlan_vid") and fields.get("eth_dst") in (host.address.mac, BROADCAST_MAC)


def packets_between(model: ForwardingModel, source: str, target: str) -> Match:
    """Return the IPv4 packets that a host would send another."""
    for name in (source, target):
        if name not in model.hosts:
            raise PenstockError(f"unknown host {name!r}: the hosts are {', '.join(model.hosts)}.")
    a, b = model.hosts[source].address, model.hosts[target].address
    return Match.of(eth_src=a.mac, eth_dst=b.mac, vlan_vid=0, eth_type=ETH_IPV4, ipv4_src=a.ip, ipv4_dst=b.ip)


def reach(outcomes: Iterable[Outcome], target: str) -> Reach:
    """Return whether packets with these outcomes reach a host."""
    undecided = False
    for one in outcomes:
        if one.fate == "delivered" and one.node == target:
            return "reached"
        undecided = undecided or one.fate in _UNKNOWN
    return "undecided" if undecided else "unreached"


def _unreached(question: Question, outcomes: list[Outcome]) -> Finding:
    key = f"{question.source} does not reach {question.target}"
    if not outcomes:
        return Finding(key, f"{key}: there are no such packets.")
    return Finding(key, f"{key}: {outcomes[0]}.", outcomes[0])


@dataclass(frozen=True, slots=True)
class Barrier:
    """No packet of a match gets from one host to another."""

    source: str
    target: str
    packets: Match = ANYTHING

    @classmethod
    def of(cls, written: Mapping[str, Any]) -> Barrier:
        """Read a barrier as a scenario has it: `{from = "h1", to = "h2", match = {tcp_dst = 22}}`."""
        unknown = set(written) - {"from", "to", "match"}
        if unknown or not isinstance(written.get("from"), str) or not isinstance(written.get("to"), str):
            raise PenstockError(
                f"{dict(written)!r} is not a rule of isolation: "
                "write {from = 'h1', to = 'h2', match = {…}}."
            )
        match = written.get("match", {})
        if not isinstance(match, Mapping):
            raise PenstockError(
                f"{match!r} is not a match: write the fields as in match = {{eth_type = 0x0800}}."
            )
        return cls(written["from"], written["to"], Match.of(**match))


@dataclass(eq=False)
class Isolation:
    """Packets that must not get from one host to another do not."""

    barriers: tuple[Barrier, ...]
    name: str = "Isolation"

    _answers: _Kept = field(default_factory=_Kept, init=False, repr=False)

    @classmethod
    def of(cls, written: Iterable[Mapping[str, Any]]) -> Isolation:
        """Read the barriers as a scenario has them."""
        return cls(tuple(map(Barrier.of, written)))

    def check(self, model: ForwardingModel) -> tuple[Finding, ...]:
        """Return the barriers that packets get through."""
        return _by_key(
            Finding(f"{one.source} reaches {one.target} with {one.packets}", f"{found}.", found)
            for one, outcomes in self._outcomes(model)
            for found in outcomes
            if found.fate == "delivered" and found.node == one.target
        )

    def undecided(self, model: ForwardingModel) -> tuple[str, ...]:
        """Return the barriers that depend on a controller."""
        return tuple(
            f"Whether {one.packets} from {one.source} reaches {one.target} is for the controller to say."
            for one, outcomes in self._outcomes(model)
            if any(found.fate in _UNKNOWN for found in outcomes)
        )

    def _outcomes(self, model: ForwardingModel) -> list[tuple[Barrier, list[Outcome]]]:
        asked = {one: Question(one.source, one.target, one.packets) for one in self.barriers}
        for one in self.barriers:
            packets_between(model, one.source, one.target)
        self._answers.bring_up(model, asked.values)
        return [(one, self._answers[question]) for one, question in asked.items()]


@dataclass(eq=False)
class Judged:
    """What a function of the model says: it returns sentences, one for each thing that is wrong."""

    function: Callable[[ForwardingModel], Iterable[str | Finding]]
    name: str

    def check(self, model: ForwardingModel) -> tuple[Finding, ...]:
        """Return what the function finds wrong."""
        found = self.function(model)
        return _by_key(one if isinstance(one, Finding) else Finding(str(one), str(one)) for one in found)

    def undecided(self, model: ForwardingModel) -> tuple[str, ...]:
        """Return what the model did not take into account."""
        return model.remarks
