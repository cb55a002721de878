"""The named shapes: `topology("linear,3")`.

`minimal`, `single`, `reversed`, `linear`, `tree` and `torus` are Mininet's own, with Mininet's
names and port numbers.  The others follow its habits: h1 is on s1, and a switch's hosts have its
lowest ports.

- `ring,K` is `linear,K` with one more link, from the last switch to the first.
- `mesh,K` is K switches with one host each and a link between every two of them.
- `fattree,K` is the fat tree of K-port switches (Al-Fares, Loukissas and Vahdat, "A Scalable,
  Commodity Data Center Network Architecture", section 3).  Core switches have the lowest numbers,
  then the aggregation switches pod by pod, then the edge switches.  Below, ports 1 to K/2 lead
  down and the others up; port p of a core switch leads to pod p.

A shape is drawn on a `Canvas`, so that the stand-in for Mininet's own classes can share it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from penstock._base.text import meant_instead
from penstock._world.topology.builder import TopologyBuilder
from penstock._world.topology.value import Topology
from penstock.errors import PenstockError

MAX_SIZE = 120_000
"""The most hosts, switches and links together that a named shape may have."""


class Canvas(Protocol):
    """What a shape is drawn on: a `TopologyBuilder`, or a Mininet `Topo` behind the same names."""

    def add_host(self, name: str) -> str:
        """Add a host and return its name."""
        ...

    def add_switch(self, name: str, *, dpid: str | None = None) -> str:
        """Add a switch and return its name."""
        ...

    def add_link(self, node1: str, node2: str, port1: int | None = None, port2: int | None = None) -> object:
        """Wire two nodes together."""
        ...


def topology(text: str) -> Topology:
    """Return the topology that a text such as `linear,3` or `tree,2,2` names."""
    name, *given = (part.strip() for part in text.split(","))
    shape = _SHAPES.get(name)
    if shape is None:
        forms = " ".join(shape.form for shape in _SHAPES.values())
        near = meant_instead(name, _SHAPES)
        hint = f"choose one of {forms}" if near is None else f"did you mean {_SHAPES[near].example}"
        raise PenstockError(f"unknown topology {text!r}: {hint}{'.' if near is None else '?'}")
    numbers = shape.numbers(text, given)
    size = shape.size(*numbers)
    if size > MAX_SIZE:
        raise PenstockError(
            f"The topology {text!r} would have more than {MAX_SIZE} hosts, switches and links: "
            f"choose smaller numbers, as in {shape.example}."
        )
    builder = TopologyBuilder()
    shape.draw(builder, *numbers)
    return builder.build()


def single(canvas: Canvas, hosts: int) -> None:
    """Draw one switch with its hosts on ports 1, 2 and so on."""
    switch = canvas.add_switch("s1")
    for number in _one_to(hosts):
        canvas.add_link(canvas.add_host(f"h{number}"), switch)


def single_reversed(canvas: Canvas, hosts: int) -> None:
    """Draw one switch with its first host on the highest port."""
    switch = canvas.add_switch("s1")
    for number in _one_to(hosts):
        canvas.add_link(canvas.add_host(f"h{number}"), switch, port1=0, port2=hosts - number + 1)


def linear(canvas: Canvas, switches: int, hosts: int = 1) -> None:
    """Draw a row of switches, each linked to the one before it."""
    for number in _one_to(switches):
        switch = canvas.add_switch(f"s{number}")
        for position in _one_to(hosts):
            host = f"h{number}" if hosts == 1 else f"h{position}s{number}"
            canvas.add_link(canvas.add_host(host), switch)
        if number > 1:
            canvas.add_link(switch, f"s{number - 1}")


def tree(canvas: Canvas, depth: int, fanout: int) -> None:
    """Draw a tree of switches with the hosts as its leaves, everything numbered depth first."""
    counts = {"s": 0, "h": 0}

    def draw(level: int) -> str:
        letter = "s" if level else "h"
        counts[letter] += 1
        name = f"{letter}{counts[letter]}"
        if not level:
            return canvas.add_host(name)
        canvas.add_switch(name)
        for _ in range(fanout):
            canvas.add_link(name, draw(level - 1))
        return name

    draw(depth)


def torus(canvas: Canvas, rows: int, columns: int, hosts: int = 1) -> None:
    """Draw a grid of switches whose rows and columns close into rings."""
    grid = [(row, column) for row in _one_to(rows) for column in _one_to(columns)]
    for row, column in grid:
        place = f"{row}x{column}"
        switch = canvas.add_switch(f"s{place}", dpid=f"{row * 256 + column:x}")
        for position in _one_to(hosts):
            host = f"h{place}" if hosts == 1 else f"h{place}x{position}"
            canvas.add_link(canvas.add_host(host), switch)
    for row, column in grid:
        canvas.add_link(f"s{row}x{column}", f"s{row}x{column % columns + 1}")
        canvas.add_link(f"s{row}x{column}", f"s{row % rows + 1}x{column}")


def _ring(canvas: Canvas, switches: int) -> None:
    linear(canvas, switches)
    canvas.add_link(f"s{switches}", "s1")


def _mesh(canvas: Canvas, switches: int) -> None:
    for number in _one_to(switches):
        canvas.add_link(canvas.add_host(f"h{number}"), canvas.add_switch(f"s{number}"))
    for number in _one_to(switches):
        for other in range(number + 1, switches + 1):
            canvas.add_link(f"s{number}", f"s{other}")


def _fat_tree(canvas: Canvas, arity: int) -> None:
    half = arity // 2
    core, layer = half * half, arity * half
    for number in _one_to(core + 2 * layer):
        canvas.add_switch(f"s{number}")
    for index in range(layer):
        pod, position = divmod(index, half)
        aggregation, edge = f"s{core + 1 + index}", f"s{core + layer + 1 + index}"
        for branch in _one_to(half):
            canvas.add_link(aggregation, f"s{position * half + branch}", half + branch, pod + 1)
            canvas.add_link(edge, f"s{core + pod * half + branch}", half + branch, position + 1)
            canvas.add_link(canvas.add_host(f"h{index * half + branch}"), edge, port2=branch)


def _one_to(number: int) -> range:
    return range(1, number + 1)


@dataclass(frozen=True, slots=True)
class _Argument:
    letter: str
    lowest: int
    highest: int = 10_000
    even: bool = False

    def number(self, text: str, given: str, example: str) -> int:
        number = int(given) if re.fullmatch(r"[0-9]{1,9}", given) else -1
        if not self.lowest <= number <= self.highest or (self.even and number % 2):
            kind = "an even number" if self.even else "an integer"
            raise PenstockError(
                f"invalid {self.letter} = {given!r} in the topology {text!r}: must be {kind} from "
                f"{self.lowest} to {self.highest}, as in {example}."
            )
        return number


@dataclass(frozen=True, slots=True)
class _Shape:
    form: str
    example: str
    draw: Callable[..., None]
    size: Callable[..., int]
    arguments: tuple[_Argument, ...] = ()
    optional: int = 0

    def numbers(self, text: str, given: list[str]) -> list[int]:
        most = len(self.arguments)
        if not most - self.optional <= len(given) <= most:
            raise PenstockError(f"invalid topology {text!r}: must be {self.form}, as in {self.example}.")
        pairs = zip(self.arguments, given, strict=False)
        return [argument.number(text, part, self.example) for argument, part in pairs]


_SHAPES = {
    "minimal": _Shape("minimal", "minimal", lambda canvas: single(canvas, 2), lambda: 5),
    "single": _Shape("single,K", "single,4", single, lambda k: 1 + 2 * k, (_Argument("K", 1),)),
    "reversed": _Shape(
        "reversed,K", "reversed,4", single_reversed, lambda k: 1 + 2 * k, (_Argument("K", 1),)
    ),
    "linear": _Shape(
        "linear,K[,H]",
        "linear,3",
        linear,
        lambda k, h=1: 2 * k - 1 + 2 * k * h,
        (_Argument("K", 1), _Argument("H", 1)),
        optional=1,
    ),
    "tree": _Shape(
        "tree,D,F",
        "tree,2,2",
        tree,
        lambda d, f: 2 * sum(f**level for level in range(d + 1)) - 1,
        (_Argument("D", 1, highest=64), _Argument("F", 1)),
    ),
    "torus": _Shape(
        "torus,X,Y[,H]",
        "torus,3,3",
        torus,
        lambda x, y, h=1: x * y * (3 + 2 * h),
        (_Argument("X", 3, highest=255), _Argument("Y", 3, highest=255), _Argument("H", 1)),
        optional=1,
    ),
    "ring": _Shape("ring,K", "ring,3", _ring, lambda k: 4 * k, (_Argument("K", 3),)),
    "mesh": _Shape("mesh,K", "mesh,4", _mesh, lambda k: 3 * k + k * (k - 1) // 2, (_Argument("K", 2),)),
    "fattree": _Shape(
        "fattree,K", "fattree,4", _fat_tree, lambda k: 5 * k**2 // 4 + k**3, (_Argument("K", 2, even=True),)
    ),
}
