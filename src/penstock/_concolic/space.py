"""The inputs of a run: which there are, what they may be, and which values are preferred."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from penstock._concolic.terms import Term, var

Inputs = Mapping[str, int]
"""A value for every variable."""


@dataclass(frozen=True, slots=True)
class Variable:
    """An input: its name, how many bits it has, and the values to try first.

    The first preferred value is what it is where nothing depends on it.  `kind` is how it is
    written for people: `mac`, `ipv4`, `ipv6`, `hex` or `number`.
    """

    name: str
    width: int
    preferred: tuple[int, ...] = (0,)
    kind: str = "number"

    @property
    def term(self) -> Term:
        """The variable as a term."""
        return var(self.name, self.width)


@dataclass(frozen=True)
class Space:
    """All inputs, in the order in which their values are chosen, and what is always true of them."""

    variables: tuple[Variable, ...]
    constraints: tuple[Term, ...] = field(default=())

    @cached_property
    def by_name(self) -> Mapping[str, Variable]:
        """The variables by name."""
        return {variable.name: variable for variable in self.variables}
