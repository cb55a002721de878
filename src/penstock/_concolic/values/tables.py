"""What a function makes of an input of few bits, for all values that the input can have.

A function written in C says nothing of how it comes to its result.  But where all that it gets depends on
one input of at most 16 bits, it can be asked for each: the result is a *table*.  What is done with it
afterwards - a comparison, an operator, a method, another function - is done with every entry.  Where it
decides, the question is whether the input is one of those for which the answer is yes.

A table has entries of one kind only: of which kind the result is, and whether the function raises an
exception, is decided first.  This needs functions that depend on nothing but what they get, and change
nothing else (`is_pure`).
"""

from __future__ import annotations

import array
import ctypes
import functools
import operator
import re
import struct
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from datetime import date, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodDescriptorType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final, NamedTuple

from penstock._concolic.run import Run, lose, unnoticed
from penstock._concolic.solving.compiled import compile_term
from penstock._concolic.terms import Term, both, const, either, eq, le, negation
from penstock._concolic.values.escapes import Symbolic, Unfollowed
from penstock._concolic.values.integers import Followed, SymBool, boolean, decide
from penstock._concolic.values.segments import written
from penstock._concolic.values.sym_bytes import SymBytes
from penstock._concolic.values.sym_str import SymStr

WIDEST: Final = 16
"""How many bits an input may have for all its values to be tried."""

_MOST_RANGES: Final = 2000
"""Of how many ranges a set of values may consist to be a condition."""

_PURE: Final = frozenset(
    {
        *(
            "builtins",
            "math",
            "cmath",
            "zlib",
            "binascii",
            "_struct",
            "struct",
            "_json",
            "json",
            "json.scanner",
        ),
        *(
            "json.encoder",
            "json.decoder",
            "_pickle",
            "pickle",
            "_codecs",
            "codecs",
            "_hashlib",
            "_md5",
            "_sha1",
        ),
        *(
            "_sha256",
            "_sha512",
            "_sha2",
            "_sha3",
            "_blake2",
            "re",
            "decimal",
            "_decimal",
            "array",
            "ctypes",
            "io",
        ),
        *("_ctypes", "_io", "unicodedata", "_statistics", "_operator", "itertools", "datetime", "_datetime"),
        *("base64", "fractions", "uuid", "statistics", "_sre", "_bisect", "_functools", "encodings"),
    }
)
"""Modules whose functions depend on nothing but their arguments."""

_PURE_PACKAGES: Final = frozenset(
    {
        *(
            "json",
            "textwrap",
            "ast",
            "base64",
            "fnmatch",
            "shlex",
            "string",
            "urllib",
            "statistics",
            "uuid",
            "html",
        ),
        *(
            "fractions",
            "quopri",
            "colorsys",
            "difflib",
            "re",
            "codecs",
            "encodings",
            "calendar",
            "struct",
            "keyword",
        ),
    }
)
"""Packages of Python's own that are written in Python, of which the same is true."""

_IMPURE: Final = frozenset(
    {
        *("open", "input", "print", "exec", "eval", "__import__", "id", "setattr", "delattr", "breakpoint"),
        *("memoryview", "super", "globals", "locals", "vars", "FileIO", "open_code", "bytearray", "object"),
        *("iter", "next", "list", "dict", "set", "frozenset", "tuple", "type", "isinstance"),
    }
)
_OF_SOCKETS: Final = ("hton", "ntoh", "inet_")
_UNCHANGING: Final = (
    int,
    float,
    complex,
    str,
    bytes,
    bool,
    type(None),
    type,
    re.Pattern,
    struct.Struct,
    range,
)
_DATES: Final = (date, timezone, timedelta)
"""Numbers of another kind, which do not change either; a `datetime` is a `date`."""

_FIXED: Final = (
    *(*_UNCHANGING, *_DATES, Decimal, Fraction),
    *(BuiltinFunctionType, MethodDescriptorType, ModuleType),
)
"""Objects that are the same whatever the input is."""

_BOUND_IN_C: Final = (BuiltinFunctionType, MethodWrapperType)
"""Methods of objects, which may depend on the input even if their functions do not."""

_ATOMS: Final = (int, float, complex, str, bytes, bool, type(None))


GIVEN_ALL: Final = "depends_on_arguments_alone"
"""The attribute of functions of ours that stand for some of Python's and do so where they get arguments."""


class _Raised(NamedTuple):
    """An exception in place of a result."""

    error: Exception


class Tabled(Symbolic):
    """What depends on one input, with a result for each of its values."""

    __slots__ = ("at_", "entries_", "input_")

    def __init__(self, term: Term, value: int, entries: Sequence[Any]) -> None:
        self.input_ = term
        """The input."""
        self.at_ = value
        """What the input is in this run."""
        self.entries_ = entries

    @property
    def plain(self) -> Any:
        """The result in this run; to take it without the others is a loss."""
        lose("table")
        return self.quietly_

    @property
    def quietly_(self) -> Any:
        """The result in this run, unnoticed."""
        return self.entries_[self.at_]

    def __getattr__(self, name: str) -> Any:
        return _told(getattr, self, name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the result."""
        return _told(_call, self, arguments, named)

    def __bool__(self) -> bool:
        truth = [bool(entry) for entry in self.entries_]
        return decide(_condition(self.input_, truth), truth[self.at_])

    def __len__(self) -> int:
        return _settled(_told(len, self))

    def __iter__(self) -> Iterator[Any]:
        items = _told(tuple, self)
        if not isinstance(items, Tabled):
            return iter(items)
        return iter([_told(operator.getitem, items, at) for at in range(_settled(_told(len, items)))])

    def __contains__(self, item: Any) -> bool:
        return bool(_told(operator.contains, self, item))

    def __int__(self) -> int:
        lose("int")
        return int(self.quietly_)

    def __index__(self) -> int:
        return _settled(self)

    def __float__(self) -> float:
        lose("float")
        return float(self.quietly_)

    def __hash__(self) -> int:
        lose("hash")
        return hash(self.quietly_)

    def __str__(self) -> str:
        lose("str")
        return str(self.quietly_)

    def __repr__(self) -> str:
        lose("repr")
        return repr(self.quietly_)

    def __format__(self, spec: str) -> str:
        lose("format")
        return format(self.quietly_, spec)

    def __copy__(self) -> Tabled:
        return self

    def __deepcopy__(self, _: object) -> Tabled:
        return self


def _call(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return function(*arguments, **named)


def _binary(name: str) -> Callable[[Any, Any], Any]:
    operation = getattr(operator, name)

    def method(self: Any, other: Any) -> Any:
        return _told(operation, self, other)

    return method


def _swapped(name: str) -> Callable[[Any, Any], Any]:
    operation = getattr(operator, name)

    def method(self: Any, other: Any) -> Any:
        return _told(operation, other, self)

    return method


def _unary(name: str) -> Callable[[Any], Any]:
    operation = getattr(operator, name, None) or {"__round__": round}[name]
    return lambda self, *more: _told(operation, self, *more)


for _name in ("eq", "ne", "lt", "le", "gt", "ge", "getitem"):
    setattr(Tabled, f"__{_name}__", _binary(f"__{_name}__"))
for _name in (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor"),
):
    setattr(Tabled, f"__{_name}__", _binary(f"__{_name}__"))
    setattr(Tabled, f"__r{_name}__", _swapped(f"__{_name}__"))
for _name in ("neg", "pos", "abs", "invert", "round"):
    setattr(Tabled, f"__{_name}__", _unary(f"__{_name}__"))


# Making tables.


def is_pure(function: Any) -> bool:
    """Tell whether a function depends on nothing but its arguments, and changes nothing."""
    name = getattr(function, "__name__", "")
    module = str(getattr(function, "__module__", None) or "")
    if isinstance(function, type):
        return name not in _IMPURE and (module in _PURE or issubclass(function, _VALUES_IN_C))
    if isinstance(function, FunctionType):
        return module.partition(".")[0] in _PURE_PACKAGES or hasattr(function, GIVEN_ALL)
    holder = getattr(function, "__self__", None)
    if module == "_socket":
        return name.startswith(_OF_SOCKETS)
    if isinstance(function, MethodDescriptorType | WrapperDescriptorType):
        return issubclass(function.__objclass__, _UNCHANGING)
    if holder is None or isinstance(holder, ModuleType):
        return module in _PURE and name not in _IMPURE
    return isinstance(holder, _UNCHANGING) and name not in _IMPURE


_VALUES_IN_C: Final = (int, float, complex, str, bytes, ctypes._SimpleCData, array.array)


def tabulated(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Return what a function makes of values that depend on one input of few bits; else it is unfollowed."""
    run = Run.current
    if run is None or not is_pure(function):
        raise Unfollowed
    return _mapped(_call, function, arguments, named)


def _told(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a program gets that does something with a table; where there is no term, that is lost."""
    from penstock._concolic.values.parts import concrete

    try:
        return _mapped(function, *arguments)
    except Unfollowed:
        lose(getattr(function, "__name__", "table"))
        return function(*map(concrete, arguments))


def _mapped(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function makes of all that some values can be."""
    found: dict[str, Term] = {}
    inputs = {} if Run.current is None else Run.current.inputs
    with unnoticed():
        parts = [_entries(argument, found) for argument in arguments]
        if not found:
            return function(*arguments)
        if len(found) > 1:
            raise Unfollowed
        ((name, term),) = found.items()
        if name not in inputs:
            raise Unfollowed
        entries = _remembered(function, arguments, parts, term)
    return _result(Tabled(term, inputs[name], entries))


_known: Final[dict[Hashable, list[Any]]] = {}
_MOST_KNOWN: Final = 64


def _remembered(
    function: Callable[..., Any], arguments: Sequence[Any], parts: Sequence[Callable[[int], Any]], term: Term
) -> list[Any]:
    """Return the results for all values of an input; the same are asked for in many runs."""
    key = (function, *map(_described, arguments))
    known = None if None in key else _known.get(key)
    if known is None:
        known = [_entry(function, parts, at) for at in range(term.high + 1)]
        if None not in key and all(type(entry) in _ATOMS for entry in known):
            if len(_known) >= _MOST_KNOWN:
                _known.clear()
            _known[key] = known
    return known


def _described(value: Any) -> Hashable | None:
    """Return what tells a value from others, whatever the inputs are; None if nothing does."""
    if isinstance(value, Followed):
        return type(value), value.term
    if isinstance(value, SymBytes):
        return SymBytes, value.terms
    if isinstance(value, SymStr):
        return SymStr, tuple(
            part if isinstance(part, str) else (part.term, part.form) for part in value.pieces
        )
    if type(value) in (tuple, list, dict):
        parts = tuple(map(_described, value.items() if type(value) is dict else value))
        return None if None in parts else (type(value), parts)
    if type(value) in (int, str, bytes, bool, float) or isinstance(
        value, type | BuiltinFunctionType | FunctionType
    ):
        return type(value), value
    return None


def _entry(function: Callable[..., Any], parts: Sequence[Callable[[int], Any]], at: int) -> Any:
    try:
        return function(*(part(at) for part in parts))
    except Exception as error:
        return _Raised(error.with_traceback(None))


def _result(table: Tabled) -> Any:
    """Decide of which kind a result is, and return it."""
    actual = table.quietly_
    kinds = [type(entry) for entry in table.entries_]
    for kind in dict.fromkeys(kinds):
        if kind is type(actual):
            break
        decide(_condition(table.input_, [each is kind for each in kinds]), False)
    else:
        raise AssertionError
    same = [each is kind for each in kinds]
    decide(_condition(table.input_, same), True)
    if isinstance(actual, _Raised):
        raise actual.error
    if actual is None or all(entry is actual for entry in table.entries_):
        return actual
    if kind in _ATOMS and all(
        entry == actual for entry, alike in zip(table.entries_, same, strict=True) if alike
    ):
        return actual
    if kind is bool:
        return boolean(actual, _condition(table.input_, [entry is True for entry in table.entries_]))
    return table


def _settled(value: Any) -> int:
    """Decide which whole number a table's result is."""
    if not isinstance(value, Tabled):
        return int(value)
    entries = [entry if type(entry) is int else None for entry in value.entries_]
    numbers = sorted({entry for entry in entries if entry is not None})
    if len(numbers) > 64:
        lose("number of many values")
        return int(value.quietly_)
    for number in numbers:
        if decide(_condition(value.input_, [entry == number for entry in entries]), value.quietly_ == number):
            return number
    raise AssertionError


def _condition(term: Term, holds: Sequence[bool]) -> Term:
    """Return the condition that an input is one of some values."""
    ranges: list[tuple[int, int]] = []
    for at, one in enumerate(holds):
        if one and ranges and ranges[-1][1] == at - 1:
            ranges[-1] = (ranges[-1][0], at)
        elif one:
            ranges.append((at, at))
    if len(ranges) > len(holds) // 2 or (ranges and ranges[0][0] == 0 and len(ranges) > 1):
        return negation(_condition_of(term, _gaps(ranges, len(holds))))
    return _condition_of(term, ranges)


def _gaps(ranges: list[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    edges = [-1, *(edge for pair in ranges for edge in pair), size]
    return [
        (one + 1, other - 1) for one, other in zip(edges[::2], edges[1::2], strict=True) if one + 1 < other
    ]


def _condition_of(term: Term, ranges: list[tuple[int, int]]) -> Term:
    if len(ranges) > _MOST_RANGES:
        raise Unfollowed
    return either(
        *(
            eq(term, const(low)) if low == high else both(le(const(low), term), le(term, const(high)))
            for low, high in ranges
        )
    )


# Values for all inputs.


def _entries(value: Any, found: dict[str, Term]) -> Callable[[int], Any]:
    """Return what gives a value for each value of the input that it depends on, which is noted."""
    if isinstance(value, Tabled):
        _note(value.input_, found)
        entries = value.entries_
        return lambda at: _unless_raised(entries[at])
    if isinstance(value, Followed):
        number = _number(value.term, found)
        return (lambda at: bool(number(at))) if isinstance(value, SymBool) else number
    if isinstance(value, SymStr):
        return _text(value, found)
    if isinstance(value, SymBytes):
        octets = [_number(term, found) for term in value.terms]
        return lambda at: bytes([octet(at) for octet in octets])
    if isinstance(value, Symbolic):
        raise Unfollowed
    if type(value) in (tuple, list):
        items = [_entries(item, found) for item in value]
        return lambda at: type(value)([item(at) for item in items])
    if type(value) is dict:
        pairs = [(_entries(key, found), _entries(item, found)) for key, item in value.items()]
        return lambda at: {key(at): item(at) for key, item in pairs}
    if isinstance(value, _BOUND_IN_C) and _holds(value.__self__):
        raise Unfollowed
    if isinstance(value, _FIXED) or (callable(value) and not _holds(value)):
        return lambda _: value
    raise Unfollowed


def _holds(value: Any) -> bool:
    from penstock._concolic.values.parts import holds

    return holds(value)


def _unless_raised(entry: Any) -> Any:
    if isinstance(entry, _Raised):
        raise entry.error
    return entry


def _text(value: SymStr, found: dict[str, Term]) -> Callable[[int], str]:
    parts = [
        part if isinstance(part, str) else (_number(part.term, found), part.form) for part in value.pieces
    ]
    return lambda at: "".join(
        part if isinstance(part, str) else written(part[0](at), part[1]) for part in parts
    )


@functools.lru_cache(maxsize=1024)
def _compiled(term: Term) -> Callable[[int], int]:
    return compile_term(term, sorted(term.variables))


def _number(term: Term, found: dict[str, Term]) -> Callable[[int], int]:
    if term.value is not None:
        constant = term.value
        return lambda _: constant
    if len(term.variables) > 1:
        raise Unfollowed
    variable = _variable(term)
    _note(variable, found)
    return _compiled(term)


def _variable(term: Term) -> Term:
    ahead = deque([term])
    while ahead:
        here = ahead.popleft()
        if here.op == "var":
            return here
        ahead += here.operands
    raise AssertionError


def _note(variable: Term, found: dict[str, Term]) -> None:
    if variable.high >= 1 << WIDEST:
        raise Unfollowed
    found[str(variable.args[0])] = variable
