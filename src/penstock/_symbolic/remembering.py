"""What a program keeps of a message, and what it decides by that when something else happens.

A handler that stores `udp.dst_port == 53` or a whole packet goes one way for all of them; the way that a
later handler goes depends on it.  So the packets of one path are one class only as far as the first handler
is concerned.  Here a program is given again what a search gave it, one thing after the other in one memory,
with the messages followed all the while.

1. A *chain* begins in a state that the search has met, with a message whose contents are inputs.  When it
   has been handled, the values that are still alive and depend on these inputs are what the program has
   kept, wherever it keeps them: Python's garbage collector knows.  If there are none, the chain ends.
2. Otherwise all that the search has had happen in the state after it is another link, one chain for each.
   The inputs of each message have names of their own: the values that live on are renamed (`age`).
3. A decision in the last link that depends on inputs of an earlier one is turned round, with all messages'
   inputs open.  Where inputs exist for the other way, the earlier message with these contents is one that
   the search has to send too: a *sequel*.  The search is repeated with it, until there are no more.

A chain is followed no further than its first message lives on, itself or, over a few messages, in a value
that a condition ties to it: what later ones leave behind is the matter of chains that begin with them.  What
the conditions on a chain's way leave only one value for does not live on: no decision by it can be turned
round.  Chains that come to the same state, and keep the same of the same inputs under the same conditions, go
on as one.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

from penstock._concolic.packets.frames import Naming, SymFrame
from penstock._concolic.packets.inputs import Question, ReadBack
from penstock._concolic.run import Decision, Loss, Run, TooManyDecisions, unnoticed
from penstock._concolic.solving.solver import Solver
from penstock._concolic.space import Inputs, Space, Variable
from penstock._concolic.terms import Term, const, negation, substitute, var
from penstock._concolic.values.escapes import Symbolic
from penstock._concolic.values.integers import Followed
from penstock._concolic.values.segments import Piece
from penstock._concolic.values.sym_bytes import SymBytes
from penstock._concolic.values.sym_str import SymStr
from penstock._concolic.values.tables import Tabled
from penstock._concolic.values.unknown import Tainted
from penstock._controllers.probing import Given, Probeable
from penstock._scenario.options import MOST_TIED
from penstock.openflow.messages import Error, FlowRemoved
from penstock.openflow.stats import Flows, StatsReply

MOST_LINKS: Final = 8_000
"""How many messages are handled again in all, one after the other in chains."""


def cut_ties(most: int) -> str:
    """Return what is taken for granted where a chain was followed no further."""
    return (
        f"A value that only comparisons tie to an earlier message is followed over {most} messages, and what "
        "a program decides by a longer row of comparisons is taken to be met by the packets that were tried: "
        "ties in [symbolic]."
    )


_TOO_MANY: Final = (
    "The program decides more often over a sequence of messages than is followed, so packets that it keeps "
    "something of may be missing."
)

_ENOUGH: Final = 100
"""After how many chains a search is repeated, if something was found by then."""


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Whose choice a message is, what it leaves open, and what it says."""

    sender: Hashable
    question: Question
    inputs: Inputs

    @property
    def open(self) -> frozenset[str]:
        """The inputs that somebody chooses."""
        return _open(self.question.space)


class Sequel(NamedTuple):
    """A message that makes a difference later: whose, its contents, and what makes the difference."""

    sender: Hashable
    inputs: dict[str, int]
    condition: tuple[Term, ...]


@dataclass(slots=True)
class _Waiting:
    """Chains to be followed: those that begin, and those that go on, in turn."""

    beginning: deque[_Chain]
    further: deque[_Chain] = field(default_factory=deque)

    def __iter__(self) -> Iterator[_Chain]:
        while self.beginning or self.further:
            if self.beginning:
                yield self.beginning.popleft()
            if self.further:
                yield self.further.popleft()


class Link(NamedTuple):
    """Something that happens in a chain; if it is a message with open contents, where it comes from."""

    given: Given
    origin: Origin | None


_Chain = tuple[Link, ...]


@dataclass(slots=True)
class _Outcome:
    """What came of a chain: what decided, from where on in its last link, and what is kept of the first."""

    decisions: list[Decision]
    start: int
    kept: tuple[Hashable, ...]
    losses: Counter[Loss] = field(default_factory=Counter)
    """What was lost in the last link, if it was not the first as well."""


@dataclass(slots=True)
class Remembering:
    """Finds sequels to what a search has had happen to one controller."""

    controller: Probeable
    origins: Callable[[Given], Sequence[Origin]]
    most_tied: int = MOST_TIED
    losses: Counter[Loss] = field(default_factory=Counter)
    remarks: dict[str, None] = field(default_factory=dict)
    keeps: bool = False
    """Whether the program was seen to keep anything of a message."""
    cuts_ties: bool = False
    """Whether a chain ended, or was taken for another, although a condition tied it to its first message."""
    unfinished: bool = False
    """Whether it stopped because enough was found for another search."""
    _tried: set[Hashable] = field(default_factory=set)
    """The ways of whole chains, as far as they were gone or looked for."""
    _kept: dict[Hashable, tuple[Hashable, ...]] = field(default_factory=dict)
    """What was kept when a chain had happened, of those that were followed so far."""
    _solvers: dict[Hashable, Solver] = field(default_factory=dict)
    _asks: bool = False
    """Whether the program makes rules that ask for something of the packets that it was handed."""
    _told: set[Hashable] = field(default_factory=set)
    """In which states it was told of rules again."""
    _followed: int = 0
    """How many messages were handled again so far."""

    def sequels(self, *, until: float | None = None) -> list[Sequel]:
        """Return messages that a search has to send besides those that it did.

        There may be more of them as long as it is `unfinished`: then ask again, when these have been sent.
        """
        self.keeps |= _leaves_traces(self.controller.steps, self._links)
        found: list[Sequel] = []
        followed, onward = 0, _onward(self.controller.steps)
        known: set[Hashable] = set()
        waiting = _Waiting(
            deque((link,) for given in self.controller.steps for link in self._links(given) if link.origin)
        )
        self.unfinished = False
        for chain in waiting:
            if found and followed >= _ENOUGH:
                self.unfinished = True
                break
            if self._followed >= MOST_LINKS or (until is not None and time.monotonic() >= until):
                self._give_up()
                break
            kept = self._kept.get(done := tuple((link.given, _sender(link)) for link in chain))
            if kept is None:
                followed += 1
                self._followed += len(chain)
                outcome = self.rehearse(chain)
                self.losses += outcome.losses
                found += self._turned_round(chain, outcome)
                kept = self._kept[done] = outcome.kept
            if not kept:
                continue
            self.keeps = True
            after = self.controller.steps[chain[-1].given]
            key = (after, chain[0].given, _sender(chain[0]), kept)
            if key not in known:
                known.add(key)
                waiting.further += (
                    (*chain, link) for given in onward.get(after, ()) for link in self._links(given)
                )
        if self._asks:
            self._read_back()
        return found

    def _read_back(self) -> None:
        """Tell the program again of rules that it made of packets, and note if it looks at what they ask."""
        for given in self.controller.steps:
            message = given.message
            told = isinstance(message, FlowRemoved | Error) or (
                isinstance(message, StatsReply) and isinstance(message.body, Flows)
            )
            if message is None or not told or (key := (given.before, given.switch, message)) in self._told:
                continue
            self._told.add(key)
            with _watched(), Run() as run:
                with suppress(TooManyDecisions):
                    self.controller.rehearse(given.before)(given, ReadBack(message), {})
                self.losses += run.losses

    def _give_up(self) -> None:
        self.remarks[
            f"The program keeps something of packets in memory, and after {self._followed:,} messages that "
            "were handled again not all was known that it decides by that."
        ] = None

    def _links(self, given: Given) -> Iterator[Link]:
        origins = self.origins(given) if given.message is not None else ()
        yield from (Link(given, origin) for origin in origins or (None,))

    def rehearse(self, chain: Sequence[Link], *, steady: bool = False) -> _Outcome:
        """Have a chain happen; with `steady`, chance is the same whatever the messages are."""
        with _watched(), Run() as run:
            perform = self.controller.rehearse(chain[0].given.before, steady=steady)
            start, lost = 0, Counter[Loss]()
            pinned: dict[str, Term] = {}
            for place, (given, origin) in enumerate(chain):
                start, lost = len(run.decisions), Counter(run.losses)
                # What is listed here would live on by that.
                alive: list[Symbolic | Tainted] = []
                question, inputs = (None, {}) if origin is None else (origin.question, origin.inputs)
                run.inputs.update(inputs)
                try:
                    perform(given, question, inputs)
                except TooManyDecisions:
                    self.remarks[_TOO_MANY] = None
                    return _Outcome([], 0, ())
                if question is not None:
                    pinned |= {_name(place, name): value for name, value in _pinned(question.space).items()}
                naming = _naming(place, None if question is None else question.space)
                run.age(naming)
                run.inputs.update({_name(place, name): value for name, value in inputs.items()})
                with unnoticed():
                    alive = _alive(run, naming)
            first = chain[0].origin
            assert first is not None
            own = {_name(0, name) for name in first.open}
            losses = run.losses - lost if len(chain) > 1 else Counter[Loss]()
            with unnoticed():
                held = [made.holds for made in run.decisions]
                kept = _kept(alive, own, held, pinned)
                if kept and len(chain) > self.most_tied:
                    before, kept = kept, _kept(alive, own, held, pinned, ties=False)
                    self.cuts_ties |= kept != before
            self._asks |= run.asks
            return _Outcome(run.decisions, start, kept, losses)

    def _turned_round(self, chain: Sequence[Link], outcome: _Outcome) -> Iterator[Sequel]:
        """Yield what has to be sent for the last link to go another way."""
        way: Hashable = tuple(
            (link.given.what if link.origin is None else link.origin.sender, link.given.switch)
            for link in chain
        )
        way = (chain[0].given.before, way)
        held: list[Term] = []
        earlier = {_name(place, "") for place in range(len(chain) - 1)}
        for index, made in enumerate(outcome.decisions):
            turned = (way, tuple(held), negation(made.holds))
            way_on = (way, tuple(held), made.holds)
            self._tried.add(way_on)
            depends = index >= outcome.start and any(name.startswith(tuple(earlier)) for name in _names(made))
            if depends and turned not in self._tried:
                self._tried.add(turned)
                yield from self._solved(chain, (*held, negation(made.holds)))
            held.append(made.holds)

    def _solved(self, chain: Sequence[Link], conditions: tuple[Term, ...]) -> Iterator[Sequel]:
        """Yield the earlier messages of a chain as they have to be for conditions to hold."""
        solver = self._solver(chain)
        unknown = solver.unknown
        values = solver.solve(conditions)
        if solver.unknown > unknown:
            self.remarks["The solver gave up on what the program decides by what it has kept."] = None
        if values is None:
            return
        for place, (_, origin) in enumerate(chain[:-1]):
            if origin is None:
                continue
            names = {each.name: _name(place, each.name) for each in origin.question.space.variables}
            inputs = {name: values[full] for name, full in names.items()}
            if inputs != origin.inputs:
                yield Sequel(origin.sender, inputs, tuple(_own(conditions, values, names)))

    def _solver(self, chain: Sequence[Link]) -> Solver:
        questions = [
            (place, origin.question) for place, (_, origin) in enumerate(chain) if origin is not None
        ]
        key = tuple((place, question.space) for place, question in questions)
        found = self._solvers.get(tuple((place, id(space)) for place, space in key))
        if found is None:
            variables: list[Variable] = []
            constraints: list[Term] = []
            for place, question in questions:
                naming = _naming(place, question.space)
                variables += (
                    Variable(_name(place, each.name), each.width, each.preferred, each.kind)
                    for each in question.space.variables
                )
                constraints += map(naming, question.space.constraints)
            found = Solver(Space(tuple(variables), tuple(constraints)))
            self._solvers[tuple((place, id(space)) for place, space in key)] = found
        return found


def _leaves_traces(steps: Mapping[Given, Any], links: Callable[[Given], Iterable[Link]]) -> bool:
    """Tell whether packets of one sender, in one state, leave a program in different other states."""
    found: dict[Hashable, set[Any]] = {}
    for given, after in steps.items():
        if after == given.before:
            continue
        for sender in filter(None, map(_sender, links(given))):
            states = found.setdefault((given.before, given.switch, sender), set())
            states.add(after)
            if len(states) > 1:
                return True
    return False


def _onward(steps: Mapping[Given, Any]) -> dict[Any, list[Given]]:
    """Return what happened in each state."""
    found: dict[Any, list[Given]] = {}
    for given in steps:
        found.setdefault(given.before, []).append(given)
    return found


def _sender(link: Link) -> Hashable:
    return None if link.origin is None else link.origin.sender


def _own(conditions: Iterable[Term], values: Inputs, names: Mapping[str, str]) -> Iterator[Term]:
    """Yield what conditions ask of one message, all others being as they are."""
    own = {full: name for name, full in names.items()}
    for condition in conditions:
        others = {name: const(values[name]) for name in condition.variables if name not in own}
        left = substitute(condition, others)
        if left.value is None:
            widths = {name: var(own[name], _width(left, name)) for name in left.variables}
            yield substitute(left, widths)


def _width(term: Term, name: str) -> int:
    ahead = [term]
    while ahead:
        here = ahead.pop()
        if here.op == "var" and here.args[0] == name:
            return here.high.bit_length()
        ahead += here.operands
    raise AssertionError(name)


@lru_cache(maxsize=64)
def _pinned(space: Space) -> Mapping[str, Term]:
    """Return the inputs that are given, with what they are."""
    return dict(filter(None, map(_pin, space.constraints)))


def _pin(condition: Term) -> tuple[str, Term] | None:
    """Return the input that a condition leaves one value for, and that value."""
    if condition.op == "==":
        for one, other in (condition.operands, reversed(condition.operands)):
            if one.op == "var" and other.op == "const":
                return str(one.args[0]), other
    return None


@lru_cache(maxsize=64)
def _open(space: Space) -> frozenset[str]:
    return frozenset(each.name for each in space.variables) - _pinned(space).keys()


# Names.


def _name(place: int, name: str) -> str:
    """Return what an input of one message of a chain is called."""
    return f"{place}:{name}"


class _Naming:
    """Calls the inputs of one message of a chain by names that only it has."""

    def __init__(self, place: int, space: Space | None) -> None:
        self.place = place
        variables = () if space is None else space.variables
        self._renamed = {each.name: var(_name(place, each.name), each.width) for each in variables}
        self._known: dict[Term, Term] = {}

    def __call__(self, term: Term) -> Term:
        """Return a term with these names."""
        found = self._known.get(term)
        if found is None:
            found = self._known[term] = substitute(term, self._renamed)
        return found


@lru_cache(maxsize=256)
def _naming(place: int, space: Space | None) -> _Naming:
    return _Naming(place, space)


def _names(made: Decision) -> frozenset[str]:
    return made.condition.variables


# Values that live on.


@contextmanager
def _watched() -> Iterator[None]:
    """Have Python's garbage collector know what is made from now on."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _alive(run: Run, naming: Naming) -> list[Symbolic | Tainted]:
    """Return the values that depend on inputs and are still there, renamed."""
    for key in list(run.holders):
        # One for the pair that holds it, one for the question itself: nobody else has it.
        if sys.getrefcount(run.holders[key][0]) <= 2:
            del run.holders[key]
    gc.collect()
    found = [value for value in gc.get_objects() if issubclass(type(value), Symbolic | Tainted)]
    for value in found:
        _age(value, naming)
    return found


def _age(value: Symbolic | Tainted, naming: Naming) -> None:
    """Call the inputs that a value depends on by other names."""
    if isinstance(value, SymFrame):
        value.age(naming)
    elif isinstance(value, Followed):
        value.term = naming(value.term)
    elif isinstance(value, Tabled):
        value.input_ = naming(value.input_)
    elif isinstance(value, SymBytes):
        value.terms = tuple(map(naming, value.terms))
    elif isinstance(value, SymStr):
        value.pieces = tuple(
            part._replace(term=naming(part.term)) if isinstance(part, Piece) else part
            for part in value.pieces
        )
        value._reader = value._whole = None


def _kept(
    alive: Iterable[Symbolic | Tainted],
    own: set[str],
    conditions: Iterable[Term],
    pinned: Mapping[str, Term],
    *,
    ties: bool = True,
) -> tuple[Hashable, ...]:
    """Return what is kept of some inputs, and under which conditions; nothing if nothing is.

    With `ties`, what is kept of other inputs counts too if a condition ties it to these.
    """
    values, held = _settled(conditions, pinned)
    if not ties:
        held = frozenset(each for each in held if each.variables <= _living(alive, own))
    tied = _tied(own - values.keys(), held)
    parts = [
        substitute(part, values) if isinstance(part, Term) else part
        for value in alive
        for part in _terms(value)
    ]
    if not any(part == _FRAME or (isinstance(part, Term) and part.variables & tied) for part in parts):
        return ()
    living = _tied(tied.union(*(part.variables for part in parts if isinstance(part, Term))), held)
    return (*parts, frozenset(each for each in held if each.variables & living))


def _living(alive: Iterable[Symbolic | Tainted], own: set[str]) -> set[str]:
    """Return some inputs, and those that what is kept depends on."""
    parts = (part for value in alive for part in _terms(value) if isinstance(part, Term))
    return own.union(*(part.variables for part in parts))


def _tied(names: Set[str], conditions: Iterable[Term]) -> frozenset[str]:
    """Return inputs, and those that conditions ask for something together with them."""
    found, left = frozenset(names), set(conditions)
    while touching := {each for each in left if each.variables & found}:
        left -= touching
        found = found.union(*(each.variables for each in touching))
    return found


def _settled(
    conditions: Iterable[Term], pinned: Mapping[str, Term]
) -> tuple[dict[str, Term], frozenset[Term]]:
    """Return the inputs that conditions leave one value for, and what they still ask of the others."""
    values, held = dict(pinned), frozenset(conditions)
    while True:
        held = frozenset(left for each in held if (left := substitute(each, values)).value is None)
        found = dict(filter(None, map(_pin, held)))
        if not found:
            return values, held
        values |= found


_FRAME: Final = ("frame", 0)
"""What stands for a whole packet that is kept, by its place in the chain."""


def _terms(value: Symbolic | Tainted) -> tuple[Hashable, ...]:
    """Return what a value depends on."""
    if isinstance(value, SymFrame):
        naming = value.source.naming
        return (("frame", naming.place if isinstance(naming, _Naming) else -1),)
    if isinstance(value, Followed | Tabled):
        return (value.term if isinstance(value, Followed) else value.input_,)
    if isinstance(value, SymBytes):
        return value.terms
    if isinstance(value, SymStr):
        return tuple(part.term for part in value.pieces if isinstance(part, Piece))
    # Nobody knows what a value depends on that was read back of a message, or a message that was made.
    return (_FRAME,)
