"""Values that users write, held against the annotations of what they are for.

The options of a scenario are dataclasses.  An annotation says all that there is to say of a field by itself:

    count: Annotated[int, From(1)] = 1
    order: Literal["fifo", "random"] = "fifo"
    names: tuple[str, ...] = ()

`fit` returns the value as the field wants it (lists become tuples) or raises a `PenstockError`, one sentence
with the field, what was given and what is expected.  One rule holds for all lists: **a single value stands
for a list of one**, so `apps = "app.py"` is `apps = ["app.py"]`.  What an annotation cannot say, that two
fields contradict each other, is for the dataclass's `__post_init__`.
"""

from __future__ import annotations

import collections.abc
import inspect
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from penstock._base.suggesting import meant_instead
from penstock.errors import PenstockError

LONGEST_SHOWN: Final = 60
"""How much of a wrong value is shown."""

_WORDS: Final[Mapping[Any, tuple[str, str]]] = {
    bool: ("true or false", "true or false"),
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    str: ("a string", "strings"),
    bytes: ("bytes", "bytes"),
    NoneType: ("nothing", "nothing"),
    Path: ("a path", "paths"),
}
"""What plain types are called, one of them and several."""


@dataclass(frozen=True, slots=True)
class From:
    """The range of a number: from `least` (or only above it) up, to `most` if that is given."""

    least: float
    most: float | None = None
    above: bool = False

    def holds(self, number: float) -> bool:
        """Tell whether a number is within the range."""
        enough = number > self.least if self.above else number >= self.least
        return enough and (self.most is None or number <= self.most)

    def __str__(self) -> str:
        if self.most is not None:
            return f"from {self.least} to {self.most}"
        return f"above {self.least}" if self.above else f"from {self.least} up"


@dataclass(frozen=True, slots=True)
class Such:
    """An example of a value, for the sentence about a wrong one."""

    example: str


class Place(NamedTuple):
    """Where a value stands: the field's name, and the table or object that it is of."""

    field: str
    where: str = ""

    def item(self, key: object) -> Place:
        """Return the place of an item of the value."""
        named = f".{key}" if isinstance(key, str) else f"[{key}]"
        return self._replace(field=f"{self.field}{named}")

    def refusal(self, value: object, wanted: str) -> PenstockError:
        """Return what to raise of a value that does not fit."""
        within = f" in {self.where}" if self.where else ""
        return PenstockError(f"{self.field} = {shown(value)}{within} must be {wanted}.")


class Checked:
    """Base of dataclasses of options: every field is held against its annotation when one is made."""

    __slots__ = ()

    SECTION: ClassVar[str] = ""
    """How the table is called that the options are read from."""

    def __post_init__(self) -> None:
        check_fields(self, self.SECTION)


def check_fields(made: Any, where: str, leave_out: Collection[str] = ()) -> None:
    """Hold the fields of a dataclass's value against their annotations, and put them as these want them."""
    kind: Any = type(made)
    hints = hints_of(kind)
    for item in fields(made):
        if item.name in leave_out or not item.init:
            continue
        before = getattr(made, item.name)
        after = fit(before, hints.get(item.name, Any), Place(item.name, where))
        if after is not before:
            object.__setattr__(made, item.name, after)


def shown(value: object) -> str:
    """Return a wrong value as the user wrote it, or near to that, and not too long."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"


def fit(value: Any, kind: Any, place: Place) -> Any:
    """Return a value as a type wants it, or raise what is wrong with it."""
    origin = get_origin(kind)
    if kind is Any or isinstance(kind, TypeVar):
        return value
    if origin is Annotated:
        return _within(value, kind, place)
    if origin in (Union, UnionType):
        return _one_of(value, kind, place)
    if origin is Literal:
        return _chosen(value, kind, place)
    if _is_list(kind):
        return _listed(value, kind, place)
    if _is_table(kind):
        return _table(value, kind, place)
    if kind is Path and isinstance(value, str | PathLike) and "\0" not in str(value):
        return value if isinstance(value, Path) else Path(value)
    if not _is_a(value, kind):
        raise place.refusal(value, described(kind))
    return value


def _is_a(value: Any, kind: Any) -> bool:
    """Tell whether a value is of a plain type; a truth value is no number, and nan is no number either."""
    if kind is float:
        return type(value) in (int, float) and math.isfinite(value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is collections.abc.Callable or get_origin(kind) is collections.abc.Callable:
        return callable(value)
    checkable = get_origin(kind) or kind
    try:
        return isinstance(value, checkable)
    except TypeError:
        # What cannot be checked is left to whoever takes it.
        return True


def _within(value: Any, kind: Any, place: Place) -> Any:
    inner, *marks = get_args(kind)
    try:
        fitted = fit(value, inner, place)
    except PenstockError as error:
        if any(isinstance(mark, From | Such) for mark in marks) and not _is_deeper(value, inner):
            raise place.refusal(value, described(kind)) from None
        raise error
    for mark in marks:
        if isinstance(mark, From) and fitted is not None and not mark.holds(fitted):
            raise place.refusal(value, described(kind))
    return fitted


def _is_deeper(value: Any, kind: Any) -> bool:
    """Tell whether the value itself is right, so that what is wrong is inside it."""
    members = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return any(
        (_is_list(member) and isinstance(value, list | tuple))
        or (_is_table(member) and isinstance(value, Mapping))
        for member in members
    )


def _one_of(value: Any, kind: Any, place: Place) -> Any:
    inside: PenstockError | None = None
    # Types that take a single value for a list come last, so that the value itself is preferred.
    for member in sorted(get_args(kind), key=_is_list):
        try:
            return fit(value, member, place)
        except PenstockError as error:
            if _is_deeper(value, member):
                inside = error
    raise inside or place.refusal(value, described(kind))


def _chosen(value: Any, kind: Any, place: Place) -> Any:
    known = get_args(kind)
    if isinstance(value, str | int | bool | NoneType) and value in known:
        return value
    near = meant_instead(value, known) if isinstance(value, str) else None
    hint = "" if near is None else f": did you mean {near!r}"
    error = place.refusal(value, described(kind) + hint)
    raise PenstockError(f"{str(error)[:-1]}?") if hint else error


def _is_list(kind: Any) -> bool:
    return get_origin(kind) in (list, tuple, collections.abc.Sequence) or kind in (list, tuple, Sequence)


def _is_table(kind: Any) -> bool:
    return get_origin(kind) in (dict, collections.abc.Mapping) or kind in (dict, Mapping)


def _listed(value: Any, kind: Any, place: Place) -> Any:
    inner = (get_args(kind) or (Any,))[0]
    if not isinstance(value, list | tuple):
        try:
            return (fit(value, inner, place),)
        except PenstockError:
            raise place.refusal(value, described(kind)) from None
    fitted = tuple(fit(each, inner, place.item(number)) for number, each in enumerate(value))
    same = all(after is before for after, before in zip(fitted, value, strict=True))
    return value if same and type(value) is tuple else fitted


def _table(value: Any, kind: Any, place: Place) -> Any:
    if not isinstance(value, Mapping):
        raise place.refusal(value, described(kind))
    of_keys, of_values = get_args(kind) or (Any, Any)
    if of_keys is str and not all(isinstance(key, str) for key in value):
        raise place.refusal(value, f"{described(kind)} with names for keys")
    fitted = {key: fit(each, of_values, place.item(str(key))) for key, each in value.items()}
    return value if all(fitted[key] is value[key] for key in value) else fitted


# In words.


def described(kind: Any) -> str:
    """Return in words what a type takes, as the end of "must be"."""
    return _described(kind)[0]


def _described(kind: Any) -> tuple[str, str]:
    """Return the words for one value of a type, and for several."""
    origin = get_origin(kind)
    if kind in _WORDS:
        return _WORDS[kind]
    if kind is Any:
        return "any value", "values"
    if origin is Annotated:
        return _described_with_marks(kind)
    if origin in (Union, UnionType):
        members = [member for member in get_args(kind) if member is not NoneType]
        words = [_described(member) for member in members]
        return _or([one for one, _ in words]), _or([several for _, several in words])
    if origin is Literal:
        known = _or([shown(name) for name in get_args(kind)])
        return known, known
    if _is_list(kind):
        inner = (get_args(kind) or (Any,))[0]
        return f"a list of {_described(inner)[1]}", "lists"
    if _is_table(kind):
        inner = (get_args(kind) or (Any, Any))[1]
        return ("a table" if inner is Any else f"a table of {_described(inner)[1]}"), "tables"
    if origin is collections.abc.Callable or kind is collections.abc.Callable:
        return "a function", "functions"
    if isinstance(kind, type) and issubclass(kind, Checked):
        return f"a table with {', '.join(inspect.signature(kind).parameters)}", "tables"
    name = getattr(kind, "__name__", str(kind))
    return f"a {name}", f"{name} objects"


def _described_with_marks(kind: Any) -> tuple[str, str]:
    inner, *marks = get_args(kind)
    one, several = _described(inner)
    for mark in marks:
        if isinstance(mark, From):
            one, several = f"{one} {mark}", f"{several} {mark}"
        elif isinstance(mark, Such):
            one = f"{one}, as in {mark.example}"
    return one, several


def _or(words: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(words))
    return " or ".join(filter(None, [", ".join(distinct[:-1]), distinct[-1]]))


# What a class or function takes.


@lru_cache(maxsize=256)
def hints_of(kind: Any) -> Mapping[str, Any]:
    """Return the annotations of a class's fields, or of a function's parameters, where they can be read."""
    sources = [*reversed(kind.__mro__), vars(kind).get("__init__")] if isinstance(kind, type) else [kind]
    found: dict[str, Any] = {}
    for source in sources:
        # A dataclass's own `__init__` repeats fields whose annotations only their own module can read.
        found.update({name: hint for name, hint in _hints(source).items() if hint is not Any})
    return found


def _hints(source: Any) -> dict[str, Any]:
    """Return the annotations of one class or function by themselves, one that cannot be read as `Any`."""
    try:
        written = inspect.get_annotations(source)
    except (TypeError, NameError):
        return {}
    module = inspect.getmodule(source)
    names = getattr(source, "__globals__", None) or (vars(module) if module is not None else {})
    return {name: _meaning(text, names) for name, text in written.items()}


def _meaning(annotation: Any, names: Mapping[str, Any]) -> Any:
    """Return what an annotation in the source means there."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, dict(names))
    except Exception:
        # A name that is only there for type checkers.
        return Any
