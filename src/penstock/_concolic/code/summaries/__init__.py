"""What functions of libraries mean for values that depend on the inputs: one module for each library.

A summary is called with the arguments of the function it is about, when one of them depends on the
inputs.  It returns what the function would, as a value that still depends on them, or says that it
cannot (`UNFOLLOWED`: the arguments are then made concrete, and the loss is noted) or that the function
itself is to be called with these very arguments (`PLAIN`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final


class Outcome(Enum):
    """What a summary may return in place of a result."""

    PLAIN = "call the function as it is"
    UNFOLLOWED = "go on with concrete values"


PLAIN: Final = Outcome.PLAIN
UNFOLLOWED: Final = Outcome.UNFOLLOWED

Summary = Callable[..., Any]
Functions = Mapping[tuple[str, str], Summary]
"""Summaries of functions and classes, by their module and their qualified name there."""

Methods = Mapping[tuple[type, str], Summary]
"""Summaries of methods written in C, by class and name; these get the bound method and its object first."""
