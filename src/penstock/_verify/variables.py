"""The variables of a controller program, read out of its saved states.

A program's state is a snapshot of its objects (`_controllers.snapshot`).  Here the attributes of the
program, or of an os-ken app, are read from such a snapshot without the program being touched; collections
become values that can be compared.  Attributes that begin with an underscore are the program's own business.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

from penstock._controllers.controller import Controller
from penstock._controllers.snapshot import Snapshot

_APPS: Final = frozenset({"OSKenApp", "RyuApp"})
_DEEPEST: Final = 8
"""How deep collections are followed; what is deeper is not told apart."""


def variables_of(program: Any) -> Mapping[str, Any]:
    """Return the variables of a program in one of its states, by name; none if it keeps them elsewhere."""
    snapshot = snapshot_of(program)
    if snapshot is None:
        return {}
    contents = {id(entry[0]): entry for entry in snapshot.entries}
    found: dict[str, Any] = {}
    for owner, _, held, _, _ in snapshot.entries:
        if _is_program(owner) and held and isinstance(held[0], Mapping):
            for name, value in held[0].items():
                if isinstance(name, str) and not name.startswith("_"):
                    found.setdefault(name, _resolved(value, contents, _DEEPEST))
    return found


def snapshot_of(program: Any) -> Snapshot | None:
    """Return the snapshot in a program's state, if it has one."""
    parts = program if isinstance(program, tuple) else (getattr(program, "snapshot", None),)
    return next((part for part in parts if isinstance(part, Snapshot)), None)


def _is_program(owner: object) -> bool:
    return isinstance(owner, Controller) or any(kind.__name__ in _APPS for kind in type(owner).__mro__)


def _resolved(value: Any, contents: Mapping[int, Any], depth: int) -> Hashable:
    """Return a value as the snapshot has it, whatever has become of the object since."""
    entry = contents.get(id(value))
    if entry is None or not entry[2]:
        return value if isinstance(value, Hashable) else repr(value)
    held = entry[2][0]
    if not depth:
        return f"<{type(value).__name__}>"
    if isinstance(value, dict):
        return frozenset(
            (_resolved(key, contents, depth - 1), _resolved(inner, contents, depth - 1))
            for key, inner in held.items()
        )
    if isinstance(value, set):
        return frozenset(_resolved(inner, contents, depth - 1) for inner in held)
    if isinstance(value, list):
        return tuple(_resolved(inner, contents, depth - 1) for inner in held)
    return f"<{type(value).__name__}>"
