"""Is a property true of a lifted network, in every run, for any number of packets?

A search visits what the chosen method leaves of the network's states.  With Penstock's own method it
begins with every kind of eager step, and afterwards `grounds` and `order` look whether that was allowed;
if not, it is repeated without the kind in question.  A violation is a real run in any case, since eager
steps are real steps; it is replayed on the lifted network before it is told.

The other methods are for comparison.  `mocs` takes `ctrl` for safe in every program, as the paper's
experiments do: by its own Definition 3 neither CP2 nor CP3 allows that, and of CP2 it leaves out states.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from penstock._explore.breadth_first import breadth_first
from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.depth_first import depth_first
from penstock._explore.expand import Expand
from penstock._explore.interning import WIDTH
from penstock._explore.search import Bounds, Outcome, Progress, Search, Stop, Violation
from penstock._properties.base import Property
from penstock._properties.watch import Watch
from penstock._scenario.options import Method
from penstock._verdict.verdict import Bound, Why
from penstock._verify.abstract_controller import CONTROL, SYNCHRONISE, AbstractController
from penstock._verify.abstract_host import RECEIVE, SEND
from penstock._verify.abstract_switch import ADD, FORWARD, MATCH, NOMATCH, REPLY
from penstock._verify.commutativity import is_order_sensitive
from penstock._verify.lifting import Model
from penstock._verify.observations import Experience
from penstock._verify.reduction_soundness import Checker
from penstock._verify.reductions import Reduced, Reduction
from penstock._world.transition import Transition
from penstock._world.world import World, states_of

MOST_PROGRAMS: Final = 100_000
"""How many states of a program are visited before it is taken to have no end of them."""

MOST_WAITING: Final = 500
"""The same for a program whose handlers wait for time to pass: nothing wakes them in a proof."""

_PAUSE: Final = 0.2
"""How many seconds a search goes on before it looks at the clock again: one step may be thousands."""

_GIVEN: Final = "Hosts send no packets but those given, each any number of times."

_TIMELESS: Final = frozenset({SYNCHRONISE, REPLY, FORWARD})
"""Kinds that may be eager or not whatever else is."""

_WHY: Final = {
    SEND: "send at once: that a packet is there takes nothing away, and no property sees it come.",
    FORWARD: "fwd at once: a packet that is there sooner takes nothing away, and no property sees it come; "
    "where it goes depends on nothing.",
    MATCH: "match at once: a packet stays where it is and comes to the next place too, unseen by properties.",
    RECEIVE: "recv at once, where no property looks at the host or the packet.",
    REPLY: "brepl at once: no barrier reply ever met its like in the controller's queue.",
    NOMATCH: "nomatch at once: that a request is there takes nothing away.",
    CONTROL: "ctrl with its nomatch: in no state would a request that comes late make a difference.",
    SYNCHRONISE: "bsync at once: the program was run in both orders, and it makes no difference when.",
    ADD: "add at once: in no state would a packet that meets fewer rules make a difference.",
}


@dataclass(slots=True)
class Verification:
    """What came of it; `violating` counts the states in which a property is broken."""

    verdict: Literal["proved", "violated", "bounded"]
    outcome: Outcome
    states: int
    violating: int = 0
    eager: frozenset[str] = frozenset()
    reasons: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    rounds: int = 1
    plan: int = 0
    """Which choice of eager steps it was: 0 is the best, and the higher the fewer there are."""
    seconds: float = 0.0
    """How long all rounds took, with the checks between them."""
    diverged: list[str] = field(default_factory=list)
    """The properties whose violation did not come up again when its run was replayed."""


def verify(
    model: Model,
    properties: Sequence[Property],
    method: Method = "penstock",
    *,
    bounds: Bounds | None = None,
    every_violation: bool = False,
    shortest: bool = True,
    progress: Progress | None = None,
    plan: int = 0,
) -> Verification:
    """Prove properties of a lifted network, or find runs that break them.

    `shortest` has violations found by shortest runs, at the price of some memory.  `plan` says with which
    choice of eager steps to begin, if the better ones are known not to be allowed.
    """
    bounds = bounds or Bounds()
    kind: Reduction = "ample" if method == "ample" else "off" if method == "off" else "merged"
    plans = _plans(method)
    refused: frozenset[str] = frozenset()
    started = time.monotonic()
    rounds = 0
    while True:
        rounds += 1
        attempt = _Attempt(
            model, properties, kind, plans[plan] - refused, bounds, first_only=not every_violation
        )
        outcome = attempt.run(shortest=shortest, progress=progress)
        if outcome.violations and not every_violation:
            break
        try:
            objection = _objection(attempt, method)
        except Stop as stop:
            attempt.search.finish(str(stop))
            break
        if objection in _TIMELESS:
            refused |= {objection}
        elif objection:
            plan += 1
        else:
            break
    return replace(attempt.result(), rounds=rounds, plan=plan, seconds=time.monotonic() - started)


def _plans(method: Method) -> list[frozenset[str]]:
    """Return which kinds of steps may be eager, the best choice first; the last one can always be made."""
    always = frozenset({FORWARD, REPLY, RECEIVE, SYNCHRONISE})
    match method:
        case "off":
            return [frozenset()]
        case "kuai":
            return [frozenset({CONTROL, FORWARD, RECEIVE, MATCH})]
        case "penstock":
            own = always | {MATCH, SEND}
            return [own | {CONTROL, ADD}, own | {NOMATCH, ADD}, own | {CONTROL}, own | {NOMATCH}]
        case _:
            return [always | {CONTROL}]


def _objection(attempt: _Attempt, method: Method) -> str:
    """Return a kind of step that should not have been eager, as a search has shown; "" if none."""
    model, eager = attempt.model, attempt.reduced.used
    experience = model.experience
    controller = next(made for made in model.network.components if isinstance(made, AbstractController))
    if SYNCHRONISE in eager and is_order_sensitive(controller, experience):
        return SYNCHRONISE
    if FORWARD in eager and (experience.reconfigured or experience.indirect):
        return FORWARD
    if method != "penstock":
        return ""
    if REPLY in eager and experience.repeated_replies:
        return REPLY
    grows = experience.only_adds and not experience.reconfigured and not experience.indirect
    if ADD in eager and (not grows or (experience.barriers and REPLY not in eager)):
        return ADD
    if CONTROL in eager and not grows:
        return CONTROL
    if not eager & {ADD, CONTROL}:
        return ""
    checker = Checker(model, attempt.cells, rules=ADD in eager, confirming=SYNCHRONISE not in eager)
    if checker.failing(attempt.search.watching_the_clock(attempt.search.parents)):
        return ADD if ADD in eager else CONTROL
    return ""


class _Attempt:
    """One search with certain kinds of eager steps."""

    def __init__(
        self,
        model: Model,
        properties: Sequence[Property],
        kind: Reduction,
        eager: frozenset[str],
        bounds: Bounds,
        *,
        first_only: bool,
    ) -> None:
        self.model = model = model.remembering() if ADD in eager else model
        self.cells = CompiledNetwork(model.network, properties, model.start)
        self.reduced = Reduced(self.cells, kind, eager)
        self.search = _MergedSearch(self.cells, bounds, self.reduced, model.experience, first_only=first_only)

    def run(self, *, shortest: bool, progress: Progress | None) -> Outcome:
        self.search.report_to(progress)
        return (breadth_first if shortest else depth_first)(self.search, sleep=False)

    def result(self) -> Verification:
        outcome = self.search.outcome
        states, violating = outcome.states, 0
        if outcome.violations:
            # A state in which a property was just broken is the same state of the network.
            part = (1 << WIDTH * len(self.cells.names)) - 1
            found = self.search.parents
            states = len({state & part for state in found})
            violating = len({state & part for state in found if not self._is_fine(state)})
        verdict: Literal["proved", "violated", "bounded"] = "proved"
        if outcome.violations:
            verdict = "violated"
        elif outcome.result == "bounded":
            verdict = "bounded"
        return Verification(
            verdict,
            outcome,
            states,
            violating,
            frozenset(self.reduced.used),
            tuple(_WHY[kind] for kind in _WHY if kind in self.reduced.used),
            (_GIVEN, *assumptions_of(self.model)),
            diverged=[each.property for each in outcome.violations if not self._comes_again(each)],
        )

    def _is_fine(self, state: int) -> bool:
        return state < self.cells.violated and all(self.reduced.verdicts(state))

    def _comes_again(self, violation: Violation) -> bool:
        """Tell whether a run, replayed, breaks its property again."""
        network = self.model.network
        world = World(network)
        world.restore(self.model.start)
        watch = Watch(network, self.cells.properties)
        watch.begin(states_of(world))
        for transition in violation.path:
            record = world.take(transition)
            watch.observe(record, states_of(world))
        return violation.property in watch.broken


class _MergedSearch(Search):
    """A search whose steps may be several transitions each."""

    def __init__(
        self,
        cells: CompiledNetwork,
        bounds: Bounds,
        reduced: Reduced,
        experience: Experience,
        *,
        first_only: bool,
    ) -> None:
        super().__init__(cells, bounds, first_only=first_only, successors=reduced)
        self._reduced = reduced
        self._experience = experience
        self._next_look = time.monotonic() + _PAUSE

    def report_to(self, progress: Progress | None) -> None:
        """Have progress reported."""
        self._progress = progress

    def tick(self, *, counts: bool = True) -> None:
        """Look at the limits, also at how many states the program has: they may be without bound."""
        super().tick(counts=counts)
        look_at_programs(self._experience)

    def expand_all(self) -> Expand:
        """Return the function from a state to its successors, which looks at the clock now and then."""
        successors = self._reduced.expand_all

        def watched(state: int) -> tuple[list[int], bool]:
            self._look()
            return successors(state)

        return watched

    def watching_the_clock(self, states: Iterable[int]) -> Iterator[int]:
        """Yield states, with a look at the clock now and then."""
        for state in states:
            self._look()
            yield state

    def _look(self) -> None:
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _PAUSE
            self.tick(counts=False)

    def begin(self) -> tuple[int, int]:
        """Return the first state, eager steps taken, twice: it is its own key."""
        start = self._reduced.start
        self.parents[start] = start
        self.new_state(start)
        return start, start

    def path(self, state: int) -> tuple[Transition, ...]:
        """Return the transitions that first led to a state."""
        states = [state]
        while (parent := self.parents[states[-1]]) != states[-1]:
            states.append(parent)
        states.reverse()
        here, transitions = states[0], list(self._reduced.settling)
        for wanted in states[1:]:
            here, taken = next(step for step in self._reduced.told(here) if step[0] == wanted)
            transitions += taken
        return tuple(transitions)


def look_at_programs(experience: Experience) -> None:
    """Stop a search if the program seems to have no end of states."""
    if experience.waits and len(experience.programs) >= MOST_WAITING:
        text = f"{MOST_WAITING:,} states of the program, in which ever more handlers wait"
        raise Stop(Bound(text, Why.PROGRAM_STATES, MOST_WAITING))
    if len(experience.programs) >= MOST_PROGRAMS:
        text = f"{MOST_PROGRAMS:,} states of the program, which may have ever more"
        raise Stop(Bound(text, Why.PROGRAM_STATES, MOST_PROGRAMS))


def assumptions_of(model: Model) -> tuple[str, ...]:
    """Return what is taken for granted of a lifted network, in words."""
    found = [
        "A packet that has come to a switch once may come again at any time.",
        "Links do not fail, sessions stay open, and all switches have joined before.",
        "Rules that have a timeout may vanish at any moment."
        if model.how.timeouts
        else "Rules do not time out.",
    ]
    if model.how.kuai:
        found.append(
            "As in Kuai, requests are handled one at a time and what precedes a barrier is done at once."
        )
    return tuple(found)
