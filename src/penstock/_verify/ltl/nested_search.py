"""Is there a run that passes through accepting nodes for ever?  Nested depth-first search.

Two searches in one (Courcoubetis, Vardi, Wolper and Yannakakis 1992), with the colours of Schwoon and
Esparza (TACAS 2005).  The outer search colours a node cyan while it is on its path and blue when it is
left.  On leaving an accepting node an inner search looks from it for a cyan one, over blue nodes only,
which it colours red: they never need to be looked at again.  A cycle through an accepting node is also
noticed where the outer search meets its own path.  Both searches keep their paths in lists: runs are
longer than Python's stack is deep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock._verify.ltl.counterexamples import Counterexample
from penstock._verify.ltl.metering import Meter
from penstock._verify.ltl.product import Move, Node, Product, Step

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
