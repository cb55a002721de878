"""Büchi automata over letters that are whole numbers, one bit per proposition.

An edge is taken on a letter that has all bits of `needs` and none of `bars`.  A run is accepted if it
passes through accepting states for ever.  States are numbers from 0; there is one initial state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Edge(NamedTuple):
    """One way on from a state."""

    needs: int
    bars: int
    target: int

    def admits(self, letter: int) -> bool:
        """Tell whether the edge can be taken on a letter."""
        return letter & self.needs == self.needs and not letter & self.bars

    def covers(self, other: Edge) -> bool:
        """Tell whether the edge can be taken on every letter on which another one can."""
        return self.needs & other.needs == self.needs and self.bars & other.bars == self.bars


@dataclass(frozen=True, slots=True)
class Automaton:
    """A Büchi automaton; without states it accepts nothing."""

    edges: tuple[tuple[Edge, ...], ...]
    accepting: frozenset[int]
    initial: int = 0

    def __len__(self) -> int:
        return len(self.edges)

    def successors(self, state: int, letter: int) -> list[int]:
        """Return the states to which a letter leads, each once."""
        return list(dict.fromkeys(edge.target for edge in self.edges[state] if edge.admits(letter)))

    def is_universal(self, state: int) -> bool:
        """Tell whether a state is one that accepts whatever comes."""
        return state in self.accepting and Edge(0, 0, state) in self.edges[state]

    @property
    def is_terminal(self) -> bool:
        """Whether a prefix decides: runs are accepted by reaching a universal state, and only so."""
        components = strong_components([[edge.target for edge in edges] for edges in self.edges])
        return all(
            self.is_universal(state) or not _cycles(self, state, components) for state in self.accepting
        )

    def accepts(self, stem: Sequence[int], loop: Sequence[int]) -> bool:
        """Tell whether the word stem · loop · loop · … is accepted."""
        if not self.edges:
            return False
        reached = {self.initial}
        for letter in stem:
            reached = {target for state in reached for target in self.successors(state, letter)}
        # The product with the loop: is an accepting state on a cycle that can be reached?
        numbers = {(state, 0): number for number, state in enumerate(sorted(reached))}
        pending, graph = list(numbers), []
        for state, place in pending:
            targets = []
            for target in self.successors(state, loop[place]):
                key = (target, (place + 1) % len(loop))
                if key not in numbers:
                    numbers[key] = len(numbers)
                    pending.append(key)
                targets.append(numbers[key])
            graph.append(targets)
        component = strong_components(graph)
        return any(
            state in self.accepting
            and any(component[target] == component[number] for target in graph[number])
            for (state, _), number in numbers.items()
        )


def _cycles(automaton: Automaton, state: int, component: Sequence[int]) -> bool:
    return any(component[edge.target] == component[state] for edge in automaton.edges[state])


def trimmed(automaton: Automaton) -> Automaton:
    """Leave out the states that cannot be reached or from which nothing is accepted."""
    graph = [[edge.target for edge in edges] for edges in automaton.edges]
    component = strong_components(graph)
    live = {state for state in automaton.accepting if _cycles(automaton, state, component)}
    grown = True
    while grown:
        more = {state for state, targets in enumerate(graph) if state not in live and live & set(targets)}
        live |= more
        grown = bool(more)
    if not automaton.edges or automaton.initial not in live:
        return Automaton((), frozenset())
    order = [automaton.initial]
    for state in order:
        order += dict.fromkeys(t for t in graph[state] if t in live and t not in order)
    number = {state: place for place, state in enumerate(order)}
    edges = tuple(
        tuple(
            edge._replace(target=number[edge.target])
            for edge in automaton.edges[state]
            if edge.target in live
        )
        for state in order
    )
    accepting = frozenset(
        number[state]
        for state in automaton.accepting
        if state in number and _cycles(automaton, state, component)
    )
    return Automaton(edges, accepting)


def strong_components(graph: Sequence[Sequence[int]]) -> list[int]:
    """Return for each node of a graph the number of its strongly connected component (Tarjan)."""
    index: dict[int, int] = {}
    low = [0] * len(graph)
    component = [-1] * len(graph)
    found = 0
    stack: list[int] = []
    for root in range(len(graph)):
        if root in index:
            continue
        path = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while path:
            node, targets = path[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    path.append((target, iter(graph[target])))
                    break
                if component[target] < 0:
                    low[node] = min(low[node], index[target])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    while component[node] < 0:
                        component[stack.pop()] = found
                    found += 1
    return component
