"""Saying how two values differ, down to the innermost part that does.

Long lists of records differ in one field of one record more often than not; showing them whole
would hide it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

_MOST_LINES = 12


def contrast(place: str, model: Any, ovs: Any) -> list[str]:
    """Return lines that name each part in which two values differ."""
    lines = list(_parts("", model, ovs))
    shown = [f"  at {place}{path}:\n    model: {_text(a)}\n    OVS:   {_text(b)}" for path, a, b in lines]
    if len(shown) > _MOST_LINES:
        shown = [*shown[:_MOST_LINES], f"  ... and in {len(shown) - _MOST_LINES} more places"]
    return shown


def _parts(path: str, model: Any, ovs: Any) -> Iterator[tuple[str, Any, Any]]:
    if model == ovs:
        return
    if isinstance(model, tuple) and isinstance(ovs, tuple) and not hasattr(model, "_fields"):
        if len(model) == len(ovs):
            for index, (ours, theirs) in enumerate(zip(model, ovs, strict=True)):
                yield from _parts(f"{path}[{index}]", ours, theirs)
            return
        ours = tuple(item for item in model if item not in ovs)
        theirs = tuple(item for item in ovs if item not in model)
        yield path, ours or model, theirs or ovs
    elif is_dataclass(model) and type(model) is type(ovs):
        for field in fields(model):
            yield from _parts(f"{path}.{field.name}", getattr(model, field.name), getattr(ovs, field.name))
    else:
        yield path, model, ovs


def _text(value: Any) -> str:
    match value:
        case bytes():
            return value.hex() or "no bytes"
        case tuple() if not hasattr(value, "_fields"):
            return "; ".join(map(_text, value)) or "nothing"
        case _:
            return repr(value)
