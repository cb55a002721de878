"""Putting texts together: f-strings, `%`, `str.format`, `format`, `str` and `repr`.

What can be said of texts in general is in `texts`; here are templates, and the texts of other objects.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from string import Formatter
from types import FunctionType
from typing import Any, Final, cast

from penstock._concolic.code import library, lookups
from penstock._concolic.code.summaries import PLAIN, UNFOLLOWED, Functions, Methods, Outcome, addresses
from penstock._concolic.run import Run, lose
from penstock._concolic.values import unknown
from penstock._concolic.values.escapes import Symbolic, Unfollowed
from penstock._concolic.values.integers import SymBool, SymInt, plain, term_of
from penstock._concolic.values.parts import bears, concrete, holds, is_symbolic
from penstock._concolic.values.sym_bytes import SymBytes
from penstock._concolic.values.sym_str_build import Piece, SymStr, decimal, format_value, join_texts, text
from penstock._concolic.values.tables import Tabled, tabulated

# The hooks of f-strings and of `%`.


def joined(parts: Sequence[str]) -> str:
    """Return the parts of an f-string as one text."""
    return "".join(parts) if Run.current is None else join_texts("", parts)


def interpolated(value: Any, conversion: str = "") -> Any:
    """Return what is to stand in an f-string for a value."""
    if Run.current is None:
        return _CONVERSIONS[conversion](value) if conversion else value
    if conversion:
        value = _FOLLOWED_CONVERSIONS[conversion](value)
    followed = bears(value) or isinstance(value, addresses.NETWORKS) or type(value) in _COLLECTIONS
    return _Interpolated(value) if followed else value


def to_format(value: Any, conversion: str = "") -> Any:
    """Return what is to stand in an f-string for a value that is written as something else says."""
    if Run.current is None:
        return interpolated(value, conversion)
    return _Interpolated(_FOLLOWED_CONVERSIONS[conversion](value) if conversion else value)


class _Interpolated:
    """Stands in for a value in an f-string."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __format__(self, spec: str) -> str:
        return formatted(self._value, spec)


def template(value: Any) -> Any:
    """Return what is to stand for a text or bytes on the left of `%`."""
    return _Template(value) if isinstance(value, str) else _BytesTemplate(value)


class _Fetching(dict[Any, Any]):
    """A mapping whose keys depend on inputs, for code that would find them by their hash."""

    def __init__(self, mapping: Any) -> None:
        super().__init__()
        self._mapping = mapping

    def __getitem__(self, key: Any) -> Any:
        return lookups.fetch(self._mapping, key)

    def __missing__(self, key: Any) -> Any:
        return lookups.fetch(self._mapping, key)


def _by_keys(values: Any) -> Any:
    """Return what a template is filled in with, so that keys are found as the program would find them."""
    return _Fetching(values) if isinstance(values, dict) and lookups.varies(values) else values


class _Template:
    """Stands in for a text on the left of `%`."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __mod__(self, values: Any) -> str:
        return interpolate(self._text, _by_keys(values))


class _BytesTemplate:
    """Stands in for bytes on the left of `%`."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes | bytearray) -> None:
        self._data = data

    def __mod__(self, values: Any) -> Any:
        parts = values if isinstance(values, tuple) else (values,)
        kinds = [field["type"] for field in _FIELD.finditer(self._data.decode("latin-1"))]
        if not bears(values):
            return self._data % values
        numbers = all(isinstance(part, int) for part in parts) and set(kinds) <= set("diuoxX%")
        if type(self._data) is bytes and numbers:
            # What is written of whole numbers is the same as in a text.
            return interpolate(self._data.decode("latin-1"), values).encode("latin-1")
        lose("%")
        return self._data % concrete(values)


# Single values.


def text_of(value: Any) -> str:
    """Return `str(value)`."""
    if type(value) is Tabled:
        return _tabled(str, value)
    if isinstance(value, SymStr):
        return value
    if isinstance(value, SymBool):
        return "True" if value else "False"
    if isinstance(value, SymInt):
        return decimal(plain(value), term_of(value))
    if (address := addresses.text_of_address(value)) is not None:
        return address
    if type(value).__module__.startswith("os_ken.") and any(
        map(bears, getattr(value, "__dict__", {}).values())
    ):
        return cast(str, unknown.unknown(str(value)))
    # A class of the program's own may well put its text together from what depends on the inputs.
    return repr_of(value) if type(value) in _COLLECTIONS else _by_method(str, "__str__", value)


def repr_of(value: Any) -> str:
    """Return `repr(value)`."""
    if type(value) is Tabled:
        return _tabled(repr, value)
    if isinstance(value, SymStr):
        quoted = [piece if isinstance(piece, Piece) else repr(piece)[1:-1] for piece in value.pieces]
        shown = repr(concrete(value))
        if shown.startswith("'") and not any(
            isinstance(piece, Piece) and piece.form == "c" for piece in quoted
        ):
            return text(("'", *quoted, "'"), shown)
        return repr(value)
    if isinstance(value, SymInt | SymBool):
        return text_of(value)
    if type(value) in _BRACKETS and any(bears(item) or _tells_by_itself(item) for item in value):
        before, after = _BRACKETS[type(value)]
        inside = join_texts(", ", map(repr_of, value))
        return join_texts("", [before, inside, ",)" if before == "(" and len(value) == 1 else after])
    if type(value) is dict and any(map(_tells_by_itself, value.values())):
        pairs = (join_texts("", [repr_of(key), ": ", repr_of(item)]) for key, item in value.items())
        return join_texts("", ["{", join_texts(", ", pairs), "}"])
    if isinstance(value, _COLLECTIONS) and any(map(_tells_by_itself, value)):
        lose("repr")
    return _by_method(repr, "__repr__", value)


def _by_method(function: Callable[..., str], name: str, value: Any, *more: Any) -> str:
    """Return the text of an object; what the method of a library writes of it is lost."""
    if library.is_stranger(getattr(type(value), name)) and holds(value):
        lose(f"{type(value).__name__}.{name}")
    return function(value, *more)


_COLLECTIONS: Final = (list, tuple, dict, set, frozenset, deque)
"""Containers whose texts C puts together of those of their members."""


def _tells_by_itself(value: Any) -> bool:
    """Tell whether an object's text is made by Python code, of what may depend on the inputs."""
    if type(value) in (list, tuple):
        return any(map(_tells_by_itself, value))
    if type(value) is dict:
        return any(map(_tells_by_itself, value.values()))
    return isinstance(type(value).__repr__, FunctionType) and not isinstance(value, Symbolic)


def _tabled(function: Callable[..., str], *arguments: Any) -> str:
    try:
        return cast(str, tabulated(function, *arguments))
    except Unfollowed:
        return function(*arguments)


def ascii_of(value: Any) -> str:
    """Return `ascii(value)`."""
    return repr_of(value) if isinstance(value, SymStr | SymInt | SymBool) else ascii(value)


def formatted(value: Any, spec: str = "") -> str:
    """Return `format(value, spec)`."""
    if type(value) is Tabled:
        return _tabled(format, value, spec)
    if isinstance(value, SymInt | SymStr):
        return format_value(value, spec)
    if is_symbolic(spec):
        lose("format")
    if isinstance(value, SymBool):
        return format(bool(value), concrete(spec))
    if not spec or (spec[-1:] == "s" and addresses.text_of_address(value) is not None):
        return format_value(text_of(value), spec)
    return _by_method(format, "__format__", value, concrete(spec))


_CONVERSIONS: Final[Mapping[str, Callable[[Any], str]]] = {"r": repr, "s": str, "a": ascii}
_FOLLOWED_CONVERSIONS: Final[Mapping[str, Callable[[Any], str]]] = {"r": repr_of, "s": text_of, "a": ascii_of}
_BRACKETS: Final[Mapping[type, tuple[str, str]]] = {tuple: ("(", ")"), list: ("[", "]")}


# Whole templates.

_FIELD: Final = re.compile(
    r"%(?:\((?P<key>[^)]*)\))?(?P<flags>[#0\- +]*)(?P<width>\d+)?(?:\.(?P<precision>\d+))?[hlL]?"
    r"(?P<type>[diouxXeEfFgGcrsa%])"
)


def interpolate(pattern: str, values: Any) -> str:
    """Return `pattern % values`."""
    parts = values if isinstance(values, tuple) else (values,)
    held = values.values() if isinstance(values, Mapping) else parts
    if is_symbolic(pattern) or not any(map(bears, held)):
        plainly: str = pattern % values
        return plainly
    if "*" in pattern:
        lose("%")
        return str(pattern % concrete(values))
    found: list[str] = []
    at, end = 0, 0
    for field in _FIELD.finditer(pattern):
        found.append(pattern[end : field.start()])
        end = field.end()
        if field["type"] == "%":
            found.append("%")
        elif field["key"] is not None:
            found.append(_interpolated_field(field, values[field["key"]]))
        else:
            if at >= len(parts):
                raise TypeError("not enough arguments for format string")
            found.append(_interpolated_field(field, parts[at]))
            at += 1
    if at < len(parts) and not isinstance(values, Mapping):
        raise TypeError("not all arguments converted during string formatting")
    return join_texts("", [*found, pattern[end:]])


def _interpolated_field(field: re.Match[str], value: Any) -> str:
    """Return one value of a template, in the notation of `format` where that means the same."""
    kind, flags, width, precision = field["type"], field["flags"], field["width"] or "", field["precision"]
    if bears(value):
        if kind in "rsa":
            align = ("<" if "-" in flags else ">") if width else ""
            cut = f".{precision}" if precision else ""
            return formatted(_FOLLOWED_CONVERSIONS[kind](value), f"{align}{width}{cut}")
        if isinstance(value, SymInt) and kind in "diuxXc" and not set(flags) & set("- +"):
            zeros = f"0{max(int(precision or 0), int(width or 0))}" if precision or "0" in flags else width
            mark = "#" if "#" in flags else ""
            return formatted(value, f"{mark}{zeros}{'d' if kind in 'diu' else kind}")
        lose("%")
    key = f"({field['key']})" if field["key"] is not None else ""
    return f"%{field[0][1 + len(key) :]}" % (concrete(value),)


def filled_in(
    pattern: str, values: Sequence[Any], named: Mapping[str, Any], numbers: Iterator[int] | None = None
) -> str:
    """Return `pattern.format(*values, **named)`."""
    formatter = Formatter()
    parts: list[str] = []
    numbers = numbers or count()
    for literal, name, spec, conversion in formatter.parse(pattern):
        parts.append(literal)
        if name is None:
            continue
        if not name or name[0] in ".[":
            name = f"{next(numbers)}{name}"
        value, _ = formatter.get_field(name, values, named)
        if conversion:
            value = _FOLLOWED_CONVERSIONS[conversion](value)
        if spec and "{" in spec:
            spec = filled_in(spec, values, named, numbers)
        parts.append(formatted(value, spec or ""))
    return join_texts("", parts)


# Calls.


def _format_method(_method: Any, pattern: str, *values: Any, **named: Any) -> str | Outcome:
    if is_symbolic(pattern) or not any(map(bears, (*values, *named.values()))):
        return PLAIN
    return filled_in(pattern, values, named)


def _join_method(_method: Any, separator: str, parts: Any) -> str:
    return join_texts(separator, parts)


def _str(*arguments: Any, **named: Any) -> str | Outcome:
    if len(arguments) == 1 and not named:
        return text_of(arguments[0])
    if arguments and isinstance(arguments[0], SymBytes):
        return arguments[0].decode(*arguments[1:], **named)
    return UNFOLLOWED if any(map(is_symbolic, (*arguments, *named.values()))) else PLAIN


EAGER: Final[Functions] = {("builtins", "str"): _str}
FUNCTIONS: Final[Functions] = {
    ("builtins", "repr"): repr_of,
    ("builtins", "ascii"): ascii_of,
    ("builtins", "format"): formatted,
}
METHODS: Final[Methods] = {
    (str, "format"): _format_method,
    (str, "format_map"): lambda _method, pattern, named: filled_in(pattern, (), _by_keys(named)),
    (str, "join"): _join_method,
}
