"""Options as typed descriptions, and values that users write held against them.

The options of a scenario are dataclasses.  A field says once all that there is to say of an option by itself:

    states: Annotated[Positive | None, Flag("--states", "check verify")] = None
    '''Stop after this many states.'''

From that come what a file or a keyword may give (`fit`), the options of commands (`_cli.scenarios`) and the
tables of the reference (`docs/reference_from_code.py`).

msgspec decides whether a value fits: it is strict, and knows bounds (`Meta`).  Added here is what it leaves
open: objects that only Python can give, lists of one (**a single value stands for a list of one**, so
`apps = "app.py"` is `apps = ["app.py"]`), and the sentence about a value that does not fit.  What an
annotation cannot say, that two fields contradict each other, is for the dataclass's `__post_init__`.
"""

from __future__ import annotations

import ast
import collections.abc
import inspect
import json
import math
import re
import sys
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from msgspec import Meta, ValidationError, convert

from penstock._base.text import hint, json_text, meant_instead
from penstock.errors import PenstockError

LONGEST_SHOWN: Final = 60
"""How much of a wrong value is shown."""

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True, slots=True)
class Flag:
    """The option of the command line that says the same as a field, and the commands that have it."""

    words: str
    """How it is spelt, `--property -p`."""
    commands: str
    metavar: str | None = None
    """What its value is called, if the type does not say enough."""
    choices: tuple[str, ...] = ()
    """The names there are, where the type does not say them."""

    @property
    def name(self) -> str:
        """The option in full."""
        return self.words.partition(" ")[0]


_WORDS: Final[Mapping[Any, tuple[str, str]]] = {
    bool: ("true or false", "true or false"),
    int: ("an integer", "integers"),
    float: ("a number", "numbers"),
    str: ("a string", "strings"),
    bytes: ("bytes", "bytes"),
    NoneType: ("nothing", "nothing"),
    Path: ("a path", "paths"),
}
"""What plain types are called, one of them and several."""


class Place(NamedTuple):
    """Where a value stands: the field's name, the table or object that it is of, and where in the field."""

    field: str
    where: str = ""
    inside: tuple[str | int, ...] = ()

    def item(self, key: str | int) -> Place:
        """Return the place of an item of the value."""
        return self._replace(inside=(*self.inside, key))

    @property
    def keys(self) -> tuple[str | int, ...]:
        """The keys that lead to the value from the top of a file."""
        return (*table_keys(self.where), self.field, *self.inside)

    def refusal(self, value: object, wanted: str) -> PenstockError:
        """Return what to raise of a value that does not fit."""
        inside = "".join(f".{key}" if isinstance(key, str) else f"[{key}]" for key in self.inside)
        within = f" in {self.where}" if self.where else ""
        sentence = f"invalid {self.field}{inside} = {shown(value)}{within}: must be {wanted}"
        return about(self.keys, sentence if wanted.endswith("?") else f"{sentence}.")


def table_keys(where: str) -> tuple[str, ...]:
    """Return the keys of the table that a text like `[hosts.h1]` names; none for what is no table."""
    return tuple(where[1:-1].split(".")) if where.startswith("[") else ()


def about(keys: Sequence[str | int], sentence: str) -> PenstockError:
    """Return an error about a key of a scenario, which can be looked for in its file."""
    error = PenstockError(sentence)
    error.keys = tuple(keys)
    return error


@contextmanager
def concerning(*keys: str | int) -> Iterator[None]:
    """Have errors that do not say which key of a scenario they are about be about this one."""
    try:
        yield
    except PenstockError as error:
        error.keys = error.keys or keys
        raise


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
            # What a class works out for itself may not be there yet.
            continue
        before = getattr(made, item.name)
        if before is item.default:
            continue
        after = fit(before, hints.get(item.name, Any), Place(item.name, where))
        if after is not before:
            object.__setattr__(made, item.name, after)


def shown(value: object) -> str:
    """Return a wrong value as the user wrote it, or near to that, and not too long."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = _repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"


def _repr(value: object) -> str:
    try:
        return repr(value)
    except (ValueError, RecursionError):
        # Python writes no whole number of thousands of digits.
        return f"<{type(value).__name__}>"


# Whether a value fits.


def fit(value: Any, kind: Any, place: Place) -> Any:
    """Return a value as a type wants it, or raise what is wrong with it."""
    try:
        return _convert(value, kind)
    except ValidationError:
        raise _refusal(value, kind, place) from None


def _convert(value: Any, kind: Any) -> Any:
    try:
        return convert(value, _msgspec_type(kind), dec_hook=_from_plain)
    except ValidationError:
        if isinstance(value, list | tuple) or not any(map(_is_list, _members(kind))):
            raise
        return convert((value,), _msgspec_type(kind), dec_hook=_from_plain)
    except TypeError:
        # An annotation of the user's that msgspec does not know: left to whoever takes the value.
        return value


def _fits(value: Any, kind: Any) -> bool:
    try:
        _convert(value, kind)
    except ValidationError:
        return False
    return True


def _from_plain(kind: Any, value: Any) -> Any:
    """Return a value of a class that msgspec does not know; of plain data only paths can be made."""
    if isinstance(value, kind):
        return value
    if kind is Path and isinstance(value, str) and "\0" not in value:
        return Path(value)
    raise ValueError


@lru_cache(maxsize=1024)
def _msgspec_type(kind: Any) -> Any:
    """Return a type for msgspec that takes the same values as an annotation."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in (bool, int, str, NoneType, Path) or origin is Literal:
        return kind
    if kind is Any or isinstance(kind, TypeVar):
        return Any
    if kind is float:
        return _number()
    if origin is Annotated:
        bounds = [mark for mark in inner[1:] if isinstance(mark, Meta)]
        return _number(*bounds) if inner[0] is float else Annotated[_msgspec_type(inner[0]), *bounds, None]
    if origin in (Union, UnionType):
        members = [member for member in inner if member is not NoneType]
        taken = (
            _msgspec_type(members[0]) if len(members) == 1 else _Either("Either", (), {"members": members})
        )
        return taken if len(members) == len(inner) else taken | None
    if _is_list(kind):
        of_items = _msgspec_type((inner or (Any,))[0])
        return tuple[of_items, ...]  # type: ignore[valid-type]
    if _is_table(kind):
        of_keys, of_values = map(_msgspec_type, inner or (Any, Any))
        return dict[of_keys, of_values]  # type: ignore[valid-type]
    return _Either("Either", (), {"members": [kind]})


def _number(*bounds: Meta) -> Any:
    """Return the type of finite numbers within bounds: a whole one stays as it is."""
    whole = Annotated[int, *bounds, Meta(le=sys.maxsize)]
    return whole | Annotated[float, *bounds, Meta(le=sys.float_info.max)]


class _Either(type):
    """A class for msgspec whose instances are the values that one of some types takes.

    msgspec has no unions with classes of others in them: `str | Table | Property`.
    """

    members: Sequence[Any]

    def __instancecheck__(cls, value: Any) -> bool:
        return any(_is_instance(value, member) for member in cls.members)


def _is_instance(value: Any, kind: Any) -> bool:
    plain = get_origin(kind) or kind
    if plain in (bool, int, float, str, Literal, Annotated, Path) or _is_list(kind) or _is_table(kind):
        return _fits(value, kind)
    try:
        return isinstance(value, plain)
    except TypeError:
        # What cannot be checked is left to whoever takes it.
        return True


def _is_list(kind: Any) -> bool:
    return get_origin(kind) in (list, tuple, collections.abc.Sequence) or kind in (list, tuple, Sequence)


def _is_table(kind: Any) -> bool:
    return get_origin(kind) in (dict, collections.abc.Mapping) or kind in (dict, Mapping)


def _marks(kind: Any) -> tuple[Any, ...]:
    return get_args(kind)[1:] if get_origin(kind) is Annotated else ()


def _members(kind: Any) -> Iterator[Any]:
    """Yield the types that an annotation is a choice of, without what is said about them."""
    origin = get_origin(kind)
    if origin is Annotated:
        yield from _members(get_args(kind)[0])
    elif origin in (Union, UnionType):
        for member in get_args(kind):
            yield from _members(member)
    else:
        yield kind


def _refusal(value: Any, kind: Any, place: Place) -> PenstockError:
    """Return what is wrong with a value, or with the first thing in it that is wrong."""
    wanted = type_in_words(kind)
    for member in _members(kind):
        items: list[tuple[Any, Any]] = []
        if _is_list(member) and isinstance(value, list | tuple):
            items = list(enumerate(value))
        elif _is_table(member) and isinstance(value, Mapping):
            items = list(value.items())
            if not all(isinstance(key, str) for key in value):
                return place.refusal(value, f"{wanted} with strings for keys")
        elif get_origin(member) is Literal and isinstance(value, str):
            near = meant_instead(value, get_args(member))
            wanted += "" if near is None else f": did you mean {near!r}?"
        for key, each in items:
            inner = get_args(member)[0 if _is_list(member) else 1]
            if not _fits(each, inner):
                return _refusal(each, inner, place.item(key))
    return place.refusal(value, wanted)


# In words.


def type_in_words(kind: Any) -> str:
    """Return in words what a type takes, as the end of "must be"."""
    return _one_and_several(kind)[0]


def _one_and_several(kind: Any) -> tuple[str, str]:
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
        words = [_one_and_several(member) for member in members]
        return _or([one for one, _ in words]), _or([several for _, several in words])
    if origin is Literal:
        known = _or([shown(name) for name in get_args(kind)])
        return known, known
    if _is_list(kind):
        inner = (get_args(kind) or (Any,))[0]
        return f"a list of {_one_and_several(inner)[1]}", "lists"
    if _is_table(kind):
        inner = (get_args(kind) or (Any, Any))[1]
        return ("a table" if inner is Any else f"a table of {_one_and_several(inner)[1]}"), "tables"
    if origin is collections.abc.Callable or kind is collections.abc.Callable:
        return "a function", "functions"
    if isinstance(kind, type) and issubclass(kind, Checked):
        return f"a table with {', '.join(inspect.signature(kind).parameters)}", "tables"
    name = getattr(kind, "__name__", str(kind))
    return f"a {name}", f"{name} objects"


def _described_with_marks(kind: Any) -> tuple[str, str]:
    one, several = _one_and_several(get_args(kind)[0])
    for mark in _marks(kind):
        if isinstance(mark, Meta):
            one, several = f"{one}{_range(mark)}", f"{several}{_range(mark)}"
            one += f", as in {mark.examples[0]}" if mark.examples else ""
    return one, several


def _range(bounds: Meta) -> str:
    if bounds.le is not None:
        return f" from {bounds.ge} to {bounds.le}"
    if bounds.ge is not None:
        return f" of at least {bounds.ge}"
    return "" if bounds.gt is None else f" above {bounds.gt}"


def _or(words: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(words))
    return " or ".join(filter(None, [", ".join(distinct[:-1]), distinct[-1]]))


# What a class or function takes.


def flags_of(kind: type, command: str = "") -> Iterator[tuple[str, Flag]]:
    """Yield the fields of a class that the command line can say, or one command, each with its option."""
    for name, annotation in hints_of(kind).items():
        for mark in _marks(annotation):
            if isinstance(mark, Flag) and (not command or command in mark.commands.split()):
                yield name, mark


@lru_cache(maxsize=256)
def meanings_of(kind: type) -> Mapping[str, str]:
    """Return the texts that stand below fields in the source of a class and of those it derives from."""
    found: dict[str, str] = {}
    for each in filter(inspect.get_annotations, reversed(kind.__mro__)):
        try:
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        except OSError:
            # Installed without sources: nothing but the texts of options is lost.
            continue
        assert isinstance(tree, ast.ClassDef)
        for before, after in zip(tree.body, tree.body[1:], strict=False):
            match before, after:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    found[name] = " ".join(text.split())
    return found


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


Table = Mapping[str, Any]
T = TypeVar("T")


def made_from(kind: Callable[..., T], options: Table, where: str) -> T:
    """Make a value of a kind from a table, whose keys and values must be those of its parameters."""
    return kind(**fit_options(kind, options, f"[{where}]"))


def fit_options(
    kind: Callable[..., Any], options: Table, where: str, given: Sequence[str] = ()
) -> dict[str, Any]:
    """Return options as the parameters of a kind want them; `given` are those that others give it."""
    parameters = inspect.signature(kind).parameters
    known = [name for name, each in parameters.items() if name not in given and each.kind not in _REST]
    if not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values()):
        refuse_unknown(options, known, where)
    hints = hints_of(kind)
    for name in known:
        if parameters[name].default is inspect.Parameter.empty and name not in options:
            wanted = type_in_words(hints.get(name, Any))
            sentence = f"missing {name!r} in {where}: must be {wanted}."
            raise about(table_keys(where), sentence)
    return {name: fit(value, hints.get(name, Any), Place(name, where)) for name, value in options.items()}


_REST: Final = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


def refuse_unknown(table: Table, known: Sequence[str], where: str) -> None:
    """Refuse a table with keys that mean nothing, and say which was perhaps meant."""
    for key in table:
        if key not in known:
            otherwise = f"it may have {', '.join(known) or 'nothing more'}."
            sentence = f"unknown key {key!r} in {where}: {hint(key, known, otherwise)}"
            raise about((*table_keys(where), key), sentence)


def toml_of(table: Table) -> str:
    """Return plain data as TOML; nothing stands for a value that is left out."""
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    lines = [
        f"{_toml_key(key)} = {_toml(value)}"
        for key, value in table.items()
        if key not in tables and value is not None
    ]
    for name, inner in tables.items():
        lines += ["", f"[{_toml_key(name)}]"]
        lines += [f"{_toml_key(key)} = {_toml(value)}" for key, value in inner.items() if value is not None]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = (f"{_toml_key(key)} = {_toml(each)}" for key, each in value.items() if each is not None)
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


def _toml_key(name: str) -> str:
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
