"""Functions of libraries that are written in Python, followed while a program calls them with its inputs.

A library is not the program's, and others use it too, so its functions stay as they are.  Where a program
calls one with a value that depends on the inputs, its *twin* runs in its place: a function with the same
names, default values and closure, whose code was rewritten as the program's is.  What it calls in turn is
followed likewise.

A function without a source that can be found has no twin.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from penstock._concolic.code import in_place, rewrite
from penstock._concolic.run import MARK

_KNOWN: Final = ("penstock.", "os_ken.ofproto.", "os_ken.controller.", "os_ken.base.", "os_ken.lib.packet.")
"""Packages that know how to deal with values that depend on inputs, or hand them on to such."""

_KNOWN_MODULES: Final = frozenset(
    {"os_ken.lib.hub", "os_ken.lib.stringify", "os_ken.exception", "_weakrefset"}
)

_GENERATED: Final = "__create_fn__.<locals>."
"""How functions are called that Python writes for dataclasses; like those of named tuples they only hold."""

_twins: Final[dict[int, tuple[FunctionType, FunctionType | None]]] = {}


_OF_C: Final = "penstock._controllers.osken.determinism"
"""The module whose functions stand for some of Python's that are written in C: clocks, dice."""


def stands_for_c(function: Any) -> bool:
    """Tell whether a function is one of ours that a program has in place of one written in C."""
    return getattr(function, "__module__", None) == _OF_C


def is_stranger(function: Any) -> bool:
    """Tell whether a function is written in Python, but not followed, nor made for values that are."""
    plain = function.__func__ if isinstance(function, MethodType) else function
    if not isinstance(plain, FunctionType) or id(plain.__code__) in rewrite.FOLLOWED:
        return False
    module = str(plain.__globals__.get("__name__"))
    if plain.__code__.co_qualname.startswith(_GENERATED) or module.startswith("namedtuple_"):
        return False
    return not f"{module}.".startswith(_KNOWN) and module not in _KNOWN_MODULES


def twin(function: FunctionType) -> FunctionType | None:
    """Return a function that does the same and is followed, if there is one."""
    known = _twins.get(id(function))
    if known is None:
        known = _twins[id(function)] = (function, _twin(function))
    return known[1]


def _twin(function: FunctionType) -> FunctionType | None:
    module = sys.modules.get(str(function.__globals__.get("__name__")))
    if module is None or vars(module) is not function.__globals__:
        return None
    code = _codes(module).get(in_place.key_of(function.__code__))
    if code is None or code.co_freevars != function.__code__.co_freevars:
        return None
    if MARK not in vars(module):
        rewrite.equip(module, as_library=True)
    made = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    return made


@cache
def _codes(module: ModuleType) -> Mapping[in_place.Key, CodeType]:
    return in_place.rewritten_functions(module)
