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

Modules and classes are fixed points and not looked into, unless they are among the `namespaces`,
of which the variables count; or a class of one of the program's `own` modules that is met on the
way, such as one made inside a function.  Of a function, what it closes over, its default values
and its attributes count.  What objects keep in C is read and written where Python has a way to (see
`c_contents`); an object for which it has none (a generator, an open file) is left as it is, and
the snapshot says so: `opaque`.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import functools
import gc
import random
import sys
import types
import uuid
import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from itertools import chain
from operator import attrgetter, is_
from pathlib import Path
from typing import Any, Final, NamedTuple

from penstock._concolic.code.in_place import identity_of
from penstock._controllers.c_contents import C_FIELD, IMMUTABLE, TUPLE_FIELD, c_part
from penstock._controllers.contents import (
    NAMESPACE,
    SEPARATOR,
    VARIABLES,
    Held,
    Namespace,
    Part,
    Still,
    Together,
    Variables,
    attributes_together,
    hidden_base,
    identity,
    lay_sequence,
    parts_of,
    same_dict,
)
from penstock.errors import PenstockError

_DEEPEST: Final = 30_000
"""How many calls more than usual may be inside each other while a program is saved."""

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
    types.ModuleType,
    types.CodeType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GenericAlias,
    types.UnionType,
    ContextVar,
    *(C_FIELD, TUPLE_FIELD),
    random.SystemRandom,
    type(functools.lru_cache(repr)),
)

_MARKS: Final = frozenset({"callers", "__wrapped__"})
"""Attributes of functions that are there from the beginning and say what is called when."""

Fixed = Callable[[type], bool]
Treatment = Callable[["Walk", Any], None]


class Parts(tuple[Part, ...]):
    """The parts that objects are made of, and their class, if it is of a kind that they can be given."""

    kind: type | None = None


Entry = tuple[Any, Parts, tuple[Any, ...], tuple[str, ...] | None, tuple[Any, ...]]
"""An object, its parts, their contents, its text with gaps, and what fills the gaps.

There is no text where its order depends on what mutable members hold at the moment.
"""


class Snapshot:
    """A program's state at one moment; equal to another of the same state.

    `notes` holds what special treatments noted, `opaque` the types that were met and cannot be
    looked into.
    """

    __slots__ = ("calm", "digest", "entries", "notes", "opaque")

    def __init__(
        self,
        digest: bytes,
        entries: tuple[Entry, ...],
        notes: tuple[Any, ...],
        opaque: frozenset[str],
        calm: _Reach | None = None,
    ) -> None:
        self.digest = digest
        self.entries = entries
        self.notes = notes
        self.opaque = opaque
        self.calm = calm
        """What the last of the entries are those of, if many snapshots share them."""

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
    handed the `Walk` and the object, and says what the walk is to make of it.  `calm` are those roots that
    hardly ever change; the namespaces count among them.
    """

    def __init__(
        self,
        roots: Iterable[Any],
        *,
        namespaces: Iterable[Any] = (),
        fixed: Fixed | None = None,
        special: Mapping[type, Treatment] | None = None,
        own: Container[str] = (),
        ordered: bool = False,
        calm: Iterable[Any] = (),
    ) -> None:
        self._ordered = ordered
        self._own = own
        """The names of the program's own modules."""
        self._namespaces: dict[type, Namespace | None] = {}
        """Classes and their variables; None for those that are not the program's, or are among the roots."""
        self._special = dict(special or {})
        self._fixed = fixed or (lambda _: False)
        self._treatments = _Treatments(self._choose)
        self._known: dict[int, Entry] = {}
        self.current: Snapshot | None = None
        """The snapshot that memory is known to be equal to."""
        owners = list(namespaces)
        self._namespaces.update((owner, None) for owner in owners if isinstance(owner, type))
        variables = [self._namespace(owner) for owner in owners]
        self.roots = [*roots, *variables]
        self._calm = [*variables, *calm]
        """The roots that hardly ever change, which come first: see `_Reach`."""
        known = set(map(identity, self._calm))
        self._lively = [root for root in self.roots if identity(root) not in known]
        self._reach: _Reach | None = None
        """What the calm roots lead to, as it was when it was last walked over or entered."""

    def take(self) -> Snapshot:
        """Return a snapshot of the program as it is."""
        try:
            return self._taken()
        except RecursionError:
            with _deeper():
                return self._taken()

    def _taken(self) -> Snapshot:
        walk = Walk(self._treatments, self._known, self.local)
        walk.weak = []
        if self._reach is None or not self._reach.is_as_it_was():
            self._write_roots(walk, self._calm)
            self._reach = _Reach.of(walk)
        else:
            self._reach.write(walk)
        calm = len(walk.met)
        self._write_roots(walk, self._lively)
        walk.write_weakly_held(self._own)
        text = "".join(walk.out).encode("utf-8", "surrogatepass")
        digest = blake2b(text, digest_size=16).digest()
        entries = tuple(walk.met.values())
        # The program itself comes first, for whoever looks at its state.
        entries = entries[calm:] + entries[:calm]
        snapshot = Snapshot(digest, entries, tuple(walk.notes), frozenset(walk.opaque), self._reach)
        self._known = walk.met
        self.current = snapshot
        return snapshot

    def _write_roots(self, walk: Walk, roots: Iterable[Any]) -> None:
        for root in roots:
            # A function among the roots is one that is known to change, plain as it may look.
            (_write_function if type(root) is types.FunctionType else Walk.emit)(walk, root)
            walk.out.append("\0")

    def enter(self, snapshot: Snapshot) -> None:
        """Bring the program into the state of a snapshot."""
        if snapshot is self.current:
            return
        known, entries = self._known, snapshot.entries
        entered: dict[int, Entry] = {}
        if snapshot.calm is not None and snapshot.calm is self._reach:
            entered |= snapshot.calm.met
            entries = entries[: len(entries) - len(entered)]
        for entry in entries:
            key = identity(entry[0])
            entered[key] = entry
            if known.get(key) is not entry:
                _write(entry)
        self._known = entered
        self._reach = snapshot.calm
        self.current = snapshot

    def objects(self) -> list[Any]:
        """Return the objects that are saved with the present state, and the owners of saved variables."""
        objects = [*self.roots, *(entry[0] for entry in self._known.values())]
        return [each.owner if isinstance(each, Namespace) else each for each in objects]

    def places(self, kinds: Container[str]) -> dict[str, str]:
        """Return where objects of certain types are first met, by the types' names, as memory is now."""
        return places_of(self.roots, self._known, kinds)

    def forget(self) -> None:
        """Note that memory may hold anything now: the next `enter` writes all there is."""
        self._known = {}
        self._reach = None
        self.current = None

    def _choose(self, kind: type) -> Treatment:
        """Return what is done with the objects of a type."""
        for base in kind.__mro__:
            if base in self._special:
                return self._special[base]
        if kind in _ATOMS or issubclass(kind, _VALUES):
            return Walk.write_atom
        if issubclass(kind, type):
            return Walk.write_class
        if issubclass(kind, _FIXED) or self._fixed(kind) or self._is_constant(kind):
            return Walk.write_fixed
        if (treatment := _OWN.get(kind)) is not None:
            return treatment
        if kind in IMMUTABLE:
            return _view(IMMUTABLE[kind])
        if issubclass(kind, weakref.ref):
            return Walk.write_weak
        return self._made_of_parts(kind)

    def _is_constant(self, kind: type) -> bool:
        """Tell whether a type is an enumeration of somebody else's."""
        return issubclass(kind, enum.Enum) and kind.__module__ not in self._own

    def _made_of_parts(self, kind: type) -> Treatment:
        own = c_part(kind)
        parts = parts_of(kind, own, ordered=self._ordered)
        if not parts:
            return Walk.write_opaque
        label = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        write = _mutable(_of_class(parts, kind), label)
        if own is None and (hidden := hidden_base(kind)) is not None:
            write = _partly_seen(write, hidden)
        return write if self.local(kind) is None else _with_class(write)

    def local(self, kind: type) -> Namespace | None:
        """Return the variables of a class, if it is the program's and not among the namespaces."""
        try:
            return self._namespaces[kind]
        except KeyError:
            self._namespaces[kind] = namespace = Namespace(kind) if kind.__module__ in self._own else None
            if namespace is not None:
                self._note_constants(namespace)
            return namespace

    def _namespace(self, owner: Any) -> Namespace:
        namespace = Namespace(owner)
        self._note_constants(namespace)
        return namespace

    def _note_constants(self, namespace: Namespace) -> None:
        """Note which variables cannot change unless they are bound anew."""
        owner = namespace.owner
        constant = Walk(self._treatments, {}, self.local).constant
        namespace.constants = {
            name: value for name, value in vars(owner).items() if constant(value) is not None
        }


class _Reach(NamedTuple):
    """All that a walk over the calm roots met: if nothing of it has changed, it need not be walked again."""

    text: str
    met: dict[int, Entry]
    numbers: dict[int, int]
    values: list[Any]
    """The objects themselves."""
    kinds: list[type]
    """Of which class each object was, which a program can change, too."""
    together: Together

    @classmethod
    def of(cls, walk: Walk) -> _Reach | None:
        """Return what a walk has met so far; None if entries do not say all about it."""
        if walk.notes or walk.opaque or walk.weak or len(walk.met) != len(walk.numbers):
            return None
        if any(entry[3] is None for entry in walk.met.values()):
            return None
        values = [entry[0] for entry in walk.met.values()]
        together = Together(entry[:3] for entry in walk.met.values())
        text, met, numbers = "".join(walk.out), dict(walk.met), dict(walk.numbers)
        return cls(text, met, numbers, values, list(map(type, values)), together)

    def is_as_it_was(self) -> bool:
        """Tell whether memory holds what it held then."""
        return all(map(is_, map(type, self.values), self.kinds)) and self.together.are_as_they_were()

    def write(self, walk: Walk) -> None:
        """Have a walk go on as if it had met all this."""
        walk.out.append(self.text)
        walk.met.update(self.met)
        walk.numbers.update(self.numbers)


@contextmanager
def _deeper() -> Iterator[None]:
    """Have Python go deeper than programs may: a list can be linked further than a function may call itself.

    Raises `PenstockError` where that is not enough.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + _DEEPEST)
    try:
        yield
    except RecursionError:
        raise PenstockError(
            "The program keeps objects too deeply inside each other to be saved, as in a long linked list: "
            "keep them in a list or a dictionary."
        ) from None
    finally:
        sys.setrecursionlimit(before)


class _Treatments(dict[type, Treatment]):
    """What is done with the objects of a type, decided when the first one is met."""

    __slots__ = ("_choose", "plain_functions")

    def __init__(self, choose: Callable[[type], Treatment]) -> None:
        super().__init__()
        self._choose = choose
        self.plain_functions: dict[int, _PlainFunction] = {}
        """Functions that hold nothing which can change, by their identities."""

    def __missing__(self, kind: type) -> Treatment:
        treatment = self[kind] = self._choose(kind)
        return treatment


def places_of(roots: Iterable[Any], met: Mapping[int, Entry], kinds: Container[str]) -> dict[str, str]:
    """Return where objects of certain types are first met, as a program would write it."""
    found: dict[str, str] = {}
    seen: set[int] = set()
    waiting: list[tuple[str, Any]] = [("", root) for root in roots]
    for where, value in waiting:
        kind = type(value)
        if (name := f"{kind.__module__}.{kind.__qualname__}") in kinds:
            found.setdefault(name, where)
        if identity(value) in seen:
            continue
        seen.add(identity(value))
        if isinstance(value, tuple | frozenset | types.MethodType):
            inner = (value.__func__, value.__self__) if isinstance(value, types.MethodType) else value
            waiting += ((where, each) for each in inner)
        elif (entry := met.get(identity(value))) is not None:
            for content in entry[2]:
                waiting += _named_members(_home(where, value), content)
    return found


def difference(before: Snapshot | None, after: Snapshot | None) -> str:
    """Return where two snapshots of a program differ, as a program would write it; "" if nobody can tell."""
    if before is None or after is None:
        return ""
    known = {identity(entry[0]): entry for entry in before.entries}
    for entry in after.entries:
        old = known.get(identity(entry[0]))
        if old is None or old is entry:
            continue
        for part, now, then in zip(entry[1], entry[2], old[2], strict=True):
            if isinstance(now, Mapping) and isinstance(then, Mapping):
                names = [name for name in {**then, **now} if now.get(name, part) is not then.get(name, part)]
                if names:
                    return f"{_home(type(entry[0]).__name__, entry[0])}.{names[0]}"
            elif now != then:
                return f"an object of type {type(entry[0]).__name__}"
    return ""


def _home(where: str, value: Any) -> str:
    """Return how what an object holds is called: by its class if it has attributes, else by where it is."""
    if isinstance(value, Namespace | Variables):
        return str(value.owner.__name__)
    if hasattr(value, "__dict__") and not isinstance(value, types.FunctionType | type):
        return type(value).__name__
    return where


def _named_members(where: str, content: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(content, Mapping):
        for key, value in content.items():
            yield (f"{where}.{key}" if isinstance(key, str) and key.isidentifier() else where), value
            yield where, key
    elif isinstance(content, list | tuple | set | frozenset):
        yield from ((where, value) for value in content)


def _write(entry: Entry) -> None:
    value, parts, contents, _, _ = entry
    if parts.kind is not None and type(value) is not parts.kind:
        # A program may have made it an object of another class.
        object.__setattr__(value, "__class__", parts.kind)
    for part, content in zip(parts, contents, strict=True):
        part.write(value, content)


class Walk:
    """One walk over an object graph: gathers entries and writes the canonical text."""

    __slots__ = ("known", "local", "met", "notes", "numbers", "opaque", "out", "treatments", "weak")

    def __init__(
        self,
        treatments: _Treatments,
        known: Mapping[int, Entry],
        local: Callable[[type], Namespace | None],
    ) -> None:
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
        self.local = local
        self.weak: list[Any] | None = None
        """What weak references lead to, to be written when all else is; None: it is written at once."""

    def write_weakly_held(self, own: Container[str]) -> None:
        """Write what weak references lead to; note objects of the program's that nothing else holds.

        Python would have them gone by now, and only earlier states that are kept hold them.
        """
        waiting, self.weak = self.weak or [], None
        for value in waiting:
            if identity(value) not in self.numbers and type(value).__module__ in own:
                self.opaque.add(f"{type(value).__module__}.{type(value).__qualname__}")
            self.emit(value)

    def emit(self, value: Any) -> None:
        """Write the text of a value, and note the contents of what it is made of."""
        self.treatments[type(value)](self, value)

    def is_new(self, value: Any) -> bool:
        """Tell whether an object is met for the first time; if not, write where that was."""
        key = identity(value)
        number = self.numbers.get(key)
        if number is not None:
            self.out.append(f"&{number}")
            return False
        self.numbers[key] = len(self.numbers)
        return True

    def constant(self, value: Any) -> str | None:
        """Return the text of a value that can never change, or None if it may."""
        treatment = self.treatments[type(value)]
        if treatment is Walk.write_atom:
            return _atom_text(value)
        if treatment is Walk.write_fixed:
            return _fixed_text(value)
        if treatment is Walk.write_class:
            return _fixed_text(value) if self.local(value) is None else None
        if treatment is Walk.write_function:
            return self._plain_text(value) if self._is_plain(value) else None
        if treatment is Walk.write_builtin:
            return _fixed_text(value) if isinstance(value.__self__, _HOMES) else None
        if treatment is Walk.write_tuple:
            texts = [self.constant(item) for item in value]
            known = [text for text in texts if text is not None]
            return f"({','.join(known)})" if len(known) == len(texts) else None
        if (leads_to := IMMUTABLE.get(type(value))) is not None:
            parts = self.constant(tuple(leads_to(value)))
            return None if parts is None else f"{type(value).__name__}:{parts}"
        return None

    def _is_plain(self, function: types.FunctionType) -> bool:
        """Tell whether a function holds nothing that can change."""
        if function.__closure__ is not None or function.__kwdefaults__:
            return False
        if function.__dict__ and not function.__dict__.keys() <= _MARKS:
            return False
        return all(self.constant(value) is not None for value in function.__defaults__ or ())

    def _plain_text(self, function: types.FunctionType) -> str:
        """Return the text of a function that holds nothing but default values, which cannot change."""
        defaults = function.__defaults__
        return _fixed_text(function) + (f"({self.constant(defaults)})" if defaults else "")

    # Treatments.

    def write_atom(self, value: Any) -> None:
        """Write a value that never changes."""
        self.out.append(_atom_text(value))

    def write_fixed(self, value: Any) -> None:
        """Write the name of something that is not looked into."""
        self.out.append(_fixed_text(value))

    def write_class(self, value: type) -> None:
        """Write the name of a class, and its variables if nobody else does."""
        self.out.append(_fixed_text(value))
        namespace = self.local(value)
        if namespace is not None:
            self.emit(namespace)

    def write_builtin(self, value: types.BuiltinFunctionType) -> None:
        """Write a function written in C, with the object that it is a method of."""
        self.out.append(_fixed_text(value))
        if not isinstance(value.__self__, _HOMES):
            self.emit(value.__self__)

    def write_proxy(self, value: Any) -> None:
        """Write what a weak proxy leads to."""
        self.out.append("proxy:")
        try:
            self._emit_weakly(value.__repr__.__self__)
        except ReferenceError:
            self.out.append("dead")

    def _emit_weakly(self, value: Any) -> None:
        """Write what a weak reference leads to, at the end if that is not written yet."""
        if self.weak is None or value is None or identity(value) in self.numbers:
            self.emit(value)
        else:
            self.weak.append(value)

    def write_opaque(self, value: Any) -> None:
        """Write what shows of something that cannot be looked into."""
        kind = type(value)
        if value is sys.__stderr__ or value is sys.__stdout__ or value is sys.__stdin__:
            self.out.append("<standard stream>")
            return
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
        self.out.append("method:")
        self.emit(value.__func__)
        self.out.append("@")
        self.emit(value.__self__)

    def write_weak(self, value: weakref.ref[Any]) -> None:
        """Write what a weak reference leads to."""
        self.out.append("weak:")
        self._emit_weakly(value())

    def write_function(self, value: types.FunctionType) -> None:
        """Write a function with what it closes over, its default values and its attributes."""
        known = self.treatments.plain_functions.get(identity(value))
        if known is not None and known.is_as_it_was():
            self.out.append(known.text)
        elif self._is_plain(value):
            self.out.append(self._plain_text(value))
            self._remember_plain(value, self.out[-1])
        else:
            self.out.append(_fixed_text(value))
            _write_function(self, value)

    def _remember_plain(self, function: types.FunctionType, text: str) -> None:
        functions = self.treatments.plain_functions
        if len(functions) >= _MOST_PLAIN:
            functions.clear()
        functions[identity(function)] = _PlainFunction(
            function, gc.get_referents(function), _OF_FUNCTION(function), text
        )

    def read(self, value: Any, parts: Parts, label: str) -> Entry:
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
        trial = Walk(self.treatments, self.known, self.local)
        trial.numbers = dict(self.numbers)
        trial.emit(value)
        return "".join(trial.out)


_MOST_PLAIN: Final = 1_000
"""How many plain functions are remembered."""

_OF_FUNCTION: Final = attrgetter(
    "__doc__", "__module__", "__name__", "__qualname__", "__dict__", "__closure__"
)
"""What a function leads to besides its code, default values and annotations."""


class _PlainFunction(NamedTuple):
    """A function that holds nothing which can change, what it leads to, and its text."""

    function: types.FunctionType
    leads_to: list[Any]
    of_function: tuple[Any, ...]
    text: str

    def is_as_it_was(self) -> bool:
        """Tell whether nothing of it was replaced since.

        What it leads to has its code and its default values in it; to ask for each would raise an audit
        event.  There are gaps in that list, where the function has nothing; hence what else is there is
        compared by itself, so that nothing can stand in another's place.
        """
        leads_to, held = gc.get_referents(self.function), self.function.__dict__
        return (
            len(leads_to) == len(self.leads_to)
            and all(map(is_, leads_to, self.leads_to))
            and all(map(is_, _OF_FUNCTION(self.function), self.of_function))
            and (not held or held.keys() <= _MARKS)
        )


def _of_class(parts: Iterable[Part], kind: type) -> Parts:
    """Return the parts of the objects of a class."""
    made = Parts(parts)
    made.kind = kind if kind.__flags__ & MADE_ON_HEAP else None
    return made


MADE_ON_HEAP: Final = 1 << 9
"""The flag of classes that were not written in C, and of few that were."""


def _mutable(parts: Parts, label: str) -> Treatment:
    """Return the treatment of objects made of parts: written by their last entry where that still holds.

    This is where a walk spends its time, hence one function without calls that could be avoided.
    """
    first, others = parts[0].same, parts[1:]

    def is_same(value: Any, contents: tuple[Any, ...]) -> bool:
        return first(value, contents[0]) and all(
            part.same(value, content) for part, content in zip(others, contents[1:], strict=True)
        )

    def write(walk: Walk, value: Any) -> None:
        key = identity(value)
        numbers, out = walk.numbers, walk.out
        number = numbers.get(key)
        if number is not None:
            out.append(f"&{number}")
            return
        numbers[key] = len(numbers)
        entry = walk.known.get(key)
        if (
            entry is None
            or entry[1] is not parts
            or not (is_same(value, entry[2]) if others else first(value, entry[2][0]))
        ):
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
                treatments[type(gap)](walk, gap)
                out.append(piece)

    return write


def _partly_seen(write: Treatment, hidden: type) -> Treatment:
    """Return a treatment that also notes what is at the bottom of an object and cannot be seen."""
    name = f"{hidden.__module__}.{hidden.__qualname__}"

    def write_and_note(walk: Walk, value: Any) -> None:
        walk.opaque.add(name)
        write(walk, value)

    return write_and_note


def _with_class(write: Treatment) -> Treatment:
    """Return a treatment that also writes an object's class, of which nobody else may know."""

    def write_both(walk: Walk, value: Any) -> None:
        write(walk, value)
        walk.write_class(type(value))

    return write_both


def _view(parts: Callable[[Any], Iterable[Any]]) -> Treatment:
    """Return the treatment of what cannot be changed itself but leads to something that can."""

    def write(walk: Walk, value: Any) -> None:
        walk.out.append(f"{type(value).__name__}:")
        walk.write_tuple(tuple(parts(value)))

    return write


_NAMES_OF_FUNCTION: Final = ("__name__", "__qualname__", "__doc__")


def _read_function(value: types.FunctionType) -> tuple[Any, ...]:
    names = tuple([getattr(value, name) for name in _NAMES_OF_FUNCTION])
    held = value.__defaults__, value.__kwdefaults__, dict(value.__dict__), value.__code__, names
    return *held, *(value.__closure__ or ())


def _is_same_code(one: types.CodeType, other: types.CodeType) -> bool:
    """Tell whether two codes are one function's, one of them perhaps rewritten to be followed."""
    return one is other or _code_text(one) == _code_text(other)


def _same_function(value: types.FunctionType, content: tuple[Any, ...]) -> bool:
    return (
        value.__defaults__ is content[0]
        and value.__kwdefaults__ is content[1]
        and same_dict(value.__dict__, content[2])
        and _is_same_code(value.__code__, content[3])
        and all(
            getattr(value, name) is held for name, held in zip(_NAMES_OF_FUNCTION, content[4], strict=True)
        )
    )


def _write_back_function(value: types.FunctionType, content: tuple[Any, ...]) -> None:
    if not _is_same_code(value.__code__, content[3]):
        value.__code__ = content[3]
    for name, held in zip(_NAMES_OF_FUNCTION, content[4], strict=True):
        setattr(value, name, held)
    value.__defaults__, value.__kwdefaults__ = content[:2]
    value.__dict__.clear()
    value.__dict__.update(content[2])


def _lay_function(value: Any, content: tuple[Any, ...], constant: Callable[[Any], str | None]) -> Any:
    names = [half for name in sorted(content[2]) for half in (name, content[2][name])]
    return lay_sequence(value, (*content[:2], *content[3:], *names), constant)


def _functions_together(held: Held) -> Still:
    functions = [value for value, _ in held]
    separated = [each for function in functions for each in (function, SEPARATOR)]
    leads_to = gc.get_referents(*separated)
    of_function = list(chain.from_iterable(map(_OF_FUNCTION, functions)))
    attributes = attributes_together([(value, content[2]) for value, content in held])
    was_same = all(_same_function(value, content) for value, content in held)

    def still() -> bool:
        now = gc.get_referents(*separated)
        return (
            was_same
            and len(now) == len(leads_to)
            and all(map(is_, now, leads_to))
            and all(map(is_, chain.from_iterable(map(_OF_FUNCTION, functions)), of_function))
            and attributes()
        )

    return still


FUNCTION: Final = Part(
    _read_function, _same_function, _write_back_function, _lay_function, _functions_together
)
"""A function's code, default values, attributes and cells."""

_write_function: Final = _mutable(Parts((FUNCTION,)), "function")

_HOMES: Final = (types.ModuleType, type, type(None))
"""What functions written in C belong to, where they are not methods of an object."""

_OWN: Final[Mapping[type, Treatment]] = {
    object: Walk.write_sentinel,
    tuple: Walk.write_tuple,
    frozenset: Walk.write_frozenset,
    types.MethodType: Walk.write_method,
    types.FunctionType: Walk.write_function,
    types.BuiltinFunctionType: Walk.write_builtin,
    types.MethodWrapperType: Walk.write_builtin,
    weakref.ProxyType: Walk.write_proxy,
    weakref.CallableProxyType: Walk.write_proxy,
    Namespace: _mutable(Parts((NAMESPACE,)), "namespace"),
    Variables: _mutable(Parts((VARIABLES,)), "variables"),
}


def _atom_text(value: Any) -> str:
    if type(value) is int:
        # Python writes no number of very many digits in decimals.
        return f"int:{value:#x}"
    return f"{type(value).__name__}:{value!r}"


def _fixed_text(value: Any) -> str:
    """Return a text that no other fixed thing has: things of one name may be of different modules."""
    home = getattr(value, "__module__", None)
    if isinstance(value, enum.Enum):
        return f"fixed:{home}.{type(value).__qualname__}.{value.name}"
    if isinstance(value, types.FunctionType):
        return f"fixed:function:{home}.{value.__qualname__}:{_code_text(value.__code__)}"
    if isinstance(value, types.CodeType):
        return f"fixed:code:{_code_text(value)}"
    if isinstance(value, types.GenericAlias | types.UnionType):
        return f"fixed:{value!r}"
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    name = name or getattr(value, "name", "")
    return f"fixed:{type(value).__name__}:{home}.{name}"


_CODES: Final[dict[int, tuple[types.CodeType, str]]] = {}
"""Code objects and their texts, by the identities that they have as long as they are kept here."""


def _code_text(code: types.CodeType) -> str:
    """Return a text that no other function's code has, also if it has the same name or no file."""
    known = _CODES.get(identity(code))
    if known is None:
        text = f"{code.co_filename}:{identity_of(code)}"
        if not Path(code.co_filename).is_file():
            inner = (
                _code_text(each) if isinstance(each, types.CodeType) else each for each in code.co_consts
            )
            text += f":{code.co_code!r}:{code.co_names}:{tuple(inner)!r}"
        known = _CODES[identity(code)] = (code, text)
    return known[1]
