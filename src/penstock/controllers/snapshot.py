"""The state of a running Python program, saved and put back in place.

A controller under test keeps its state wherever it likes: in attributes, in dictionaries inside
them, in class and module variables.  To search, its state must be saved, compared and restored
thousands of times a second, and the program must not notice.  Copying the objects would not do:
others hold references to them.  So a snapshot walks the object graph from given roots and keeps a
shallow copy of the *content* of each mutable object; restoring writes the contents back into the
very same objects.  Identity, locks, loggers and references from outside survive.

Two snapshots are equal when their graphs are: a canonical text of the graph, in which
dictionaries and sets are sorted and shared objects are named by where they were first met, is
hashed to 128 bits.  The order in which keys came into a plain dictionary is part of it only if that
is asked for (`ordered`).  A program can see that order.  Without it states that differ in nothing
else are the same: there are fewer, but which of them goes on depends on which was met first.

Most of a program does not change from one step to the next.  A `Heap` therefore remembers what it
saw last: an object whose content is still the same shares its *entry* (content and ready-made
text) with the snapshot before, and entering a snapshot writes only entries that differ.

Classes, modules, loggers and locks are fixed points and not looked into, unless they are among
the `namespaces`: of those the variables count, except the ones called `__like_this__`.  Of a
function, what it closes over and its default values count, its attributes do not.  An object that
keeps its state in C where nobody can reach it (an iterator, an open file) is left as it is, and
the snapshot says so: `opaque`.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import functools
import logging
import random
import re
import struct
import threading
import types
import uuid
import weakref
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final

from penstock.controllers.contents import NAMESPACE, Namespace, Part, parts_of

_ATOMS: Final = frozenset(
    {int, str, bytes, float, bool, complex, type(None), range, type(Ellipsis), type(NotImplemented)}
)
"""Types whose values never change and are told apart by their representation."""

_VALUES: Final = (
    *(datetime.date, datetime.time, datetime.timedelta, datetime.timezone),
    *(decimal.Decimal, fractions.Fraction, uuid.UUID),
)
"""Types of which that is also true for what derives from them."""

_FIXED: Final = (
    type,
    types.BuiltinFunctionType,
    types.ModuleType,
    types.CodeType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.MappingProxyType,
    types.GenericAlias,
    logging.Logger,
    logging.LoggerAdapter,
    logging.Handler,
    type(threading.Lock()),
    type(threading.RLock()),
    threading.local,
    property,
    staticmethod,
    classmethod,
    enum.Enum,
    re.Pattern,
    struct.Struct,
    random.SystemRandom,
    type(functools.lru_cache(repr)),
)

Fixed = Callable[[type], bool]
Treatment = Callable[["Walk", Any], None]

Entry = tuple[Any, tuple[Part, ...], tuple[Any, ...], tuple[str, ...] | None, tuple[Any, ...]]
"""An object, its parts, their contents, its text with gaps, and what fills the gaps.

There is no text where its order depends on what mutable members hold at the moment.
"""


class Snapshot:
    """A program's state at one moment; equal to another of the same state.

    `notes` holds what special treatments noted, `opaque` the types that were met and cannot be
    looked into.
    """

    __slots__ = ("digest", "entries", "notes", "opaque")

    def __init__(
        self, digest: bytes, entries: tuple[Entry, ...], notes: tuple[Any, ...], opaque: frozenset[str]
    ) -> None:
        self.digest = digest
        self.entries = entries
        self.notes = notes
        self.opaque = opaque

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Snapshot({self.digest.hex()[:12]})"

    def restore(self) -> None:
        """Put every object's content back."""
        for entry in self.entries:
            _write(entry)


def take(roots: Iterable[Any], fixed: Fixed | None = None) -> Snapshot:
    """Return a snapshot of all that can be reached from the roots.

    `fixed` tells of types, besides the usual ones, whose objects are not to be looked into.
    """
    return Heap(roots, fixed=fixed).take()


class Heap:
    """The part of a process's memory that makes up one program's state.

    It relies on knowing what is in memory: after the program has run, call `take`, or `forget` if
    nobody wants to know what it did, before `enter`.

    `special` gives types, and what derives from them, a treatment of their own: a function that is
    handed the `Walk` and the object, and says what the walk is to make of it.
    """

    def __init__(
        self,
        roots: Iterable[Any],
        *,
        namespaces: Iterable[Any] = (),
        fixed: Fixed | None = None,
        special: Mapping[type, Treatment] | None = None,
        ordered: bool = False,
    ) -> None:
        self._ordered = ordered
        self._special = dict(special or {})
        self._fixed = fixed or (lambda _: False)
        self._treatments = _Treatments(self._choose)
        self._known: dict[int, Entry] = {}
        self.current: Snapshot | None = None
        """The snapshot that memory is known to be equal to."""
        self._roots = [*roots, *(self._namespace(owner) for owner in namespaces)]

    def take(self) -> Snapshot:
        """Return a snapshot of the program as it is."""
        walk = Walk(self._treatments, self._known)
        for root in self._roots:
            walk.emit(root)
            walk.out.append("\0")
        text = "".join(walk.out).encode("utf-8", "surrogatepass")
        digest = blake2b(text, digest_size=16).digest()
        snapshot = Snapshot(digest, tuple(walk.met.values()), tuple(walk.notes), frozenset(walk.opaque))
        self._known = walk.met
        self.current = snapshot
        return snapshot

    def enter(self, snapshot: Snapshot) -> None:
        """Bring the program into the state of a snapshot."""
        if snapshot is self.current:
            return
        known, entered = self._known, {}
        for entry in snapshot.entries:
            key = id(entry[0])
            entered[key] = entry
            if known.get(key) is not entry:
                _write(entry)
        self._known = entered
        self.current = snapshot

    def forget(self) -> None:
        """Note that memory may hold anything now: the next `enter` writes all there is."""
        self._known = {}
        self.current = None

    def _choose(self, kind: type) -> Treatment:
        """Return what is done with the objects of a type."""
        for base in kind.__mro__:
            if base in self._special:
                return self._special[base]
        if kind in _ATOMS or issubclass(kind, _VALUES):
            return Walk.write_atom
        if issubclass(kind, _FIXED) or self._fixed(kind):
            return Walk.write_fixed
        for base, treatment in _OWN.items():
            if kind is base:
                return treatment
        if issubclass(kind, weakref.ref):
            return Walk.write_weak
        parts = parts_of(kind, ordered=self._ordered)
        label = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        return _mutable(parts, label) if parts else Walk.write_opaque

    def _namespace(self, owner: Any) -> Namespace:
        namespace = Namespace(owner)
        constant = Walk(self._treatments, {}).constant
        namespace.constants = {
            name: value for name, value in vars(owner).items() if constant(value) is not None
        }
        return namespace


class _Treatments(dict[type, Treatment]):
    """What is done with the objects of a type, decided when the first one is met."""

    __slots__ = ("_choose",)

    def __init__(self, choose: Callable[[type], Treatment]) -> None:
        super().__init__()
        self._choose = choose

    def __missing__(self, kind: type) -> Treatment:
        treatment = self[kind] = self._choose(kind)
        return treatment


def _write(entry: Entry) -> None:
    value, parts, contents, _, _ = entry
    for part, content in zip(parts, contents, strict=True):
        part.write(value, content)


class Walk:
    """One walk over an object graph: gathers entries and writes the canonical text."""

    __slots__ = ("known", "met", "notes", "numbers", "opaque", "out", "treatments")

    def __init__(self, treatments: _Treatments, known: Mapping[int, Entry]) -> None:
        self.out: list[str] = []
        """The text so far."""
        self.met: dict[int, Entry] = {}
        """The entries of the objects met, by the objects' identities, in order."""
        self.notes: list[Any] = []
        """Whatever special treatments want to be known with the snapshot."""
        self.opaque: set[str] = set()
        self.numbers: dict[int, int] = {}
        """What mutable objects are called in the text, by their identities."""
        self.known = known
        """The last entries of objects, by their identities."""
        self.treatments = treatments

    def emit(self, value: Any) -> None:
        """Write the text of a value, and note the contents of what it is made of."""
        self.treatments[type(value)](self, value)

    def is_new(self, value: Any) -> bool:
        """Tell whether an object is met for the first time; if not, write where that was."""
        number = self.numbers.get(id(value))
        if number is not None:
            self.out.append(f"&{number}")
            return False
        self.numbers[id(value)] = len(self.numbers)
        return True

    def constant(self, value: Any) -> str | None:
        """Return the text of a value that can never change, or None if it may."""
        treatment = self.treatments[type(value)]
        if treatment is Walk.write_atom:
            return _atom_text(value)
        if treatment is Walk.write_fixed:
            return _fixed_text(value)
        if treatment is Walk.write_function:
            return _fixed_text(value) if self._is_plain(value) else None
        if treatment is Walk.write_tuple:
            texts = [self.constant(item) for item in value]
            known = [text for text in texts if text is not None]
            return f"({','.join(known)})" if len(known) == len(texts) else None
        return None

    def _is_plain(self, function: types.FunctionType) -> bool:
        """Tell whether a function holds nothing that can change."""
        if function.__closure__ is not None or function.__kwdefaults__:
            return False
        return all(self.constant(value) is not None for value in function.__defaults__ or ())

    # Treatments.

    def write_atom(self, value: Any) -> None:
        """Write a value that never changes."""
        self.out.append(_atom_text(value))

    def write_fixed(self, value: Any) -> None:
        """Write the name of something that is not looked into."""
        self.out.append(_fixed_text(value))

    def write_opaque(self, value: Any) -> None:
        """Write what shows of something that cannot be looked into."""
        kind = type(value)
        self.opaque.add(f"{kind.__module__}.{kind.__qualname__}")
        if self.is_new(value):
            shown = repr(value)
            self.out.append(f"<{kind.__qualname__} {'' if ' at 0x' in shown else shown}>")

    def write_sentinel(self, value: object) -> None:
        """Write an object that is nothing but itself."""
        if self.is_new(value):
            self.out.append("<object>")

    def write_tuple(self, value: tuple[Any, ...]) -> None:
        """Write a tuple."""
        self.out.append("(")
        for item in value:
            self.emit(item)
            self.out.append(",")
        self.out.append(")")

    def write_frozenset(self, value: frozenset[Any]) -> None:
        """Write a frozen set."""
        self.out.append("f{")
        for member in self._in_order(value):
            self.emit(member)
            self.out.append(",")
        self.out.append("}")

    def write_method(self, value: types.MethodType) -> None:
        """Write a bound method."""
        self.out.append(f"method:{value.__func__.__qualname__}@")
        self.emit(value.__self__)

    def write_partial(self, value: functools.partial[Any]) -> None:
        """Write a function some of whose arguments are given."""
        self.out.append("partial:")
        self.write_tuple((value.func, value.args, value.keywords))

    def write_weak(self, value: weakref.ref[Any]) -> None:
        """Write what a weak reference leads to."""
        self.out.append("weak:")
        self.emit(value())

    def write_function(self, value: types.FunctionType) -> None:
        """Write a function with what it closes over and its default values."""
        if self._is_plain(value):
            self.out.append(_fixed_text(value))
        elif self.is_new(value):
            self.out.append(_fixed_text(value))
            self.write_tuple((*(value.__closure__ or ()), value.__defaults__, value.__kwdefaults__))

    def read(self, value: Any, parts: tuple[Part, ...], label: str) -> Entry:
        """Return the entry of an object as it is now."""
        contents = tuple([part.read(value) for part in parts])
        pieces: list[str] = [f"<{label}"]
        gaps: list[Any] = []
        for part, content in zip(parts, contents, strict=True):
            laid = part.lay(value, content, self.constant)
            if laid is None:
                return value, parts, contents, None, ()
            pieces[-1] += laid[0][0]
            pieces += laid[0][1:]
            gaps += laid[1]
        pieces[-1] += ">"
        return value, parts, contents, tuple(pieces), tuple(gaps)

    def write_loosely(self, entry: Entry, label: str) -> None:
        """Write an object with members or keys whose order depends on what they hold now."""
        value, parts, contents, _, _ = entry
        self.out.append(f"<{label}")
        for part, content in zip(parts, contents, strict=True):
            laid = part.lay(value, content, self.constant)
            if laid is not None:
                self.out.append(laid[0][0])
                for gap, piece in zip(laid[1], laid[0][1:], strict=True):
                    self.emit(gap)
                    self.out.append(piece)
                continue
            self.out.append("{")
            for member in self._in_order(content):
                self.emit(member)
                if isinstance(content, dict):
                    self.out.append("=")
                    self.emit(content[member])
                self.out.append(",")
            self.out.append("}")
        self.out.append(">")

    def _in_order(self, members: Iterable[Any]) -> list[Any]:
        """Return members in an order that depends on nothing but what they hold."""
        return sorted(members, key=self._foretold)

    def _foretold(self, value: Any) -> str:
        """Return what would be written of a value, without writing it."""
        constant = self.constant(value)
        if constant is not None:
            return constant
        trial = Walk(self.treatments, self.known)
        trial.numbers = dict(self.numbers)
        trial.emit(value)
        return "".join(trial.out)


def _mutable(parts: tuple[Part, ...], label: str) -> Treatment:
    """Return the treatment of objects made of parts: written by their last entry where that still holds.

    This is where a walk spends its time, hence one function without calls that could be avoided.
    """
    first, others = parts[0].same, parts[1:]

    def is_same(value: Any, contents: tuple[Any, ...]) -> bool:
        return first(value, contents[0]) and all(
            part.same(value, content) for part, content in zip(others, contents[1:], strict=True)
        )

    def write(walk: Walk, value: Any) -> None:
        key = id(value)
        numbers, out = walk.numbers, walk.out
        number = numbers.get(key)
        if number is not None:
            out.append(f"&{number}")
            return
        numbers[key] = len(numbers)
        entry = walk.known.get(key)
        if entry is None or not (is_same(value, entry[2]) if others else first(value, entry[2][0])):
            entry = walk.read(value, parts, label)
        walk.met[key] = entry
        _, _, _, pieces, gaps = entry
        if pieces is None:
            walk.write_loosely(entry, label)
            return
        out.append(pieces[0])
        if gaps:
            treatments = walk.treatments
            for gap, piece in zip(gaps, pieces[1:], strict=True):
                number = numbers.get(id(gap))
                if number is None:
                    treatments[type(gap)](walk, gap)
                else:
                    out.append(f"&{number}")
                out.append(piece)

    return write


_OWN: Final[Mapping[type, Treatment]] = {
    object: Walk.write_sentinel,
    tuple: Walk.write_tuple,
    frozenset: Walk.write_frozenset,
    types.MethodType: Walk.write_method,
    types.FunctionType: Walk.write_function,
    functools.partial: Walk.write_partial,
    Namespace: _mutable((NAMESPACE,), "namespace"),
}


def _atom_text(value: Any) -> str:
    return f"{type(value).__name__}:{value!r}"


def _fixed_text(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return f"fixed:{type(value).__qualname__}.{value.name}"
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    name = name or getattr(value, "name", "")
    return f"fixed:{type(value).__name__}:{name}"
