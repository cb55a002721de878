"""The properties that a proof knows by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from penstock._base.suggesting import hint
from penstock._properties.ambiguous import NoAmbiguousRules
from penstock._properties.base import Property
from penstock._properties.controllers import ControllerCrash, ControllerHang
from penstock._verify.invariants import NoLoops
from penstock.errors import PenstockError

NAMED: Final[Mapping[str, Callable[[], Property]]] = {
    "NoLoops": NoLoops,
    "NoForwardingLoops": NoLoops,
    "NoAmbiguousRules": NoAmbiguousRules,
    "ControllerCrash": ControllerCrash,
    "ControllerHang": ControllerHang,
}
"""The properties that have a name; the second is the property of `check` that comes next to the first."""

NEARLY: Final = {
    "NoForwardingLoops": "NoForwardingLoops is judged as NoLoops: no packet comes back to a switch that it "
    "has left. One that comes in twice without coming back, which check counts too, is no loop here.",
}
"""What is to be said of properties that mean a little less here than in a search."""

_CONSTANTS: Final = ("true", "false")
_NAME: Final = re.compile(r"[A-Za-z_]\w*|[^\n]*?\.py:[^\n]*+")


def named_property(text: str) -> Property | None:
    """Return the property that a name stands for; None for what is a formula."""
    made = NAMED.get(text.strip())
    if made is not None:
        return made()
    if _NAME.fullmatch(text) and text not in _CONSTANTS:
        otherwise = f"give a formula, as in 'G forall p in h2.rcvq: not p.ssh', or one of {', '.join(NAMED)}."
        raise PenstockError(f"A proof knows no property {text!r}: {hint(text, NAMED, otherwise)}")
    return None


def known_of(properties: Iterable[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which of a scenario's own properties a proof knows, and the names of the others."""
    names = [_name_of(given) for given in properties]
    return tuple(name for name in names if name in NAMED), tuple(n for n in names if n not in NAMED)


def _name_of(given: Any) -> str:
    if isinstance(given, Mapping):
        return str(given.get("name"))
    return given if isinstance(given, str) else str(getattr(given, "name", given))
