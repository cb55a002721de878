"""Messages tried on a program that is not followed, in case following it has missed a decision.

Concolic execution is right as long as every value that depends on the inputs is seen wherever it decides.
What it cannot follow is a loss, and is told; but nobody has thought of everything that Python, and libraries
written in C, can do with a value.  So this is a net under it that does not rest on it:

1. A *base* is a message that the search has handed to the program, in the state that it was in, or a packet
   of another usual form in its place.  Others like it differ in one input, which has a value out of the
   program itself (see `dictionary`).
2. They are handed to the plain program, one after the other in one memory.  As long as it does with each what
   it does with the base, nothing is learned, and it is cheap.
3. Where it does something else, the message is tried alone, and the one before it with the base after it,
   each in the state of the base.  If the program then does something else than for the base, and yet
   following both gives the same decisions, a decision went unseen: an *escape*.

The search sends what escaped, and its result is bounded in any case: what else the program tells apart in
such a way is not known.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, repeat, zip_longest
from typing import Any, Final, NamedTuple

from penstock._concolic.packets.headers import Header
from penstock._concolic.packets.inputs import PacketQuestion
from penstock._concolic.packets.layouts import stack
from penstock._concolic.solving.compiled import Evaluator
from penstock._concolic.space import Inputs, Variable
from penstock._concolic.terms import const, eq
from penstock._controllers.origins import values_noted
from penstock._controllers.probing import Given, Probeable, Reaction
from penstock._symbolic.dictionary import Dictionary, dictionary_of
from penstock._symbolic.remembering import Link, Origin, Remembering, Sequel
from penstock._world.component import Event
from penstock.openflow.actions import SetField
from penstock.openflow.fields import ETH_ARP, ETH_IPV4, IP_ICMP, IP_TCP, IP_UDP
from penstock.openflow.match import Match
from penstock.openflow.messages import OpenFlowMessage, PacketIn

_evaluate: Final = Evaluator()

MOST_TRIALS: Final = 2_500
"""How many messages are tried in all."""

_EXPLAINED: Final = (2, 8)
"""How often it is looked into that one input, or any, makes the program do one other thing."""

_MOST_WATCHED: Final = 8
"""With how many messages it is watched what the program works out."""

_LATE: Final = "Time was up before messages were tried that the program may look for."

_Seen = tuple[Any, ...]
"""What others see of a reaction, apart from what it holds of the message itself."""


class _Base(NamedTuple):
    """A message that a search has handed to a program, or one that it could have handed over in its place."""

    given: Given
    origin: Origin
    was_sent: bool = True


class _Trial(NamedTuple):
    """A message like a base, but for some of its inputs; one with a value that is `rare` is sent twice."""

    changed: Mapping[str, int]
    inputs: dict[str, int]
    message: OpenFlowMessage
    rare: bool = False


@dataclass(slots=True)
class Trials:
    """Looks for escapes in what a search has had happen to one controller."""

    controller: Probeable
    origins: Callable[[Given], Sequence[Origin]]
    remembering: Remembering
    remarks: dict[str, None] = field(default_factory=dict)
    """What escaped, in sentences."""

    def escapes(self, *, until: float | None = None) -> list[Sequel]:
        """Return messages that the program tells apart from others without it being seen.

        At a moment `until` on the monotonic clock it stops, and says so.
        """
        if self.controller.acts_outside:
            # Files would be written, and processes started, once a trial; the result is bounded in any case.
            return []
        found: list[Sequel] = []
        bases, left = self._bases(), MOST_TRIALS
        dictionary = self._dictionary([each for each in bases if each.was_sent])
        for place, base in enumerate(bases[:MOST_TRIALS]):
            batch = _Batch(self.controller, self.remembering, base)
            for trial in islice(_trials(base, dictionary), left // (len(bases) - place)):
                if until is not None and time.monotonic() >= until:
                    self.remarks[_LATE] = None
                    return found
                left -= 1
                escaped = batch.escaped(trial)
                new = [each for each in escaped if each.changed]
                found += (_sequel(base.origin, each) for each in escaped if each.changed or not base.was_sent)
                self.remarks.update((_remark(base.origin, each), None) for each in new)
                if new or batch.is_spoilt or self.controller.acts_outside:
                    break
            if batch.is_spoilt or self.controller.acts_outside:
                # A program that ends its process, or computes for ever, costs too much to be tried further.
                break
        return found

    def _dictionary(self, bases: Sequence[_Base]) -> Dictionary:
        """Return the program's constants, with those that it works out when it handles what was sent."""
        known: set[int] = set()
        with values_noted() as worked_out:
            for base in bases[:_MOST_WATCHED]:
                known.update(base.origin.inputs.values())
                hand_over = self.controller.try_out(base.given.before)
                message = base.origin.question.message(base.origin.inputs)
                for _ in range(2):
                    hand_over(base.given.switch, message)
        return dictionary_of(self.controller.sources(), self.controller.namespaces(), worked_out, known)

    def _bases(self) -> list[_Base]:
        """Return one message of each sender and form, in the first state that it came in."""
        found: dict[Hashable, _Base] = {}
        met: set[Hashable] = set()
        for given in self.controller.steps:
            content = given.message.data if isinstance(given.message, PacketIn) else given.message
            if content is None or (given.switch, content) in met:
                continue
            met.add((given.switch, content))
            for origin in self.origins(given):
                found.setdefault((origin.sender, given.switch, _form(origin)), _Base(given, origin))
        others: dict[Hashable, _Base] = {}
        for base in found.values():
            for other in _of_other_forms(base):
                others[base.origin.sender, base.given.switch, _form(other.origin)] = other
        return [*found.values(), *(others[key] for key in others if key not in found)]


_USUAL_FORMS: Final[tuple[Mapping[str, int], ...]] = (
    {"eth_type": ETH_IPV4, "ip_proto": IP_UDP},
    {"eth_type": ETH_IPV4, "ip_proto": IP_TCP},
    {"eth_type": ETH_IPV4, "ip_proto": IP_ICMP},
    {"eth_type": ETH_ARP},
)
_DECIDING_FORM: Final = ("eth_type", "ip_proto")


def _of_other_forms(base: _Base) -> Iterator[_Base]:
    """Yield packets of usual forms like a base: a program that hides what it decides may hide this first."""
    origin = base.origin
    if isinstance(origin.question, PacketQuestion):
        for form in _USUAL_FORMS:
            inputs = {**origin.question.frames.usual, "eth_dst": origin.inputs["eth_dst"], **form}
            if all(_evaluate(term, inputs) for term in origin.question.space.constraints):
                yield _Base(base.given, dataclasses.replace(origin, inputs=inputs), was_sent=False)


def _form(origin: Origin) -> Hashable:
    """Return the headers that a packet has, or what else a message is."""
    headers = _headers(origin)
    return tuple(header.name for header in headers) if headers else type(origin.question)


def _headers(origin: Origin) -> list[Header]:
    """Return the headers of the packet that a message is about, if it is about one."""
    if not isinstance(origin.question, PacketQuestion):
        return []
    return list(stack(lambda condition: bool(_evaluate(condition, origin.inputs))))


_TAG: Final = "vlan_vid"
"""The input that says whether there is a VLAN tag; it is there in any case."""


def _variables(origin: Origin) -> list[Variable]:
    """Return the inputs that can be seen in a message."""
    variables, headers = origin.question.space.variables, _headers(origin)
    if not headers:
        return list(variables)
    names = {_TAG}.union(*(header.inputs for header in headers))
    names |= {"payload", "payload_length"} if headers[-1].payload else set()
    return [each for each in variables if each.name in names]


def _trials(base: _Base, dictionary: Dictionary) -> Iterator[_Trial]:
    """Yield messages like a base, those first that a program is most likely to look for."""
    question, inputs = base.origin.question, base.origin.inputs
    usual = question.message(inputs)
    variables = _variables(base.origin)
    rules = {
        each.name: [term for term in question.space.constraints if each.name in term.variables]
        for each in variables
    }
    rare = frozenset(dictionary.rare)
    columns = (zip(repeat(each), _values(each, base, dictionary), strict=False) for each in variables)
    for row in zip_longest(*columns):
        for variable, value in filter(None, row):
            changed = {variable.name: value, **_making_room(variable, value, inputs)}
            tried = {**inputs, **changed}
            if tried == inputs or not all(_evaluate(term, tried) for name in changed for term in rules[name]):
                continue
            message = question.message(tried)
            if message != usual:
                yield _Trial(changed, tried, message, value in rare)


def _values(variable: Variable, base: _Base, dictionary: Dictionary) -> Iterator[int]:
    yield from dictionary.values(variable, rare=not base.was_sent)
    if variable.name == "payload_length" and isinstance(base.origin.question, PacketQuestion):
        # A program knows the length of a whole packet, or of what is inside a header.
        around = len(base.origin.question.frames.data(base.origin.inputs)) - base.origin.inputs[variable.name]
        for less in (around, around - 14, around - 34):
            yield from (number - less for number in (*dictionary.rare, *dictionary.common) if number >= less)


def _making_room(variable: Variable, value: int, inputs: Inputs) -> dict[str, int]:
    """Return how long a payload has to be to hold what it is to hold."""
    if variable.name != "payload" or not value:
        return {}
    blank = ((value & -value).bit_length() - 1) // 8
    return {"payload_length": max(inputs["payload_length"], variable.width // 8 - blank)}


def _sequel(origin: Origin, trial: _Trial) -> Sequel:
    by_name = origin.question.space.by_name
    names = dict.fromkeys((*trial.changed, *_DECIDING_FORM))
    condition = (eq(by_name[name].term, const(trial.inputs[name])) for name in names if name in by_name)
    return Sequel(origin.sender, trial.inputs, tuple(condition))


def _remark(origin: Origin, trial: _Trial) -> str:
    question = origin.question
    return (
        f"The program treats {question.describe(trial.inputs)} differently from "
        f"{question.describe(origin.inputs)}, and following it did not show why: other messages that it "
        "tells apart may be missing."
    )


class _Batch:
    """Messages tried one after the other in one memory, that of the state in which a base came."""

    def __init__(self, controller: Probeable, remembering: Remembering, base: _Base) -> None:
        self._controller = controller
        self._remembering = remembering
        self._base = base
        self._usual = _Trial({}, dict(base.origin.inputs), base.origin.question.message(base.origin.inputs))
        self._explained: Counter[Hashable] = Counter()
        self.is_spoilt = False
        """Whether a message ended the program's process, or was computed on for as long as that may take."""
        self._begin()

    def _begin(self) -> None:
        """Come to where the base makes no difference any more."""
        self._before = self._usual
        self._hand_over = self._controller.try_out(self._base.given.before)
        self._give(self._usual)
        self._reference = self._give(self._usual)

    def _give(self, trial: _Trial) -> _Seen:
        reaction = self._hand_over(self._base.given.switch, trial.message)
        self.is_spoilt |= any(map(_is_costly, reaction.events))
        return _seen(reaction)

    def escaped(self, trial: _Trial) -> list[_Trial]:
        """Try a message; return those that the program tells apart unseen."""
        before, self._before = self._before, trial
        seen = self._give(trial)
        if seen == self._reference and trial.rare:
            before, seen = trial, self._give(trial)
        if seen == self._reference:
            return []
        keys = ((*trial.changed, seen), seen)
        self._explained.update(keys)
        known = any(self._explained[key] > most for key, most in zip(keys, _EXPLAINED, strict=True))
        found = [] if known else self._look_into(before, trial)
        if not self.is_spoilt:
            self._begin()
        return found

    def _look_into(self, before: _Trial, trial: _Trial) -> list[_Trial]:
        usual = self._usual
        ways: list[tuple[tuple[_Trial, ...], tuple[_Trial, ...]]] = [((trial,), (usual,))]
        if not self.is_spoilt:
            ways += [((before, usual), (usual, usual)), ((before, trial), (usual, usual))]
        for tried, otherwise in ways:
            if self._last_seen(tried) != self._last_seen(otherwise):
                return [] if self._are_told_apart(tried, otherwise) else list(tried)
        return []

    def _last_seen(self, trials: Sequence[_Trial]) -> _Seen:
        self._hand_over = self._controller.try_out(self._base.given.before)
        return [self._give(trial) for trial in trials][-1]

    def _are_told_apart(self, one: Sequence[_Trial], other: Sequence[_Trial]) -> bool:
        """Tell whether following the program shows that it decides otherwise."""
        return self._decisions(one) != self._decisions(other)

    def _decisions(self, trials: Sequence[_Trial]) -> list[tuple[Hashable, bool]]:
        given, origin, _ = self._base
        chain = tuple(
            Link(
                self._controller.arrival(given.before, given.switch, trial.message),
                dataclasses.replace(origin, inputs=trial.inputs),
            )
            for trial in trials
        )
        made = self._remembering.rehearse(chain, steady=True).decisions
        return [(decision.condition, decision.outcome) for decision in made]


def _is_costly(event: Event) -> bool:
    ended = event.kind == "crashed" and str(event.detail[1]).startswith("ProcessEnded")
    return ended or event.kind == "hung"


def _seen(reaction: Reaction) -> _Seen:
    ends = tuple(event.kind for event in reaction.events if event.kind in ("crashed", "hung", "closed"))
    return (ends, *((str(send.port), _outline(send.message)) for send in reaction.sends))


_CARRIED: Final = frozenset({"xid", "data", "buffer_id", "tag", "cookie"})


def _outline(part: Any) -> Any:
    """Return a message without what it may hold of another: contents, addresses, numbers of messages."""
    if isinstance(part, Match):
        return tuple(term.field for term in part.terms)
    if isinstance(part, SetField):
        return part.field
    if isinstance(part, tuple):
        return tuple(map(_outline, part))
    if dataclasses.is_dataclass(part):
        values = (getattr(part, each.name) for each in dataclasses.fields(part) if each.name not in _CARRIED)
        return (type(part).__name__, *map(_outline, values))
    return part if isinstance(part, int) else type(part).__name__
