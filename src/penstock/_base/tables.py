"""Tables that users write: what a key may be, and values made from them."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from penstock._base.clean_text import json_text
from penstock._base.suggesting import hint
from penstock._base.typed import Place, about, described, fit, hints_of, table_keys

Table = Mapping[str, Any]
T = TypeVar("T")


def made_from(kind: Callable[..., T], options: Table, where: str) -> T:
    """Make a value of a kind from a table, whose keys and values must be those of its parameters."""
    return kind(**fitted(kind, options, f"[{where}]"))


def fitted(kind: Callable[..., Any], options: Table, where: str, given: Sequence[str] = ()) -> dict[str, Any]:
    """Return options as the parameters of a kind want them; `given` are those that others give it."""
    parameters = inspect.signature(kind).parameters
    known = [name for name, each in parameters.items() if name not in given and each.kind not in _REST]
    if not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values()):
        refuse_unknown(options, known, where)
    hints = hints_of(kind)
    for name in known:
        if parameters[name].default is inspect.Parameter.empty and name not in options:
            wanted = described(hints.get(name, Any))
            sentence = f"{where[0].upper()}{where[1:]} has no {name!r}: it must be {wanted}."
            raise about(table_keys(where), sentence)
    return {name: fit(value, hints.get(name, Any), Place(name, where)) for name, value in options.items()}


_REST: Final = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


def refuse_unknown(table: Table, known: Sequence[str], where: str) -> None:
    """Refuse a table with keys that mean nothing, and say which was perhaps meant."""
    for key in table:
        if key not in known:
            otherwise = f"it may have {', '.join(known) or 'nothing more'}."
            sentence = f"The key {key!r} in {where} is unknown: {hint(key, known, otherwise)}"
            raise about((*table_keys(where), key), sentence)


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
    return _string(value) if isinstance(value, str) else json_text(value)


def _string(text: str) -> str:
    """Return a text as TOML: as JSON, but for characters that JSON writes as two escapes."""
    inside = (f"\\U{ord(each):08x}" if each > "\uffff" else json_text(each)[1:-1] for each in text)
    return f'"{"".join(inside)}"'


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _string(name)


def plain(value: Any) -> Any:
    """Return a value as plain data; what is none is named."""
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return f"<{getattr(value, '__name__', type(value).__name__)}>"
