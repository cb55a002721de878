"""Is a formula true of every run of a system?

The negation is translated to an automaton; a run it accepts breaks the formula.  Where a prefix decides
(invariants, and all that must not happen) the search is plain reachability; otherwise it is nested
depth-first search, with weak fairness if that is asked for.  Every counterexample is replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from penstock._explore.search import Bounds, Stop
from penstock._verify.ltl.core import FALSE, Release, holds, is_propositional, negation
from penstock._verify.ltl.counterexamples import Counterexample, divergence
from penstock._verify.ltl.grounding import Grounded, ground
from penstock._verify.ltl.meaning import Interpretation
from penstock._verify.ltl.metering import Meter
from penstock._verify.ltl.nested_search import accepted_run
from penstock._verify.ltl.parser import parse
from penstock._verify.ltl.product import Product, System
from penstock._verify.ltl.reachability import shortest_accepted_prefix
from penstock._verify.ltl.signature import Signature, check
from penstock._verify.ltl.translation import automaton_of


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a search for a broken run came to; `nodes` are pairs of a state and an automaton's."""

    result: Literal["proved", "violated", "bounded"]
    method: Literal["reachability", "nested search"]
    counterexample: Counterexample | None = None
    divergence: str = ""
    """Why the counterexample, run again, is none; empty if it is one."""
    stopped_by: str = ""
    automaton_states: int = 0
    nodes: int = 0
    transitions: int = 0
    seconds: float = 0.0


def property_of(text: str, signature: Signature, interpretation: Interpretation, first: Any) -> Grounded:
    """Return the property that a text stands for, checked; `first` is the first state of the model."""
    formula = parse(text)
    check(formula, signature, text)
    return ground(formula, interpretation, first)


def invariant_of(grounded: Grounded) -> Callable[[Any, Any], bool] | None:
    """Return the predicate on moments that a property demands of all, if that is all it demands.

    So a search that knows nothing of automata, but has reductions of its own, can decide it.
    """
    core = grounded.core
    if not isinstance(core, Release) or core.left != FALSE or not is_propositional(core.right):
        return None
    body = core.right
    return lambda state, label: holds(body, (), (grounded.letter(state, label),))


def is_safety(grounded: Grounded) -> bool:
    """Tell whether a property is seen to be one whose violations show in a prefix of a run."""
    return automaton_of(negation(grounded.core)).is_terminal


def decide(
    system: System,
    grounded: Grounded,
    *,
    fair: Sequence[Hashable] = (),
    bounds: Bounds | None = None,
    situation: Callable[[Any], Hashable] | None = None,
) -> Verdict:
    """Look for a run that breaks a property.

    `fair` are the actors that are taken to be treated weakly fairly.  `situation` gives what the
    propositions depend on of a state, where that is less than the state, so that they are
    evaluated less often.
    """
    automaton = automaton_of(negation(grounded.core))
    terminal = automaton.is_terminal
    method: Literal["reachability", "nested search"] = "reachability" if terminal else "nested search"
    meter = Meter(bounds or Bounds())
    product = Product(system, grounded, automaton, fair=() if terminal else fair, situation=situation)
    run, stopped_by = None, ""
    try:
        if len(automaton):
            run = (shortest_accepted_prefix if terminal else accepted_run)(product, meter)
    except Stop as stop:
        stopped_by = stop.bound
    return Verdict(
        "violated" if run is not None else "bounded" if stopped_by else "proved",
        method,
        run,
        "" if run is None else divergence(run, product, grounded, fair),
        stopped_by,
        len(automaton),
        meter.nodes,
        meter.transitions,
        meter.seconds,
    )
