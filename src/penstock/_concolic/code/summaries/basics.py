"""The functions of Python itself on numbers, texts and bytes: `int`, `len`, `ord`, `bytes` and their like."""

from __future__ import annotations

import functools
import operator
import sys
from types import FunctionType, ModuleType
from typing import Any, Final

from penstock._concolic.code import identity, lookups, membership, operands, subscripts
from penstock._concolic.code.subscripts import settled
from penstock._concolic.code.summaries import PLAIN, UNFOLLOWED, Functions, Methods, Outcome
from penstock._concolic.code.summaries.addresses import number_of
from penstock._concolic.run import lose
from penstock._concolic.terms import truth
from penstock._concolic.values.integers import Followed, SymBool, SymInt, boolean, integer, plain, term_of
from penstock._concolic.values.parts import concrete, is_symbolic
from penstock._concolic.values.segments import code
from penstock._concolic.values.sym_bytes import SymBytes, from_hex, join_octets, keep, octets
from penstock._concolic.values.sym_bytes import to_int as octet_number
from penstock._concolic.values.sym_str import made
from penstock._concolic.values.sym_str_build import Piece, SymStr, followed, format_value, to_int
from penstock._concolic.values.tables import Tabled
from penstock._concolic.values.unknown import Unknown

# Numbers.


def _int(*arguments: Any, base: int = 10) -> Any:
    value = arguments[0]
    base = arguments[1] if len(arguments) > 1 else base
    if is_symbolic(base):
        return UNFOLLOWED
    if isinstance(value, Followed):
        return +value
    if (number := number_of(value)) is not None:
        return number
    if not isinstance(value, SymStr):
        return UNFOLLOWED if is_symbolic(value) else PLAIN
    return to_int(value, base)


def _bool(value: Any) -> Any:
    if isinstance(value, SymBool):
        return value
    return boolean(bool(plain(value)), truth(term_of(value))) if isinstance(value, SymInt) else PLAIN


def _round(value: Any, digits: Any = None) -> Any:
    return round(value, settled(digits) if isinstance(digits, Followed) else digits)


def _pow(base: Any, exponent: Any, modulus: Any = None) -> Any:
    """Summarise `pow`; with a modulus, C computes with the numbers alone."""
    return operands.operated(operator.pow, base, exponent) if modulus is None else UNFOLLOWED


def _range(*bounds: Any) -> range:
    return range(*(settled(bound) if isinstance(bound, Followed) else bound for bound in bounds))


# Texts and bytes.


def _chr(value: int) -> Any:
    term = term_of(value)
    return made([Piece(term, "c", chr(plain(value)))]) if 0 <= term.low <= term.high < 256 else UNFOLLOWED


def _ord(value: Any) -> Any:
    if isinstance(value, SymBytes) and len(value) == 1:
        return value[0]
    if isinstance(value, SymStr) and len(value) == 1:
        return integer(ord(concrete(value)), code(value.pieces[0]))
    return UNFOLLOWED


def _hex(value: Any) -> Any:
    return format_value(value, "#x") if isinstance(value, SymInt) else UNFOLLOWED


def _bytes(*arguments: Any) -> Any:
    """Summarise `bytes`, also of a list of numbers, some of which may depend on the inputs."""
    if arguments and isinstance(arguments[0], SymStr):
        return arguments[0].encode(*arguments[1:])
    if len(arguments) == 1 and isinstance(arguments[0], Unknown):
        return arguments[0]
    if len(arguments) != 1 or not (is_symbolic(arguments[0]) or hasattr(arguments[0], "__iter__")):
        return PLAIN
    return keep(bytes, *arguments)


class View(SymBytes):
    """Bytes seen through a `memoryview` or an array of bytes, by somebody who only reads."""

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return View(found.plain, found.terms) if isinstance(found, SymBytes) else found

    def tobytes(self) -> bytes:
        """Return the bytes themselves."""
        return octets(self.plain, self.terms)

    def tolist(self) -> list[int]:
        """Return the bytes as numbers."""
        return list(self)


def _memoryview(data: Any) -> Any:
    if type(data) is SymBytes:
        return View(data.plain, data.terms)
    # A frame that is looked at no further than needed is best left as it is.
    return data if isinstance(data, SymBytes) else UNFOLLOWED


def _array(kind: str, *contents: Any) -> Any:
    return _memoryview(*contents) if kind == "B" and contents else UNFOLLOWED


def _join_method(_method: Any, separator: bytes, parts: Any) -> bytes:
    return join_octets(separator, parts)


# Kinds of values.

_KINDS: Final = {SymInt: int, SymBool: bool, SymStr: str, SymBytes: bytes}


def _type(*arguments: Any) -> Any:
    if len(arguments) != 1:
        if len(arguments) > 2 and isinstance(arguments[2], dict) and lookups.varies(arguments[2]):
            # Python looks attributes up by their hash.
            lose("name of an attribute")
        return PLAIN
    if isinstance(arguments[0], Tabled):
        return type(arguments[0].quietly_)
    # A header that is worked out as far as needed says of which class it would be.
    return _KINDS.get(type(arguments[0]), arguments[0].__class__)


def _isinstance(value: Any, kinds: Any) -> bool:
    if isinstance(value, SymBool):
        return isinstance(True, kinds)
    if isinstance(value, Tabled):
        return isinstance(value.quietly_, kinds)
    return isinstance(value, kinds)


def _text_method(method: Any, subject: str, *arguments: Any, **named: Any) -> Any:
    """Summarise a method of a text that is plain, with arguments that are not."""
    if is_symbolic(subject):
        return UNFOLLOWED
    return getattr(followed(subject), method.__name__)(*arguments, **named)


_TEXT_METHODS: Final = (
    *("startswith", "endswith", "removeprefix", "removesuffix", "find", "rfind", "index", "rindex", "count"),
    *("split", "rsplit", "partition", "rpartition", "replace", "strip", "lstrip", "rstrip", "ljust", "rjust"),
)


def _getattr(value: Any, name: Any, *default: Any) -> Any:
    if not is_symbolic(name):
        return identity.class_of(value) if name == "__class__" else PLAIN
    try:
        return _attribute(value, name)
    except AttributeError:
        if not default:
            raise
        return default[0]


def _hasattr(value: Any, name: Any) -> Any:
    if not is_symbolic(name):
        return PLAIN
    try:
        _attribute(value, name)
    except AttributeError:
        return False
    return True


def _attribute(value: Any, name: Any) -> Any:
    """Decide which attribute of an object a text names, and return that; or ask the class for any other."""
    for known in sorted(dir(value)):
        if lookups.equal(known, name):
            return getattr(value, known)
    kind: Any = type(value)
    asked = getattr(kind, "__getattr__", None)
    looks_up = kind.__getattribute__
    if isinstance(asked, FunctionType) and looks_up is object.__getattribute__:
        return asked(value, name)
    if asked is not None or looks_up not in _PLAIN_LOOKUPS or _has_own_lookup(value):
        lose("getattr")
    try:
        return getattr(value, str(concrete(name)))
    except AttributeError as error:
        # It has the name, which depends on the inputs, in its text and beside it.
        if type(error) is AttributeError:
            error.name = name
        raise


_PLAIN_LOOKUPS: Final[tuple[Any, ...]] = (
    object.__getattribute__,
    type.__getattribute__,
    ModuleType.__getattribute__,
)


def _has_own_lookup(value: Any) -> bool:
    """Tell whether a module decides by itself what attributes it has."""
    return isinstance(value, ModuleType) and "__getattr__" in vars(value)


def _hash(value: Any) -> Any:
    """Summarise `hash`: a number is its own."""
    if not isinstance(value, Followed) or value.term.low < 0 or value.term.high >= sys.hash_info.modulus:
        return UNFOLLOWED
    return integer(plain(value), value.term)


def _setattr(_value: Any, name: Any, _new: Any) -> Outcome:
    return UNFOLLOWED if is_symbolic(name) else PLAIN


FUNCTIONS: Final[Functions] = {
    ("builtins", "int"): _int,
    ("builtins", "bool"): _bool,
    ("builtins", "int.from_bytes"): octet_number,
    ("builtins", "range"): _range,
    ("builtins", "round"): _round,
    ("builtins", "pow"): _pow,
    ("builtins", "chr"): _chr,
    ("builtins", "hash"): _hash,
    ("sys", "intern"): lambda text: text,
    ("_operator", "is_"): identity.same,
    ("_operator", "is_not"): identity.different,
    ("builtins", "ord"): _ord,
    ("builtins", "hex"): _hex,
    ("builtins", "bytes"): _bytes,
    ("builtins", "bytes.fromhex"): from_hex,
    ("builtins", "memoryview"): _memoryview,
    ("array", "array"): _array,
    ("_operator", "contains"): lambda container, item: item in membership.searched(container),
    ("_operator", "getitem"): lambda subject, key: subscripts.indexed(subject)[key],
    ("_operator", "setitem"): lambda subject, key, value: operator.setitem(
        subscripts.indexed(subject), key, value
    ),
    ("_operator", "delitem"): lambda subject, key: operator.delitem(subscripts.indexed(subject), key),
    ("_operator", "mod"): lambda one, other: operands.left_of_mod(one) % other,
    ("_operator", "concat"): functools.partial(operands.operated, operator.add),
    **{
        ("_operator", name): functools.partial(operands.operated, getattr(operator, name))
        for name in (
            *("eq", "ne", "lt", "le", "gt", "ge", "add", "mul", "matmul", "truediv", "floordiv", "pow"),
            *("lshift", "rshift"),
        )
    },
    **{
        ("_operator", f"i{name}"): functools.partial(operands.in_place, name)
        for name in (
            *("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift"),
            *("or", "and", "xor"),
        )
    },
    ("_operator", "or_"): lambda one, other: operands.left(one) | other,
    ("_operator", "and_"): lambda one, other: operands.left(one) & other,
    ("_operator", "sub"): lambda one, other: operands.left(one) - other,
    ("_operator", "xor"): lambda one, other: operands.left(one) ^ other,
}
METHODS: Final[Methods] = {(str, name): _text_method for name in _TEXT_METHODS}
EAGER: Final[Functions] = {
    ("builtins", "bytes"): _bytes,
    ("builtins", "int.from_bytes"): octet_number,
    ("builtins", "type"): _type,
    ("builtins", "isinstance"): _isinstance,
    ("builtins", "getattr"): _getattr,
    ("builtins", "hasattr"): _hasattr,
    ("builtins", "setattr"): _setattr,
}
EAGER_METHODS: Final[Methods] = {(bytes, "join"): _join_method}
