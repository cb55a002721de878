"""Tables that users write: what a key may be, and values made from them."""

from __future__ import annotations

import difflib
import inspect
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from penstock.errors import PenstockError

Table = Mapping[str, Any]
T = TypeVar("T")


def made_from(kind: Callable[..., T], options: Table, where: str) -> T:
    """Make a value of a kind from a table, refusing keys it does not have."""
    known = list(inspect.signature(kind).parameters)
    refuse_unknown(options, known, where)
    try:
        return kind(**options)
    except TypeError as error:
        raise PenstockError(f"[{where}] of the scenario does not fit: {error}.") from None


def refuse_unknown(table: Table, known: Sequence[str], where: str) -> None:
    """Refuse a table with keys that mean nothing, and say which was perhaps meant."""
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            allowed = ", ".join(known) or "nothing more"
            hint = f"did you mean {near[0]!r}?" if near else f"it may have {allowed}."
            raise PenstockError(f"The key {key!r} in {where} is unknown: {hint}")


def with_tuples(table: Table) -> dict[str, Any]:
    """Return a table with its lists made unchangeable."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def toml_of(table: Table) -> str:
    """Return plain data as TOML; nothing stands for a value that is left out."""
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    lines = [
        f"{_key(key)} = {_toml(value)}"
        for key, value in table.items()
        if key not in tables and value is not None
    ]
    for name, inner in tables.items():
        lines += ["", f"[{_key(name)}]"]
        lines += [f"{_key(key)} = {_toml(value)}" for key, value in inner.items() if value is not None]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = (f"{_key(key)} = {_toml(each)}" for key, each in value.items() if each is not None)
        return f"{{{', '.join(inner)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps(value).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name).replace("\x7f", "\\u007f")


def plain(value: Any) -> Any:
    """Return a value as plain data; what is none is named."""
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return f"<{getattr(value, '__name__', type(value).__name__)}>"
