"""Smaller automata by direct simulation.

A state simulates another if it can answer every edge of the other by one that can be taken on the
same letters (seen from the edges one by one), leads to a state that simulates the other's target, and
is accepting wherever the other is.  Then it accepts at least as much.  States that simulate each other
are one; an edge is left out where another one of the same state covers it and leads to a state that
simulates its target.
"""

from __future__ import annotations

from typing import Final

from penstock._verify.ltl.automaton import Automaton, Edge, trimmed

LARGEST: Final = 1000
"""An automaton with more edges is left as it is: finding the relation takes the square of them."""


def reduced(automaton: Automaton) -> Automaton:
    """Return an automaton that accepts the same words, with no more states and edges."""
    while 0 < sum(map(len, automaton.edges)) <= LARGEST:
        smaller = trimmed(_pruned(automaton))
        if smaller == automaton:
            break
        automaton = smaller
    return automaton


def _pruned(automaton: Automaton) -> Automaton:
    simulated = _simulation(automaton)
    states = range(len(automaton))
    stands_for = [next(q for q in states if q in simulated[p] and p in simulated[q]) for p in states]
    edges = tuple(_needed(automaton.edges[p], simulated, stands_for) for p in states)
    return Automaton(edges, automaton.accepting, stands_for[automaton.initial])


def _needed(edges: tuple[Edge, ...], simulated: list[set[int]], stands_for: list[int]) -> tuple[Edge, ...]:
    kept: list[Edge] = []
    candidates = list(dict.fromkeys(edge._replace(target=stands_for[edge.target]) for edge in edges))
    for place, edge in enumerate(candidates):
        rest = [*kept, *candidates[place + 1 :]]
        if not any(other.covers(edge) and edge.target in simulated[other.target] for other in rest):
            kept.append(edge)
    return tuple(kept)


def _simulation(automaton: Automaton) -> list[set[int]]:
    """Return for each state those that it simulates, itself included."""
    states, accepting = range(len(automaton)), automaton.accepting
    simulated = [{p for p in states if p not in accepting or q in accepting} for q in states]
    changed = True
    while changed:
        changed = False
        for q in states:
            for p in sorted(simulated[q]):
                if p != q and not _answers(automaton, q, p, simulated):
                    simulated[q].remove(p)
                    changed = True
    return simulated


def _answers(automaton: Automaton, q: int, p: int, simulated: list[set[int]]) -> bool:
    return all(
        any(answer.covers(edge) and edge.target in simulated[answer.target] for answer in automaton.edges[q])
        for edge in automaton.edges[p]
    )
