"""Numbers and truth values that carry beside the value the term it came from.

A `SymInt` is an int, a `SymBool` an int that is 0 or 1 and says True or False; the value always is
what the term comes to for the inputs of the run.  Arithmetic gives numbers that carry terms again.
A comparison gives a `SymBool`; only when somebody asks whether it is true (`if`, `and`, `not`, `in` a
list) the run decides.  Where the term of a result is a constant, the result is a plain int or bool.

Where Python itself would go two ways - a divisor that is zero, a shift by a number below zero - the
run decides too.  What no term can say (floats, powers with large exponents, numbers that get too wide)
is noted as lost, and the plain result is given.

Limits: `bool` cannot be subclassed, so `isinstance(x == 1, bool)` is false.  Functions written in C
that take an int (`range`, `struct.pack`, indexing a list) read the value without asking, and so does an
operator that has a float, a `bool` or a member of an `IntEnum` on its left; code that is followed calls
summaries in their place, or has the operand replaced.
"""

from __future__ import annotations

import functools
import operator
from array import array
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, Self, SupportsIndex, cast

from penstock._concolic.run import Run, lose
from penstock._concolic.terms import (
    FALSE,
    Term,
    TooWide,
    add,
    bit_and,
    bit_or,
    bit_xor,
    bits,
    both,
    const,
    either,
    eq,
    floordiv,
    invert,
    lt,
    mod,
    mul,
    negate,
    negation,
    positive,
    shl,
    shr,
    sub,
    truth,
)
from penstock._concolic.values.escapes import Unchanging, Unfollowed, bare, yielding
from penstock._concolic.values.readers import reads

MOST_PINNED: Final = 64
"""How many values a number may have for the run to decide which it is, where only a plain one will do."""

_FEW: Final = 16
"""How many values are tried one by one; among more of them the right one is found by halving."""

_REPEATED: Final = (str, bytes, bytearray, list, tuple, deque, array)
"""What a number says how often to repeat."""

_MOST_FACTORS: Final = 8
"""Up to which exponent a power is a product."""

Build = Callable[[Term, Term], Term]
Compute = Callable[[int, int], int]


def integer(value: int, term: Term) -> int:
    """Return a number that carries its term, or a plain one if the term is constant."""
    return plain(value) if term.op == "const" else SymInt(value, term)


def boolean(value: bool, condition: Term) -> bool:
    """Return a truth value that carries its condition, or a plain one if that is constant."""
    return bool(value) if condition.op == "const" else cast(bool, SymBool(value, condition))


def term_of(value: int) -> Term:
    """Return the term of a number; of a plain one, the constant."""
    return value.term if isinstance(value, Followed) else const(int(value))


def plain(value: int) -> int:
    """Return a number without its term, unnoticed."""
    return int.__int__(value)


def decided(value: bool) -> bool:
    """Return which way a truth value goes, as a plain one; the run notes it."""
    return value.__bool__()


def decide(condition: Term, outcome: bool) -> bool:
    """Let the current run decide, if there is one."""
    return outcome if Run.current is None else Run.current.decide(condition, outcome)


def pinned(value: int, what: str) -> int:
    """Return a plain number where only that will do: the run decides which, or loses it if it may be many."""
    if isinstance(value, Followed):
        term = value.term
        if term.high - term.low < MOST_PINNED:
            return located(value, term.low, term.high)
        lose(what)
        return plain(value)
    return value


def located(value: int, low: int, high: int) -> int:
    """Decide which number of a range a value is: the same questions in the same order, whichever it is."""
    while high - low >= _FEW:
        middle = (low + high + 1) // 2
        if value < middle:
            high = middle - 1
        else:
            low = middle
    for candidate in range(low, high):
        if value == candidate:
            return candidate
    return high


@yielding
class Followed(int, Unchanging):
    """What numbers and truth values have in common: arithmetic and comparisons that keep the term."""

    term: Term

    def __new__(cls, value: int, term: Term) -> Self:
        """Return the value with its term."""
        made = int.__new__(cls, int.__int__(value))
        made.term = term
        return made

    @property
    def plain(self) -> int:
        """The value without its term, unnoticed."""
        return int.__int__(self)

    # Comparisons.

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int):
            return cast(bool, _with_float(operator.eq, self, other))
        return boolean(int.__eq__(self, other), eq(self.term, term_of(other)))

    def __ne__(self, other: object) -> bool:
        if not isinstance(other, int):
            return cast(bool, _with_float(operator.ne, self, other))
        return boolean(int.__ne__(self, other), negation(eq(self.term, term_of(other))))

    def __lt__(self, other: int) -> bool:
        if not isinstance(other, int):
            return cast(bool, _with_float(operator.lt, self, other))
        return boolean(int.__lt__(self, other), lt(self.term, term_of(other)))

    def __gt__(self, other: int) -> bool:
        if not isinstance(other, int):
            return cast(bool, _with_float(operator.gt, self, other))
        return boolean(int.__gt__(self, other), lt(term_of(other), self.term))

    def __le__(self, other: int) -> bool:
        if not isinstance(other, int):
            return cast(bool, _with_float(operator.le, self, other))
        return boolean(int.__le__(self, other), negation(lt(term_of(other), self.term)))

    def __ge__(self, other: int) -> bool:
        if not isinstance(other, int):
            return cast(bool, _with_float(operator.ge, self, other))
        return boolean(int.__ge__(self, other), negation(lt(self.term, term_of(other))))

    def __bool__(self) -> bool:
        return decide(truth(self.term), int.__bool__(self))

    # Arithmetic.

    def __add__(self, other: int) -> int:
        return _combined(self, other, operator.add, add, "+")

    def __radd__(self, other: int) -> int:
        return _combined(self, other, operator.add, add, "+")

    def __sub__(self, other: int) -> int:
        return _combined(self, other, operator.sub, sub, "-")

    def __rsub__(self, other: int) -> int:
        return _reflected(self, other, operator.sub, sub, "-")

    def __mul__(self, other: int) -> int:
        if isinstance(other, _REPEATED):
            return cast(int, other * pinned(self, "*"))
        return _combined(self, other, operator.mul, mul, "*")

    def __rmul__(self, other: int) -> int:
        return self * other

    def __floordiv__(self, other: int) -> int:
        return _divided(self, other, operator.floordiv, floordiv)

    def __rfloordiv__(self, other: int) -> int:
        return _divided(other, self, operator.floordiv, floordiv)

    def __mod__(self, other: int) -> int:
        return _divided(self, other, operator.mod, mod)

    def __rmod__(self, other: int) -> int:
        return _divided(other, self, operator.mod, mod)

    def __divmod__(self, other: int) -> tuple[int, int]:
        if not isinstance(other, int):
            return cast("tuple[int, int]", _unlike(other))
        return self // other, self % other

    def __rdivmod__(self, other: int) -> tuple[int, int]:
        if not isinstance(other, int):
            return cast("tuple[int, int]", _unlike(other))
        return other // self, other % self

    def __truediv__(self, other: int) -> float:
        return cast(float, _tabulated("/", operator.truediv, self, other))

    def __rtruediv__(self, other: int) -> float:
        return cast(float, _tabulated("/", operator.truediv, other, self))

    def __pow__(self, exponent: Any, modulo: Any = None) -> Any:
        if type(exponent) is int and 0 <= exponent <= _MOST_FACTORS and modulo is None:
            found = 1
            for _ in range(exponent):
                found = self * found
            return found
        return _tabulated("**", pow, self, exponent, modulo)

    def __rpow__(self, base: Any, modulo: Any = None) -> Any:
        if type(base) is int and base == 2 and self.term.low >= 0 and modulo is None:
            return 1 << self
        return _tabulated("**", pow, base, self, modulo)

    def __and__(self, other: int) -> int:
        return _combined(self, other, operator.and_, bit_and, "&")

    def __rand__(self, other: int) -> int:
        return self & other

    def __or__(self, other: int) -> int:
        return _combined(self, other, operator.or_, bit_or, "|")

    def __ror__(self, other: int) -> int:
        return self | other

    def __xor__(self, other: int) -> int:
        return _combined(self, other, operator.xor, bit_xor, "^")

    def __rxor__(self, other: int) -> int:
        return self ^ other

    def __lshift__(self, other: int) -> int:
        return _shifted(self, other, operator.lshift, shl)

    def __rlshift__(self, other: int) -> int:
        return _shifted(other, self, operator.lshift, shl)

    def __rshift__(self, other: int) -> int:
        return _shifted(self, other, operator.rshift, shr)

    def __rrshift__(self, other: int) -> int:
        return _shifted(other, self, operator.rshift, shr)

    def __neg__(self) -> int:
        return _alone(self, operator.neg, negate)

    def __pos__(self) -> int:
        return integer(plain(self), self.term)

    def __invert__(self) -> int:
        return _alone(self, operator.invert, invert)

    def __abs__(self) -> int:
        return -self if decided(self < 0) else +self

    # What is a whole number already.

    def __trunc__(self) -> int:
        return +self

    def __floor__(self) -> int:
        return +self

    def __ceil__(self) -> int:
        return +self

    def __round__(self, ndigits: SupportsIndex | None = None) -> int:
        if ndigits is None or operator.index(ndigits) >= 0:
            return +self
        return cast(int, _tabulated("round", round, self, ndigits))

    def conjugate(self) -> int:
        """Return the number."""
        return +self

    def as_integer_ratio(self) -> tuple[int, Literal[1]]:
        """Return the number and 1."""
        return +self, 1

    @property
    def real(self) -> int:
        """The number."""
        return +self

    @property
    def numerator(self) -> int:
        """The number."""
        return +self

    # Ways out: into bytes with the term, anywhere else without.

    def to_bytes(
        self,
        length: SupportsIndex = 1,
        byteorder: Literal["little", "big"] = "big",
        *,
        signed: bool = False,
    ) -> bytes:
        """Return the bytes of the number, which keep its term."""
        from penstock._concolic.values.sym_bytes import from_int

        return from_int(self, operator.index(length), byteorder, signed=signed)

    @classmethod
    def from_bytes(
        cls, data: Any, byteorder: Literal["little", "big"] = "big", *, signed: bool = False
    ) -> Any:
        """Return the number that bytes are."""
        from penstock._concolic.values.sym_bytes import to_int

        return to_int(data, byteorder, signed=signed)

    def bit_length(self) -> int:
        """Return how many bits there are."""
        term = self.term if self.term.low >= 0 else term_of(abs(self))
        reached = (negation(lt(term, const(1 << place))) for place in range(term.high.bit_length()))
        return integer(plain(self).bit_length(), _total(reached))

    def bit_count(self) -> int:
        """Return how many bits are set."""
        term = self.term if self.term.low >= 0 else term_of(abs(self))
        return integer(
            plain(self).bit_count(), _total(bits(term, place, 1) for place in range(term.high.bit_length()))
        )

    def __int__(self) -> int:
        lose("int")
        return plain(self)

    def __index__(self) -> int:
        lose("index")
        return plain(self)

    def __float__(self) -> float:
        lose("float")
        return float(plain(self))

    def __hash__(self) -> int:
        lose("hash")
        return int.__hash__(self)

    def __repr__(self) -> str:
        lose("repr")
        return int.__repr__(self)

    def __str__(self) -> str:
        lose("str")
        return int.__repr__(self)

    def __format__(self, spec: str) -> str:
        lose("format")
        return int.__format__(plain(self), spec)

    def __getnewargs__(self) -> Any:
        return plain(self), self.term


class SymInt(Followed):
    """A number that depends on inputs."""

    __hash__ = Followed.__hash__


@yielding
class SymBool(Followed):
    """A truth value that depends on inputs; its term is a condition."""

    __hash__ = Followed.__hash__

    @property
    def plain(self) -> bool:
        """The value without its condition, unnoticed."""
        return int.__bool__(self)

    def __bool__(self) -> bool:
        return decide(self.term, int.__bool__(self))

    def __and__(self, other: int) -> int:
        if isinstance(other, (bool, SymBool)):
            return boolean(bool(plain(self) & plain(other)), both(self.term, term_of(other)))
        return Followed.__and__(self, other)

    def __or__(self, other: int) -> int:
        if isinstance(other, (bool, SymBool)):
            return boolean(bool(plain(self) | plain(other)), either(self.term, term_of(other)))
        return Followed.__or__(self, other)

    def __xor__(self, other: int) -> int:
        if isinstance(other, (bool, SymBool)):
            return boolean(bool(plain(self) ^ plain(other)), negation(eq(self.term, term_of(other))))
        return Followed.__xor__(self, other)

    def __repr__(self) -> str:
        lose("repr")
        return repr(int.__bool__(self))

    def __str__(self) -> str:
        lose("str")
        return str(int.__bool__(self))

    def __format__(self, spec: str) -> str:
        lose("format")
        return format(int.__bool__(self), spec)


def _total(terms: Iterable[Term]) -> Term:
    return functools.reduce(add, terms, FALSE)


def _unlike(other: object) -> object:
    """Return what Python expects for an operand that is no whole number; a float takes over from here."""
    if reads(other):
        lose(type(other).__name__)
    return NotImplemented


def _with_float(operation: Callable[..., Any], one: Followed, other: object) -> Any:
    """Return what an operation with a float or its like gives; anything else answers by itself."""
    return _tabulated(type(other).__name__, operation, one, other) if reads(other) else NotImplemented


def _tabulated(what: str, operation: Callable[..., Any], *operands: Any) -> Any:
    """Return the result of an operation that no term can say."""
    from penstock._concolic.values.tables import tabulated

    try:
        return tabulated(operation, *operands)
    except (Unfollowed, TooWide):
        lose(what)
        return operation(*map(bare, operands))


def _alone(value: Followed, compute: Callable[[int], int], build: Callable[[Term], Term]) -> int:
    try:
        term = build(value.term)
    except TooWide:
        lose("too wide")
        return compute(plain(value))
    return integer(compute(plain(value)), term)


def _combined(one: Followed, other: object, compute: Compute, build: Build, what: str) -> int:
    if not isinstance(other, int):
        return cast(int, _with_float(compute, one, other))
    value = compute(int.__int__(one), int.__int__(other))
    try:
        term = build(one.term, term_of(other))
    except TooWide:
        lose(what)
        return value
    return integer(value, term)


def _reflected(one: Followed, other: object, compute: Compute, build: Build, what: str) -> int:
    def swapped(this: Term, that: Term) -> Term:
        return build(that, this)

    return _combined(one, other, lambda this, that: compute(that, this), swapped, what)


def _divided(one: int, other: int, compute: Compute, build: Build) -> int:
    """Return what division gives; the run decides whether it fails, and whether the divisor is below zero."""
    if not (isinstance(one, int) and isinstance(other, int)):
        return cast(int, _unlike(one if isinstance(other, int) else other))
    divisor = term_of(other)
    value = plain(other)
    if decide(eq(divisor, FALSE), value == 0):
        return compute(plain(one), value)
    found = compute(plain(one), value)
    try:
        if decide(lt(divisor, FALSE), value < 0):
            # -7 // -2 is 7 // 2, and -7 % -2 is -(7 % 2).
            term = build(negate(term_of(one)), positive(negate(divisor)))
            return integer(found, term if build is floordiv else negate(term))
        return integer(found, build(term_of(one), positive(divisor)))
    except TooWide:
        lose("/")
        return found


def _shifted(one: int, other: int, compute: Compute, build: Build) -> int:
    """Return a number shifted; the run decides whether the distance is below zero, which Python refuses."""
    if not (isinstance(one, int) and isinstance(other, int)):
        return cast(int, _unlike(one if isinstance(other, int) else other))
    distance = term_of(other)
    if decide(lt(distance, FALSE), plain(other) < 0):
        return compute(plain(one), plain(other))
    value = compute(plain(one), plain(other))
    try:
        if distance.low < 0:
            raise TooWide
        return integer(value, build(term_of(one), distance))
    except TooWide:
        lose("shift")
        return value
