"""What an object's content consists of, how it is read, written back, and laid out as text.

An object has one or more *parts*: its attributes, its slots, the items of the container it is.
A part is read into a copy, compared with an earlier copy (by the identity of what is in it, which
is fast and exact), and written back into the same object.

To *lay out* a part is to write its text once, with gaps where something mutable stands:

    pieces ["{age=int:3,friends=", ",name=str:'Ann',}"]     gaps [the list of friends]

A part whose members have no order until one has looked into them cannot be laid out.

Of many objects that hardly ever change it is asked *together* whether they have, which takes a fraction
of the time: their contents are compared as one long sequence.
"""

from __future__ import annotations

import array
import collections
import io
import logging
import os
import random
import threading
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter, is_, itemgetter, methodcaller
from typing import Any, Final, Generic, NamedTuple

from penstock._concolic.run import HOOK

Constant = Callable[[Any], str | None]
"""Returns the text of a value that can never change, or None."""

Layout = tuple[list[str], list[Any]]
"""Pieces of text, and what stands in the gaps between them."""

Held = Sequence[tuple[Any, Any]]
"""Objects with copies of their contents."""

Still = Callable[[], bool]
"""Tells whether objects still hold what they held."""

identity: Final[Callable[[object], int]] = object.__hash__
"""Returns a number that no other object has at the same time.

`id` would do, but raises an audit event, which somebody listens to (see `outside`), and walks over memory ask
for millions of these numbers.
"""


SEPARATOR: Final = [object()]
"""Leads to something that nothing else leads to: where one object ends among what many lead to."""


class Part(NamedTuple):
    """One part of what objects of a type hold."""

    read: Callable[[Any], Any]
    """Return a copy of the content."""
    same: Callable[[Any, Any], bool]
    """Tell whether an object's content is still this copy."""
    write: Callable[[Any, Any], None]
    """Put a copy back."""
    lay: Callable[[Any, Any, Constant], Layout | None]
    """Lay out the content of an object, or None where that is not possible."""
    together: Callable[[Held], Still] | None = None
    """Return what tells of many objects whether `same` is true for each; None where each has to be asked."""


class Together:
    """Objects of which it is asked together whether they still hold what they held."""

    __slots__ = ("_alone", "_stills")

    def __init__(self, held: Iterable[tuple[Any, Sequence[Part], Sequence[Any]]]) -> None:
        by_part: dict[Part, list[tuple[Any, Any]]] = {}
        for value, parts, contents in held:
            for part, content in zip(parts, contents, strict=True):
                by_part.setdefault(part, []).append((value, content))
        self._stills = [part.together(held) for part, held in by_part.items() if part.together is not None]
        self._alone = [
            (part.same, value, content)
            for part, held in by_part.items()
            if part.together is None and part.same is not _always
            for value, content in held
        ]

    def are_as_they_were(self) -> bool:
        """Tell whether none of them has changed."""
        for still in self._stills:
            if not still():
                return False
        return all(same(value, content) for same, value, content in self._alone)


class Namespace:
    """The variables of a module or class, as part of a program's state."""

    __slots__ = ("constants", "owner")

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.constants: dict[str, Any] = {}
        """The variables that cannot change unless they are bound anew, as they were at first."""


class Variables:
    """Some variables of a module or class, as part of a program's state."""

    __slots__ = ("names", "owner")

    def __init__(self, owner: Any, names: tuple[str, ...]) -> None:
        self.owner, self.names = owner, names


def parts_of(kind: type, own: Part | None = None, *, ordered: bool = False) -> tuple[Part, ...]:
    """Return the parts that the objects of a type consist of; none where they cannot be seen.

    `own` is the part of what they keep in C, if there is one besides those known here.  `ordered`
    tells whether the order of the keys of plain dictionaries counts.
    """
    found = [part for bases, part in _CONTAINERS if issubclass(kind, bases)][:1]
    if own is not None:
        found = [own]
    elif issubclass(kind, io.IOBase):
        return ()
    if ordered and found == [_DICT]:
        found = [_DICT_IN_ORDER]
    if kind.__dictoffset__ and not issubclass(kind, _BY_OWN_ATTRIBUTES):
        found.append(_ATTRIBUTES)
    slots = _slots_of(kind)
    if slots:
        found.append(_slots(slots))
    return tuple(found)


def _lay(opening: str, items: Iterable[tuple[str, Any]], closing: str, constant: Constant) -> Layout:
    """Lay out items, each with what is written before it."""
    pieces, gaps = [opening], []
    for before, value in items:
        text = constant(value)
        if text is None:
            gaps.append(value)
            pieces[-1] += before
            pieces.append(",")
        else:
            pieces[-1] += f"{before}{text},"
    pieces[-1] += closing
    return pieces, gaps


def lay_sequence(_: Any, content: Iterable[Any], constant: Constant) -> Layout:
    """Lay out items in their order."""
    return _lay("[", (("", item) for item in content), "]", constant)


def lay_names(_: Any, content: Mapping[str, Any], constant: Constant) -> Layout:
    """Lay out values by the names they have, sorted."""
    return _lay("{", ((f"{name}=", content[name]) for name in sorted(content)), "}", constant)


def _always(_value: Any, _content: Any) -> bool:
    return True


def _leave(_value: Any, _content: Any) -> None:
    """Write nothing: what cannot change need not be put back."""


# Dictionaries.


def same_dict(value: dict[Any, Any], content: dict[Any, Any]) -> bool:
    """Tell whether a dictionary still holds the very objects of a copy, in the same order."""
    return (
        len(value) == len(content)
        and all(map(is_, dict.values(value), content.values()))
        and all(map(is_, dict.keys(value), content))
    )


def _together_as_mappings(
    mappings: Callable[[], Iterable[Any]],
    held: Held,
    values_of: Callable[[Any], Iterable[Any]] = dict.values,
    keys_of: Callable[[Any], Iterable[Any]] = dict.keys,
) -> Still:
    """Return what tells whether mappings hold the very objects of their copies, in the same order."""
    copies: list[dict[Any, Any]] = [content for _, content in held]
    # Without the lengths an item could have gone from the end of one mapping to the beginning of the next.
    lengths = list(map(len, copies))
    values = list(chain.from_iterable(copy.values() for copy in copies))
    keys = list(chain.from_iterable(copies))

    def still() -> bool:
        return (
            list(map(len, mappings())) == lengths
            and all(map(is_, chain.from_iterable(map(values_of, mappings())), values))
            and all(map(is_, chain.from_iterable(map(keys_of, mappings())), keys))
        )

    return still


def _dicts_together(held: Held) -> Still:
    dicts = [value for value, _ in held]
    return _together_as_mappings(lambda: dicts, held)


def attributes_together(held: Held) -> Still:
    """Return what tells whether objects have the very attributes of copies, in the same order."""
    objects = [value for value, _ in held]
    return _together_as_mappings(lambda: map(_ATTRIBUTES_OF, objects), held)


_ATTRIBUTES_OF: Final = attrgetter("__dict__")


def _write_dict(value: dict[Any, Any], content: dict[Any, Any]) -> None:
    # Its keys are compared by identity alone: what a program has put there may be followed.
    if len(value) != len(content) or not all(map(is_, dict.keys(value), content)):
        dict.clear(value)
    dict.update(value, content)


def _lay_dict(_: Any, content: dict[Any, Any], constant: Constant) -> Layout | None:
    keyed = []
    for key, value in content.items():
        text = constant(key)
        if text is None:
            return None
        keyed.append((f"{text}=", value))
    keyed.sort(key=lambda pair: pair[0])
    return _lay("{", keyed, "}", constant)


def _read_dict(value: dict[Any, Any]) -> dict[Any, Any]:
    return dict(dict.items(value))


_DICT: Final = Part(_read_dict, same_dict, _write_dict, _lay_dict, _dicts_together)


def _same_ordered(value: collections.OrderedDict[Any, Any], content: dict[Any, Any]) -> bool:
    return (
        len(value) == len(content)
        and all(map(is_, collections.OrderedDict.values(value), content.values()))
        and all(map(is_, collections.OrderedDict.keys(value), content))
    )


def _write_ordered(value: collections.OrderedDict[Any, Any], content: dict[Any, Any]) -> None:
    # It keeps its order in a list of its own, which dict's methods would leave behind.
    collections.OrderedDict.clear(value)
    for key, item in content.items():
        collections.OrderedDict.__setitem__(value, key, item)


def _lay_ordered(_: Any, content: dict[Any, Any], constant: Constant) -> Layout:
    return _lay("[", (("", half) for item in content.items() for half in item), "]", constant)


_ORDERED: Final = Part(
    lambda value: dict(collections.OrderedDict.items(value)), _same_ordered, _write_ordered, _lay_ordered
)

_DICT_IN_ORDER: Final = Part(_read_dict, same_dict, _write_dict, _lay_ordered, _dicts_together)


# Attributes, slots, variables.


def _same_attributes(value: Any, content: dict[str, Any]) -> bool:
    # As `same_dict` has it, without a call: most of what is saved has attributes.
    held = value.__dict__
    return (
        len(held) == len(content)
        and all(map(is_, dict.values(held), content.values()))
        and all(map(is_, dict.keys(held), content))
    )


def _write_attributes(value: Any, content: dict[str, Any]) -> None:
    _write_dict(value.__dict__, content)


_ATTRIBUTES: Final = Part(
    lambda value: dict(value.__dict__),
    _same_attributes,
    _write_attributes,
    lay_names,
    attributes_together,
)

_MISSING: Final = object()


def _slots(names: tuple[str, ...]) -> Part:
    """Return the part made of these slots; one that is empty is left out."""

    def read(value: Any) -> dict[str, Any]:
        held = ((name, getattr(value, name, _MISSING)) for name in names)
        return {name: item for name, item in held if item is not _MISSING}

    getter = attrgetter(*names)

    def same(value: Any, content: dict[str, Any]) -> bool:
        if len(content) == len(names) > 1:
            try:
                return all(map(is_, getter(value), content.values()))
            except AttributeError:
                return False
        return all(getattr(value, name, _MISSING) is content.get(name, _MISSING) for name in names)

    def write(value: Any, content: dict[str, Any]) -> None:
        for name in names:
            if name in content:
                object.__setattr__(value, name, content[name])
            elif hasattr(value, name):
                object.__delattr__(value, name)

    return Part(read, same, write, lay_names)


def _slots_of(kind: type) -> tuple[str, ...]:
    names: list[str] = []
    for base in kind.__mro__:
        declared = base.__dict__.get("__slots__", ())
        for name in (declared,) if isinstance(declared, str) else declared:
            if name not in ("__dict__", "__weakref__"):
                private = name.startswith("__") and not name.endswith("__")
                names.append(f"_{base.__name__.lstrip('_')}{name}" if private else name)
    return tuple(names)


def is_machinery(name: str) -> bool:
    """Tell whether a variable of a module or class is Python's own, or a hook of code that is followed."""
    return name in _MACHINERY or name.startswith(HOOK)


_MACHINERY: Final = frozenset(
    {
        *("__builtins__", "__cached__", "__loader__", "__spec__", "__warningregistry__", "__path__"),
        *("__dict__", "__weakref__", "__mro__", "__abstractmethods__", "_abc_impl"),
    }
)
"""Variables of modules and classes that are Python's own."""


def _same_namespace(value: Namespace, content: dict[str, Any]) -> bool:
    variables = vars(value.owner)
    return (
        len(variables) == len(content)
        and all(map(is_, variables.values(), content.values()))
        and all(map(is_, variables, content))
    )


def _write_namespace(value: Namespace, content: dict[str, Any]) -> None:
    owner, variables = value.owner, vars(value.owner)
    # A metaclass may have its own idea of what can be set: an enum's does.
    home = type if isinstance(owner, type) else object
    for name in [name for name in variables if name not in content and not is_machinery(name)]:
        home.__delattr__(owner, name)
    for name, item in content.items():
        if variables.get(name, _MISSING) is not item and not is_machinery(name):
            home.__setattr__(owner, name, item)


def _lay_namespace(value: Namespace, content: dict[str, Any], constant: Constant) -> Layout:
    constants = value.constants
    changed = (
        name
        for name in sorted({*content, *constants})
        if not is_machinery(name) and constants.get(name, _MISSING) is not content.get(name, _MISSING)
    )
    items = ((f"{name}=", content.get(name, "(unbound)")) for name in changed)
    return _lay(f"{{{value.owner.__name__}:", items, "}", constant)


def _namespaces_together(held: Held) -> Still:
    # A module and a class have the same dictionary as long as they live.
    variables = [vars(value.owner) for value, _ in held]
    return _together_as_mappings(lambda: variables, held, methodcaller("values"), methodcaller("keys"))


NAMESPACE: Final = Part(
    lambda value: dict(vars(value.owner)),
    _same_namespace,
    _write_namespace,
    _lay_namespace,
    _namespaces_together,
)


def _read_variables(value: Variables) -> dict[str, Any]:
    held = vars(value.owner)
    return {name: held[name] for name in value.names if name in held}


def _write_variables(value: Variables, content: dict[str, Any]) -> None:
    owner, held = value.owner, vars(value.owner)
    home = type if isinstance(owner, type) else object
    for name in value.names:
        if name in content:
            home.__setattr__(owner, name, content[name])
        elif name in held:
            home.__delattr__(owner, name)


VARIABLES: Final = Part(
    _read_variables,
    lambda value, content: same_dict(_read_variables(value), content),
    _write_variables,
    lay_names,
)


# Other containers.


def _same_sequence(value: Any, content: Any) -> bool:
    return len(value) == len(content) and all(map(is_, value, content))


def _sequences_together(held: Held) -> Still:
    sequences = [value for value, _ in held]
    lengths = [len(content) for _, content in held]
    items = list(chain.from_iterable(content for _, content in held))

    def still() -> bool:
        return list(map(len, sequences)) == lengths and all(map(is_, chain.from_iterable(sequences), items))

    return still


def _write_list(value: list[Any], content: list[Any]) -> None:
    list.__setitem__(value, slice(None), content)


def _write_deque(value: collections.deque[Any], content: list[Any]) -> None:
    value.clear()
    value.extend(content)


def _read_set(value: set[Any]) -> tuple[Any, ...]:
    """Return the members of a set, and make the order in which it gives them depend on nothing else.

    That order is Python's affair, but it must be the same after the set was put back.
    """
    members = list(value)
    if len(members) > 1:
        if _are_comparable(members):
            members.sort()
            _write_set(value, members)
            return tuple(members)
        keyed = [(key, member) for member in members if (key := _plain(member)) is not None]
        if len(keyed) == len(members):
            members = [member for _, member in sorted(keyed, key=itemgetter(0))]
            _write_set(value, members)
    return tuple(members)


def _are_comparable(members: Collection[Any]) -> bool:
    """Tell whether members are all of one kind whose values have an order of their own."""
    kinds = set(map(type, members))
    if kinds == {tuple}:
        shapes = {tuple(map(type, member)) for member in members}
        return len(shapes) == 1 and _ORDERED_KINDS.issuperset(*shapes)
    return len(kinds) == 1 and kinds <= _ORDERED_KINDS


_ORDERED_KINDS: Final = frozenset({int, str, bytes})


def _plain(value: Any) -> str | None:
    """Return a text that says all about a value which is made of numbers and texts; None for others."""
    if isinstance(value, _ATOMS):
        base = next(each for each in _ATOMS if isinstance(value, each))
        return f"{type(value).__name__} {base.__repr__(value)}"
    kind = type(value)
    if kind is not tuple and kind is not frozenset:
        return None
    parts = [part for part in map(_plain, value) if part is not None]
    if len(parts) < len(value):
        return None
    return f"{kind.__name__} ({', '.join(parts if kind is tuple else sorted(parts))})"


def _same_set(value: set[Any], content: tuple[Any, ...]) -> bool:
    return len(value) == len(content) and set(map(identity, value)) == set(map(identity, content))


def _write_set(value: set[Any], content: Iterable[Any]) -> None:
    set.clear(value)
    set.update(value, content)


def _lay_set(_: Any, content: Collection[Any], constant: Constant) -> Layout | None:
    if isinstance(content, tuple) and _are_comparable(content):
        # They were sorted when they were read, and are told apart by their representation.
        return [f"{{{content!r}}}"], []
    texts = [constant(item) for item in content]
    known = sorted([text for text in texts if text is not None])
    return (["{" + ",".join(known) + "}"], []) if len(known) == len(texts) else None


def _write_bytes(value: bytearray, content: bytes) -> None:
    value[:] = content


def _write_array(value: array.array[Any], content: bytes) -> None:
    value[:] = array.array(value.typecode, content)


def _lay_representation(_: Any, content: Any, _constant: Constant) -> Layout:
    return [repr(content)], []


def _read_atom(value: Any) -> Any:
    """Return the plain number or text that an object of a subclass stands for."""
    return next(base for base in _ATOMS if isinstance(value, base))(value)


def _read_cell(value: types.CellType) -> tuple[Any, ...]:
    try:
        return (value.cell_contents,)
    except ValueError:
        return ()


def _cells_together(held: Held) -> Still:
    filled = [(value, content[0]) for value, content in held if content]
    empty = [value for value, content in held if not content]
    cells, contents = [value for value, _ in filled], [content for _, content in filled]

    def still() -> bool:
        try:
            return all(map(is_, map(_CONTENT_OF_CELL, cells), contents)) and not any(map(_read_cell, empty))
        except ValueError:
            return False

    return still


_CONTENT_OF_CELL: Final = attrgetter("cell_contents")


def _write_cell(value: types.CellType, content: tuple[Any, ...]) -> None:
    if content:
        value.cell_contents = content[0]
    else:
        del value.cell_contents


def _write_arguments(value: BaseException, content: tuple[Any, ...]) -> None:
    value.args = content


def _each(bases: type | tuple[type, ...]) -> tuple[type, ...]:
    return bases if isinstance(bases, tuple) else (bases,)


_ATOMS: Final = (int, str, bytes, float, complex)

_CONTAINERS: Final[tuple[tuple[type | tuple[type, ...], Part], ...]] = (
    (collections.OrderedDict, _ORDERED),
    (dict, _DICT),
    (list, Part(list, _same_sequence, _write_list, lay_sequence, _sequences_together)),
    (set, Part(_read_set, _same_set, _write_set, _lay_set)),
    (collections.deque, Part(list, _same_sequence, _write_deque, lay_sequence, _sequences_together)),
    (
        bytearray,
        Part(bytes, lambda value, content: bool(value == content), _write_bytes, _lay_representation),
    ),
    (
        array.array,
        Part(
            lambda value: value.tobytes(),
            lambda value, content: bool(value.tobytes() == content),
            _write_array,
            _lay_representation,
        ),
    ),
    (tuple, Part(tuple, _always, _leave, lay_sequence)),
    (frozenset, Part(frozenset, _always, _leave, _lay_set)),
    (_ATOMS, Part(_read_atom, _always, _leave, _lay_representation)),
    (
        types.CellType,
        Part(
            _read_cell,
            lambda value, content: _same_sequence(_read_cell(value), content),
            _write_cell,
            lay_sequence,
            _cells_together,
        ),
    ),
    (
        BaseException,
        Part(
            lambda value: value.args,
            lambda value, content: value.args is content,
            _write_arguments,
            lay_sequence,
        ),
    ),
    (
        random.Random,
        Part(
            lambda value: value.getstate(),
            lambda value, content: bool(value.getstate() == content),
            lambda value, content: value.setstate(content),
            _lay_representation,
        ),
    ),
)
"""The containers, the more special before the more general."""

_BY_OWN_ATTRIBUTES: Final = (logging.Logger, threading.local, type(os.environ))
"""Types whose attributes are read in a way of their own (see `c_contents`)."""

_SEEN_THROUGH: Final = (
    *(base for bases, _ in _CONTAINERS for base in _each(bases)),
    *(types.SimpleNamespace, BaseException),
)
"""Types of which all can be seen."""


def hidden_base(kind: type) -> type | None:
    """Return the type written in C that the objects of a type are at bottom, if it may hide something."""
    for base in kind.__mro__:
        if issubclass(base, _SEEN_THROUGH) or base is object or base is Generic:
            return None
        if _is_written_in_c(base):
            return base
    return None


def _is_written_in_c(kind: type) -> bool:
    """Tell whether a type was not made by a `class` statement."""
    return any(
        isinstance(value, _IN_C) and getattr(value, "__objclass__", kind) is kind
        for name, value in vars(kind).items()
        if name not in ("__dict__", "__weakref__")
    )


_IN_C: Final = (types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType)
