"""Is a formula true of every run of a system?

The negation is translated to an automaton; a run it accepts breaks the formula.  Where a prefix decides
(invariants, and all that must not happen) the search is plain reachability; otherwise it is nested
depth-first search, with weak fairness if that is asked for.  Every counterexample is replayed.

A replay trusts neither the automaton nor the search: it takes the run's transitions again one by one, and
evaluates the formula on the word of the run by the definition of its operators alone.

For formulas whose violation shows in a prefix.  Fairness does not matter here: every prefix goes on to a
fair run.

Two searches in one (Courcoubetis, Vardi, Wolper and Yannakakis 1992), with the colours of Schwoon and
Esparza (TACAS 2005).  The outer search colours a node cyan while it is on its path and blue when it is
left.  On leaving an accepting node an inner search looks from it for a cyan one, over blue nodes only,
which it colours red: they never need to be looked at again.  A cycle through an accepting node is also
noticed where the outer search meets its own path.  Both searches keep their paths in lists: runs are
longer than Python's stack is deep.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from penstock._explore.search import PERIOD, Bounds, Stop, peak_rss_mb
from penstock._verdict import verdict as stopping
from penstock._verify.ltl.core import FALSE, Release, holds, is_propositional, negation
from penstock._verify.ltl.grounding import Grounded, ground
from penstock._verify.ltl.meaning import Interpretation
from penstock._verify.ltl.parser import parse
from penstock._verify.ltl.product import Move, Node, Product, Step, System
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


# Runs that break a property: a stem, and a loop that repeats for ever; and their replay.


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A run that breaks a property.

    With `ending` "prefix" the stem alone does, whatever follows; with "rest" nothing can happen after the
    stem and the last state stays for ever; with "loop" the loop repeats for ever.
    """

    stem: tuple[Move, ...]
    loop: tuple[Move, ...] = ()
    ending: Literal["prefix", "rest", "loop"] = "loop"

    def __str__(self) -> str:
        parts = [*(f"{number}. {move}" for number, move in enumerate(self.stem, 1))]
        if self.ending == "rest":
            parts.append("and nothing can happen any more.")
        if self.loop:
            parts.append("and then again and again:")
            parts += (f"{number}. {move}" for number, move in enumerate(self.loop, len(self.stem) + 1))
        return "\n".join(parts)


def divergence(run: Counterexample, product: Product, grounded: Grounded, fair: Sequence[Hashable]) -> str:
    """Return why a run is no counterexample after all, as a sentence; empty if it is one.

    `grounded` is the formula that the run must break.
    """
    state = product.initial()[0]
    stem: list[int] = [product.letter(state)]
    loop: list[int] = []
    for letters, moves in ((stem, run.stem), (loop, run.loop)):
        for move in moves:
            if move not in product.moves(state):
                return f"The transition {move} could not be taken again."
            state = move.state
            letters += [product.letter(*moment) for moment in product.moments(move)]
    last = run.stem[-1].state if run.stem else product.initial()[0]
    if run.ending == "loop" and (not run.loop or run.loop[-1].state != last):
        return "The loop does not come back to where it began."
    if run.ending == "rest" and product.moves(state):
        return "Something can still happen where the run was said to end."
    if run.ending == "prefix":
        loop = stem[-1:]
    if holds(grounded.core, stem, loop or stem[-1:]):
        return "The property holds of this run."
    return _unfairness(run, product, fair) if run.ending == "loop" else ""


def _unfairness(run: Counterexample, product: Product, fair: Sequence[Hashable]) -> str:
    """Return which actor the loop treats unfairly, as a sentence."""
    acted = {move.actor for move in run.loop}
    for actor in fair:
        if actor not in acted and all(
            any(possible.actor == actor for possible in product.moves(move.state)) for move in run.loop
        ):
            return f"The run is not fair: {actor} can act for ever and never does."
    return ""


# Safety by plain reachability, breadth first, so that a broken run is as short as can be.


def shortest_accepted_prefix(product: Product, meter: Meter) -> Counterexample | None:
    """Return a shortest run whose prefix decides that the automaton, a terminal one, accepts it."""
    automaton = product.automaton
    universal = {state for state in range(len(automaton)) if automaton.is_universal(state)}
    start = product.initial()
    parents: dict[Node, tuple[Move | None, Node] | None] = {start: None}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        meter.node()
        if not universal.isdisjoint(product.reads(node)):
            return Counterexample(_path(node, parents), ending="prefix")
        for move, after in product.successors(node):
            meter.transitions += 1
            if after not in parents:
                parents[after] = (move, node)
                waiting.append(after)
    return None


def _path(node: Node, parents: dict[Node, tuple[Move | None, Node] | None]) -> tuple[Move, ...]:
    found = []
    while (step := parents[node]) is not None:
        move, node = step
        if move is not None:
            found.append(move)
    return tuple(reversed(found))


# Is there a run that passes through accepting nodes for ever?  Nested depth-first search.


_CYAN, _BLUE, _RED = 0, 1, 2

_Path = list[tuple[Move | None, Node, Iterator[Step]]]
"""Nodes, each with the move that led to it and what is still to be tried from it."""


def accepted_run(product: Product, meter: Meter) -> Counterexample | None:
    """Return a run of a product that is accepted, or None if there is none."""
    colours: dict[Node, int] = {}
    path: _Path = []
    _enter(path, None, product.initial(), product, meter, colours)
    while path:
        _, node, steps = path[-1]
        for move, after in steps:
            meter.transitions += 1
            colour = colours.get(after)
            if colour == _CYAN and (product.is_accepting(node) or product.is_accepting(after)):
                return _lasso(path, [], move, after)
            if colour is None:
                _enter(path, move, after, product, meter, colours)
                break
        else:
            if product.is_accepting(node):
                found = _back_to_the_path(product, meter, colours, path)
                if found is not None:
                    return found
                colours[node] = _RED
            else:
                colours[node] = _BLUE
            path.pop()
    return None


def _enter(
    path: _Path, move: Move | None, node: Node, product: Product, meter: Meter, colours: dict[Node, int]
) -> None:
    meter.node()
    colours[node] = _CYAN
    path.append((move, node, product.successors(node)))


def _back_to_the_path(
    product: Product, meter: Meter, colours: dict[Node, int], path: _Path
) -> Counterexample | None:
    """Search from the last node of the path for any node of the path."""
    seed = path[-1][1]
    inner: _Path = [(None, seed, product.successors(seed))]
    while inner:
        for move, after in inner[-1][2]:
            meter.transitions += 1
            colour = colours[after]
            if colour == _CYAN:
                return _lasso(path, inner[1:], move, after)
            if colour == _BLUE:
                colours[after] = _RED
                inner.append((move, after, product.successors(after)))
                break
        else:
            inner.pop()
    return None


def _lasso(path: _Path, inner: _Path, closing: Move | None, target: Node) -> Counterexample:
    """Return the run along both paths and back to a node of the first."""
    back = next(place for place, (_, node, _) in enumerate(path) if node == target)
    stem = _moves(move for move, _, _ in path[: back + 1])
    loop = _moves([*(move for move, _, _ in [*path[back + 1 :], *inner]), closing])
    return Counterexample(stem, loop, "loop" if loop else "rest")


def _moves(steps: Iterable[Move | None]) -> tuple[Move, ...]:
    return tuple(move for move in steps if move is not None)


# How far a search has come, and where it stops by itself.


class Meter:
    """Counts the nodes and transitions of one search and holds them against its bounds.

    `depth` among the bounds means nothing here.
    """

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._started = time.monotonic()
        self.nodes = 0
        self.transitions = 0

    @property
    def seconds(self) -> float:
        """How long the search has taken."""
        return time.monotonic() - self._started

    def node(self) -> None:
        """Count a node; raise `Stop` where a bound is reached."""
        self.nodes += 1
        bounds = self._bounds
        if bounds.states is not None and self.nodes > bounds.states:
            raise Stop(stopping.states(bounds.states))
        if self.nodes % PERIOD == 0:
            if bounds.seconds is not None and self.seconds >= bounds.seconds:
                raise Stop(stopping.seconds(bounds.seconds))
            if bounds.memory_mb is not None and peak_rss_mb() >= bounds.memory_mb:
                raise Stop(stopping.memory(bounds.memory_mb))
