"""Safety by plain reachability, breadth first, so that a broken run is as short as can be.

For formulas whose violation shows in a prefix.  Fairness does not matter here: every prefix goes on to a
fair run.
"""

from __future__ import annotations

from collections import deque

from penstock._verify.ltl.counterexamples import Counterexample
from penstock._verify.ltl.metering import Meter
from penstock._verify.ltl.product import Move, Node, Product


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
