"""The properties of the registry that a proof decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from penstock._base.text import hint
from penstock._properties.base import Property
from penstock._properties.controllers import ControllerCrash, ControllerHang, NoAmbiguousRules
from penstock._properties.registry import PROPERTIES, WEAKER, canonical, installed_properties
from penstock._verify.invariants import NoLoops
from penstock.errors import PenstockError

NAMED: Final[Mapping[str, Callable[[], Property]]] = {
    "NoForwardingLoops": NoLoops,
    "NoAmbiguousRules": NoAmbiguousRules,
    "ControllerCrash": ControllerCrash,
    "ControllerHang": ControllerHang,
}

_CONSTANTS: Final = ("true", "false")
_NAME: Final = re.compile(r"[A-Za-z_]\w*|[^\n]*?\.py:[^\n]*+")


def named_property(text: str) -> Property | None:
    """Return the property that a name stands for; None for what is a formula."""
    name = canonical(text.strip())
    if name in NAMED:
        return NAMED[name]()
    if _NAME.fullmatch(text) and text not in _CONSTANTS:
        otherwise = f"give a formula, as in 'G forall p in h2.rcvq: not p.ssh', or one of {', '.join(NAMED)}."
        if name in (*PROPERTIES, *installed_properties()):
            raise PenstockError(f"A proof does not decide {name}, which penstock check does: {otherwise}")
        raise PenstockError(f"A proof knows no property {text!r}: {hint(name, NAMED, otherwise)}")
    return None


def weaker_form(text: str) -> str:
    """Return what a proof decides in place of a property, in a sentence; "" if it decides that itself."""
    name = canonical(text.strip())
    return f"{name} is decided in a weaker form: {WEAKER[name]}." if name in WEAKER else ""


def known_of(properties: Iterable[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which of a scenario's own properties a proof knows, and the names of the others."""
    names = [canonical(_name_of(given)) for given in properties]
    return tuple(name for name in names if name in NAMED), tuple(n for n in names if n not in NAMED)


def _name_of(given: Any) -> str:
    if isinstance(given, Mapping):
        return str(given.get("name"))
    return given if isinstance(given, str) else str(getattr(given, "name", given))
