"""Calls: what a function does with values that depend on the inputs.

Functions of the program are followed, those of libraries that are written in Python too where they get
something that depends on the inputs (see `library`).  A function written in C sees only the concrete value,
so it needs one of these:

- a *summary* says what it means (see `summaries`);
- a *sink* is a place where values may go (see `summaries.sinks`): it gets concrete ones;
- functions that merely hold or pass on what they get, or that compare and add as Python does, are
  called as they are; what they are to call in turn (`map(int, texts)`) is followed in its turn, and numbers
  that they take as a size or a place (`islice(items, n)`) are settled first.

Any other function gets concrete values, and the run notes the loss; so does one in Python without a source.
"""

from __future__ import annotations

import enum
import functools
import operator
import weakref
from collections import ChainMap, UserDict, UserList, UserString, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    GeneratorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final

from penstock._concolic.code import library, lookups, operands, subscripts
from penstock._concolic.code.summaries import (
    PLAIN,
    UNFOLLOWED,
    Summary,
    addresses,
    basics,
    containers,
    formatting,
    netaddr_objects,
    osken,
    patterns,
    sinks,
    structs,
)
from penstock._concolic.packets import frame_calls, native_headers
from penstock._concolic.run import Run, lose, unnoticed
from penstock._concolic.values import tables, unknown
from penstock._concolic.values.escapes import Unfollowed
from penstock._concolic.values.integers import Followed, SymBool
from penstock._concolic.values.parts import bears, concrete, holds, is_symbolic
from penstock._concolic.values.readers import has_reader
from penstock._concolic.values.sym_bytes import Undecodable
from penstock._concolic.visible import CachedFunction

_LIBRARIES: Final = (
    *(basics, formatting, structs, addresses, netaddr_objects, osken, patterns),
    *(frame_calls, native_headers),
)


def _by_function() -> dict[tuple[str, str], list[Summary]]:
    found: dict[tuple[str, str], list[Summary]] = {}
    for summarised in reversed(_LIBRARIES):
        for name, summary in summarised.FUNCTIONS.items():
            found.setdefault(name, []).append(summary)
    return found


_FUNCTIONS: Final[Mapping[tuple[str, str], Sequence[Summary]]] = _by_function()
"""Summaries that are asked when an argument depends on the inputs, those for special arguments first."""

_EAGER: Final[Mapping[tuple[str, str], Summary]] = {
    **basics.EAGER,
    **containers.EAGER,
    **formatting.EAGER,
}
"""Summaries that are always asked: the arguments may be containers, and tell only when looked into."""

_METHODS: Final[Mapping[tuple[type, str], Summary]] = {
    **basics.METHODS,
    **structs.METHODS,
    **patterns.METHODS,
}
_EAGER_METHODS: Final[Mapping[tuple[type, str], Summary]] = {
    **basics.EAGER_METHODS,
    **containers.EAGER_METHODS,
    **formatting.METHODS,
}
_METHOD_NAMES: Final = frozenset(name for _, name in (*_METHODS, *_EAGER_METHODS))
_MODULES: Final = frozenset(module for module, _ in (*_FUNCTIONS, *_EAGER))

_HARMLESS_MODULES: Final = frozenset(
    {"_operator", "itertools", "_functools", "_collections", "collections", "_heapq", "_bisect", "sys", "gc"}
)
_HARMLESS: Final = frozenset(
    {
        *("abs", "all", "any", "callable", "classmethod", "delattr", "dir", "divmod", "enumerate"),
        *("filter", "issubclass", "iter", "len", "list", "map", "max", "min", "next"),
        *("object", "pow", "property", "reversed", "round", "slice", "sorted", "staticmethod"),
        *("sum", "super", "tuple", "vars", "zip"),
    }
)
"""Functions and classes of Python's own that compare, add, hold or pass on."""

_OF_OBJECT: Final = frozenset({"__init__", "__setattr__", "__delattr__", "__getattribute__", "__new__"})
"""Methods that only hold things, unless they are those of a value such as a number."""

_VALUES: Final = (int, float, complex, str, bytes, bytearray)

_HIGHER: Final = frozenset(
    {
        *("filter", "map", "max", "min", "sorted", "reduce", "starmap", "groupby", "takewhile", "dropwhile"),
        *("filterfalse", "accumulate", "bisect", "bisect_left", "bisect_right", "insort", "insort_left"),
        *("insort_right", "iter", "cmp_to_key", "zip"),
    }
)
"""Those that call what they are given."""

_COMPARING: Final = frozenset(
    {
        *("max", "min", "sorted", "sort", "sum", "bisect", "bisect_left", "bisect_right", "insort"),
        *("insort_left", "insort_right", "reduce", "accumulate", "groupby", "count", "index", "remove"),
        *("heappush", "heappop", "heapify", "heapreplace", "heappushpop", "divmod", "pow", "__contains__"),
        *("_heappop_max", "_heapreplace_max", "_heapify_max", "countOf", "indexOf", "concat", "iconcat"),
        *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "starmap", "map"),
    }
)
"""Those that compare or add what they are given, in C."""

_BOUNDS_FROM: Final = 2
"""Which arguments of the functions of `bisect` are places in the list."""

_READ_BY_C: Final = frozenset({"reverse", "strict", "lo", "hi"})
"""What arguments are called that are numbers or truth values to functions written in C."""

_COUNTING: Final = frozenset(
    {
        *("count", "islice", "repeat", "combinations", "combinations_with_replacement", "permutations"),
        *("product", "deque", "tee", "batched", "insert", "pop", "rotate", "length_hint", "index"),
        *("enumerate", "__getitem__"),
    }
)
"""Those that read a number as a size or a place."""

_HOLDERS: Final = (list, tuple, deque, dict, set, frozenset, GeneratorType, ModuleType, type)
"""Objects whose methods compare, hold or pass on."""

_OF_HOLDERS: Final = frozenset(
    {
        *("__contains__", "__getitem__", "__setitem__", "__delitem__", "__iter__", "__next__", "__len__"),
        *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__iadd__", "__bool__"),
        *("__or__", "__and__", "__sub__", "__xor__", "__ior__", "__iand__", "__isub__", "__ixor__"),
        *("__ror__", "__rand__", "__rsub__", "__rxor__", "__reversed__", "__copy__", "__dir__"),
        *("__init__", "__new__", "__setattr__", "__delattr__", "__getattribute__", "__instancecheck__"),
        *("__subclasscheck__", "__subclasses__", "__call__", "__init_subclass__", "__subclasshook__"),
    }
)
"""Their special methods that do so; others, such as `__mul__`, read a number or write a text."""

_CALLABLE_IN_C: Final = (
    *(BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType),
    *(functools.partial, type),
)
_HEAP_TYPE: Final = 1 << 9
"""The flag of classes that were made while Python ran, as those written in Python are."""


def _telling_errors(call: Callable[..., Any]) -> Callable[..., Any]:
    """Have what a call raises depend on the inputs where its arguments do: C writes them into its texts."""

    @functools.wraps(call)
    def told(*arguments: Any, **named: Any) -> Any:
        run = Run.current
        before = 0 if run is None else run.losses.total()
        try:
            return call(*arguments, **named)
        except Exception as error:
            if run is not None and run.losses.total() == before and not any(map(bears, error.args)):
                holders = (getattr(each, "__self__", None) for each in arguments)
                if _depends(arguments, named) or any(bears(each) for each in holders if each is not None):
                    _note_error(error)
            raise

    return told


def _note_error(error: Exception) -> None:
    """Note that the text of an error depends on the inputs, should the program look at it."""
    if isinstance(error, Undecodable):
        return
    if isinstance(error, UnicodeError | OSError | SyntaxError):
        # These keep what they say in C.
        lose(type(error).__name__)
        return
    if isinstance(error, AttributeError | NameError | ImportError) and error.name is not None:
        with suppress(Exception):
            # A class of the program's own may have something else there.
            error.name = unknown.unknown(str(error.name))
    error.args = tuple(unknown.unknown(_in_plain_words(each)) for each in error.args)


_OUR_CLASSES: Final = {"SymInt": "int", "SymBool": "bool", "SymStr": "str", "SymBytes": "bytes"}


def _in_plain_words(told: Any) -> Any:
    """Return what an error says as it would say it of plain values."""
    if not isinstance(told, str):
        return told
    return functools.reduce(lambda text, name: text.replace(name, _OUR_CLASSES[name]), _OUR_CLASSES, told)


def called(function: Any) -> Any:
    """Return what a program is to call instead of a function."""
    if Run.current is None:
        return function
    kind = type(function)
    if kind is tables.Tabled:
        return function
    if kind is FunctionType or kind is MethodType:
        return _python_function(function)
    if isinstance(function, type):
        return _class(function)
    # Methods that know their class, such as those of patterns, are of a kind of their own.
    if isinstance(function, BuiltinFunctionType) or kind is MethodWrapperType:
        return _c_function(function)
    if kind is MethodDescriptorType or kind is WrapperDescriptorType:
        return functools.partial(_unbound, function)
    if kind is functools.partial:
        inner = called(function.func)
        return function if inner is function.func else functools.partial(_partial, function, inner)
    if isinstance(function, CachedFunction):
        return functools.partial(_cached, function)
    if hasattr(kind, "cache_clear"):
        # From `functools.lru_cache`, of a library: it remembers what it did for other inputs.
        return called(function.__wrapped__)
    return _object(function)


_HOLDING_CALLABLES: Final = frozenset(
    {functools.partial, operator.itemgetter, operator.attrgetter, operator.methodcaller, weakref.ref}
)
"""Classes of objects that hold what they get until they are called; that is followed then."""


def _object(function: Any) -> Any:
    """Return what is to be called instead of an object of any other class."""
    kind = type(function)
    if kind is operator.itemgetter:
        return functools.partial(_items, function.__reduce__()[1])
    if kind is operator.methodcaller:
        return functools.partial(_with_method, function)
    if kind is operator.attrgetter:
        return functools.partial(_attributes, function)
    method = vars(kind).get("__call__") or next(
        (vars(base)["__call__"] for base in kind.__mro__ if "__call__" in vars(base)), None
    )
    if isinstance(method, FunctionType):
        return called(MethodType(method, function)) if library.is_stranger(method) else function
    return functools.partial(_escaped, function)


def _items(keys: tuple[Any, ...], subject: Any) -> Any:
    found = tuple(subscripts.indexed(subject)[key] for key in keys)
    return found if len(keys) > 1 else found[0]


def _attributes(getter: Any, subject: Any) -> Any:
    """Get attributes; the class of a value that depends on the inputs is that of a plain one."""
    if is_symbolic(subject) and any("__class__" in name.split(".") for name in getter.__reduce__()[1]):
        lose("attrgetter")
        return getter(concrete(subject))
    return getter(subject)


def _with_method(caller: Any, subject: Any) -> Any:
    made, details = caller.__reduce__()
    name, *arguments = details if made is operator.methodcaller else made.args
    named = {} if made is operator.methodcaller else made.keywords
    return called(getattr(subject, name))(*arguments, **named)


def _python_function(function: FunctionType | MethodType) -> Any:
    if sinks.reads_bytes(function):
        return functools.partial(_escaped, function)
    if sinks.tells(function) and not sinks.is_sink(function):
        return functools.partial(_told_back, function)
    if sinks.is_sink(function):
        return functools.partial(_sunk, function)
    plain = function.__func__ if isinstance(function, MethodType) else function
    module = getattr(plain, "__module__", None)
    if library.stands_for_c(plain):
        return functools.partial(_escaped, function)
    if module not in _MODULES:
        return _of_library(function)
    name = (module, plain.__qualname__)
    if name in _EAGER or name in _FUNCTIONS:
        if isinstance(function, MethodType):
            return functools.partial(_summarised, name, function, function.__self__)
        return functools.partial(_summarised, name, function)
    return _of_library(function)


def _of_library(function: FunctionType | MethodType) -> Any:
    """Return a function itself, or if it is a library's, what follows it where there is something to."""
    return functools.partial(_stranger, function) if library.is_stranger(function) else function


def _class(made: Any) -> Any:
    name = (made.__module__, made.__qualname__)
    if name in _EAGER or name in _FUNCTIONS:
        return functools.partial(_summarised, name, made)
    if sinks.is_sink(made):
        return functools.partial(_sunk, made)
    if issubclass(made, enum.Enum):
        return functools.partial(_member, made)
    if made in _HOLDING_CALLABLES:
        return made
    if made.__flags__ & _HEAP_TYPE:
        # A class of the program's own, unless it takes its values in as C does.
        if issubclass(made, _VALUES) or _made_in_c(made):
            return functools.partial(_escaped, made)
        if issubclass(made, dict | set | frozenset):
            return functools.partial(_filled, made)
        return functools.partial(_constructed, made) if _is_library(made) else made
    if issubclass(made, UnicodeError | OSError) and made is not UnicodeError:
        # These take numbers out of what they are given.
        return functools.partial(_taken_in, made)
    if issubclass(made, BaseException) or made.__module__ in _HARMLESS_MODULES:
        return _harmless(made, made.__name__)
    if made.__module__ == "builtins" and made.__name__ in _HARMLESS:
        return _harmless(made, made.__name__)
    return functools.partial(_escaped, made)


def _taken_in(made: Any, /, *arguments: Any, **named: Any) -> Any:
    """Make an exception that keeps in C what it is given."""
    if _depends(arguments, named):
        lose(made.__qualname__)
    return made(*map(concrete, arguments), **{name: concrete(named[name]) for name in named})


def _filled(made: Any, /, *arguments: Any, **named: Any) -> Any:
    """Make a container of a class of the program's own; C copies keys with the hashes that they have."""
    container = functools.partial(_constructed, made) if _is_library(made) else made
    found = container(*arguments, **named)
    if isinstance(found, dict | set | frozenset) and _depends(arguments, named):
        for key in lookups.exactly(tuple, found):
            lookups.remember(found, key)
    return found


@functools.cache
def _made_in_c(made: Any) -> bool:
    """Tell whether the objects of a class take in what they are given as C does."""
    for name in ("__new__", "__init__"):
        owner = next(base for base in made.__mro__ if name in vars(base))
        in_python = owner.__flags__ & _HEAP_TYPE and isinstance(getattr(made, name), FunctionType)
        harmless = owner is object or issubclass(owner, _HOLDING) or _is_structural(owner)
        if not in_python and not harmless:
            return True
    return False


def _is_structural(made: type) -> bool:
    """Tell whether a class is one of those that say how others are used, such as `typing.Generic`."""
    return made.__module__ in ("typing", "abc", "collections.abc", "_collections_abc")


def _is_library(made: type) -> bool:
    """Tell whether objects of a class are made by functions of a library."""
    makers = (getattr(made, name) for name in ("__new__", "__init__"))
    return any(map(library.is_stranger, makers)) and not issubclass(made, BaseException | tuple)


@_telling_errors
def _constructed(made: type, /, *arguments: Any, **named: Any) -> Any:
    """Make an object of a class of a library."""
    if not _depends(arguments, named) or type(made).__call__ is not type.__call__:
        return _escaped(made, *arguments, **named)
    with suppress(Unfollowed):
        return tables.tabulated(made, *arguments, **named)
    new: Any = made.__new__
    init: Any = made.__init__  # type: ignore[misc]
    found = object.__new__(made) if new is object.__new__ else called(new)(made, *arguments, **named)
    if isinstance(found, made) and isinstance(init, FunctionType):
        called(init)(found, *arguments, **named)
    if holds(found) and (made.__module__ not in _FOLLOWED_OBJECTS or issubclass(made, _FINDING_BY_HASH)):
        # Operators on it are the library's, which are not followed.
        lose(made.__qualname__)
    return found


_FINDING_BY_HASH: Final = (ChainMap, UserDict, UserList, UserString)
"""Containers written in Python that Python asks by methods of theirs, which are not followed."""

_FOLLOWED_OBJECTS: Final = frozenset({"collections", "types", "functools", "contextlib", "string", "weakref"})
"""Modules whose objects have no operators of their own, or such as are followed."""


def _c_function(function: Any) -> Any:
    holder = function.__self__
    name = function.__name__
    if holder is None or isinstance(holder, ModuleType | type):
        module = holder.__module__ if isinstance(holder, type) else function.__module__
        key = (module, function.__qualname__)
        if key in _EAGER or key in _FUNCTIONS:
            return functools.partial(_summarised, key, function)
        if module in ("sys", "gc") and name.startswith("set"):
            return functools.partial(_escaped, function)
        if module in _HARMLESS_MODULES or (module == "builtins" and name in _HARMLESS):
            return _harmless(function, name)
        if name in _OF_OBJECT and isinstance(holder, type) and not issubclass(holder, _VALUES):
            return function
    else:
        if name in _METHOD_NAMES:
            for base in type(holder).__mro__:
                if (base, name) in _EAGER_METHODS or (base, name) in _METHODS:
                    return functools.partial(_method, (base, name), function)
        if isinstance(holder, _HOLDERS) and (name in _OF_HOLDERS or not name.startswith("__")):
            return functools.partial(_passed, function) if name == "sort" else _harmless(function, name)
        if name in _OF_OBJECT and not isinstance(holder, _VALUES) and _holds_only(function):
            return function
    if sinks.is_sink(function):
        return functools.partial(_sunk, function)
    return functools.partial(_escaped, function)


def _harmless(function: Any, name: str) -> Any:
    if name in _COUNTING:
        return functools.partial(_counting, function)
    if name in _HIGHER or name in _COMPARING:
        return functools.partial(_passed, function)
    return function


def _holds_only(method: Any) -> bool:
    """Tell whether a method such as `__init__` is one of those that merely hold what they get."""
    owner = getattr(method, "__objclass__", object)
    return owner is object or bool(owner.__flags__ & _HEAP_TYPE) or issubclass(owner, _HOLDING)


_HOLDING: Final = (list, tuple, deque, dict, set, frozenset, BaseException, type, property, enum.Enum)

# Ways to call.


def _stranger(function: FunctionType | MethodType, /, *arguments: Any, **named: Any) -> Any:
    """Call a function of a library, or its twin where something depends on the inputs."""
    holder = function.__self__ if isinstance(function, MethodType) else None
    plain: Any = function.__func__ if isinstance(function, MethodType) else function
    captured = [cell.cell_contents for cell in plain.__closure__ or () if _is_filled(cell)]
    if not (_depends(arguments, named) or holds(holder) or any(map(holds, captured))):
        return function(*arguments, **named)
    if holder is None:
        with suppress(Unfollowed):
            return tables.tabulated(plain, *arguments, **named)
    twin = library.twin(plain)
    if twin is None:
        lose(plain.__qualname__)
        return function(*map(_given, arguments), **{name: _given(value) for name, value in named.items()})
    return twin(*arguments, **named) if holder is None else twin(holder, *arguments, **named)


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


@_telling_errors
def _counting(function: Any, /, *arguments: Any, **named: Any) -> Any:
    """Call a function that reads numbers as sizes or places: the inputs decide which."""
    return function(*map(_settled, arguments), **{name: _settled(value) for name, value in named.items()})


def _settled(argument: Any) -> Any:
    if isinstance(argument, SymBool):
        return bool(argument)
    return subscripts.settled(argument) if isinstance(argument, Followed) else unknown.known(argument)


@_telling_errors
def _summarised(name: tuple[str, str], function: Any, /, *arguments: Any, **named: Any) -> Any:
    """Call the summary of a function in its place; a bound method brings its object as the first argument."""
    arguments, named = unknown.all_known(arguments), {each: unknown.known(named[each]) for each in named}
    itself = functools.partial(function, *(arguments[1:] if isinstance(function, MethodType) else arguments))
    if name in _EAGER:
        summaries: Sequence[Summary] = (_EAGER[name],)
    elif _depends(arguments, named):
        summaries = _FUNCTIONS[name]
    else:
        return itself(**named)
    found: Any = UNFOLLOWED
    for summary in summaries:
        found = summary(*arguments, **named)
        if found is not UNFOLLOWED:
            break
    if found is UNFOLLOWED:
        return _escaped(function, *itself.args, **named)
    return itself(**named) if found is PLAIN else found


@_telling_errors
def _method(name: tuple[type, str], method: Any, /, *arguments: Any, **named: Any) -> Any:
    """Call the summary of a method in its place."""
    summary = _EAGER_METHODS.get(name)
    if isinstance(method.__self__, int | str | bytes):
        arguments = unknown.all_known(arguments)
    if summary is None:
        if not bears(method.__self__) and not _depends(arguments, named):
            return method(*arguments, **named)
        summary = _METHODS[name]
    found = summary(method, method.__self__, *arguments, **named)
    if found is UNFOLLOWED:
        return _escaped(method, *arguments, **named)
    return method(*arguments, **named) if found is PLAIN else found


def _sunk(function: Any, /, *arguments: Any, **named: Any) -> Any:
    """Call a function with concrete values, which is no loss until the program reads them back."""
    holder = function.__self__ if isinstance(function, MethodType) else None
    depends = _depends(arguments, named)
    if depends:
        sinks.settle(function, arguments, named)
        if sinks.is_read_back(function, named):
            lose(function.__qualname__)
    depends = depends or unknown.is_tainted(holder) or sinks.writes_packet(function) or sinks.tells(function)
    sent = [each for each in arguments if unknown.is_tainted(each)] if sinks.sends(function) else []
    if sinks.sends(function):
        unknown.cleaned(arguments)
        sinks.settle_parts(arguments)
    if depends and any(isinstance(each, bytearray | memoryview) for each in (*arguments, *named.values())):
        # It writes there, as `serialize` of a match does.
        lose(function.__qualname__)
    before = sinks.headers_of(holder) if depends else []
    with unnoticed():
        found = function(*map(concrete, arguments), **{name: concrete(named[name]) for name in named})
        if not depends and not sent:
            return found
    for each in sent:
        sinks.note_read_back(each)
    if not depends:
        return found
    sinks.note_written(before)
    sinks.note_read_back(holder)
    return unknown.taint(found)


def _told_back(function: Any, /, *arguments: Any, **named: Any) -> Any:
    """Call a method that gives out what is in a message."""
    lose(function.__qualname__)
    return function(*arguments, **named)


@_telling_errors
def _escaped(function: Any, /, *arguments: Any, **named: Any) -> Any:
    """Call a function with concrete values; what they depended on is lost."""
    holder = getattr(function, "__self__", None)
    given = (*arguments, *named.values(), *(() if holder is None else (holder,)))
    if not any(map(holds, given)):
        return function(*map(_telling, arguments), **{name: _telling(value) for name, value in named.items()})
    try:
        return tables.tabulated(function, *arguments, **named)
    except Unfollowed:
        lose(getattr(function, "__qualname__", None) or type(function).__qualname__)
    return function(*map(_given, arguments), **{name: _given(value) for name, value in named.items()})


def _telling(argument: Any) -> Any:
    """Return a function that C is to call as one that tells of what it hands to C."""
    if type(argument) not in (FunctionType, MethodType):
        return argument

    @functools.wraps(argument)
    def telling(*arguments: Any, **named: Any) -> Any:
        found = argument(*arguments, **named)
        if Run.current is not None and holds(found):
            lose(argument.__qualname__)
            return concrete(found)
        return found

    return telling


def _given(argument: Any) -> Any:
    """Return an argument without what it depends on; what the function may change stays itself."""
    return argument if isinstance(argument, list | dict | set | deque) else concrete(argument)


class _Calling:
    """What `iter(function, sentinel)` makes: the program's own operator compares."""

    def __init__(self, function: Callable[[], Any], sentinel: Any) -> None:
        self._function, self._sentinel, self._over = function, sentinel, False

    def __iter__(self) -> _Calling:
        return self

    def __next__(self) -> Any:
        if not self._over:
            found = called(self._function)()
            if not operands.operated(operator.eq, found, self._sentinel):
                return found
            self._over = True
        raise StopIteration


@_telling_errors
def _passed(function: Any, /, *arguments: Any, **named: Any) -> Any:
    """Call a function that calls, compares or adds what it is given; where it begins and ends is decided."""
    if function is iter and len(arguments) == 2 and callable(arguments[0]):
        return _Calling(*arguments)
    if function.__name__ in _COMPARING and _are_mixed(function, arguments, named):
        if function.__name__ not in _ORDERING:
            return _escaped(function, *arguments, **named)
        # Which elements C compares, and which parts of them, shows only as it does: it asks one by one.
        named = {**named, "key": _in_order_of(named.get("key"))}
    first = _BOUNDS_FROM if function.__name__.startswith(("bisect", "insort")) else len(arguments)
    given = (*map(_followed, arguments[:first]), *map(_settled, arguments[first:]))
    return function(
        *given, **{name: (_settled if name in _READ_BY_C else _followed)(named[name]) for name in named}
    )


_ORDERING: Final = frozenset({"max", "min", "sorted", "sort"})
"""Those of them that take a key, and compare by it."""


class _Ordered:
    """What an element is ordered by: compared as the program's own operators would compare it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Ordered) -> Any:
        return operands.operated(operator.lt, self.value, other.value)

    def __gt__(self, other: _Ordered) -> Any:
        return operands.operated(operator.gt, self.value, other.value)


def _in_order_of(key: Callable[[Any], Any] | None) -> Callable[[Any], _Ordered]:
    return _Ordered if key is None else lambda element: _Ordered(called(key)(element))


def _are_mixed(function: Any, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    """Tell whether something would be compared with, or added to, what reads it without asking."""
    holder = getattr(function, "__self__", None)
    given = [*arguments, *named.values(), *(() if isinstance(holder, ModuleType) else (holder,))]
    return any(map(bears, given)) and any(map(has_reader, given))


def _followed(argument: Any) -> Any:
    return called(argument) if isinstance(argument, _CALLABLE_IN_C) else argument


def _unbound(function: Any, /, *arguments: Any, **named: Any) -> Any:
    """Call a method written in C that is given its object: `str.lower(text)`."""
    if not arguments:
        return function(**named)
    return called(_bound(function, arguments[0]))(*arguments[1:], **named)


def _bound(function: Any, holder: Any) -> Any:
    """Return a method of an object; one that its class has replaced, if the class knows better."""
    own = getattr(type(holder), function.__name__, None)
    if isinstance(own, FunctionType) and own.__module__.startswith(
        ("penstock._concolic", "penstock._symbolic")
    ):
        return MethodType(own, holder)
    return function.__get__(holder)


def _partial(function: Any, inner: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
    return inner(*function.args, *arguments, **{**function.keywords, **named})


def _cached(function: CachedFunction, /, *arguments: Any, **named: Any) -> Any:
    """Call a function that remembers its results; which of those that it remembers it is, is decided."""
    inner = called(function.__wrapped__)
    if not _depends(arguments, named) and not function.remembers(bears):
        return function.recall(arguments, named, inner)
    if named or function.is_typed:
        lose(function.__wrapped__.__qualname__)
        return function.recall(tuple(map(concrete, arguments)), {n: concrete(named[n]) for n in named}, inner)
    for key in lookups.exactly(function.keys):
        if lookups.equal(tuple(key) if isinstance(key, list) else (key,), arguments):
            return lookups.exactly(function.recall_key, key)
    function.note_miss()
    found = inner(*arguments)
    lookups.exactly(function.remember, arguments, found)
    return found


def _member(made: type[enum.Enum], /, *arguments: Any, **named: Any) -> Any:
    """Look up which member of an enumeration has a value."""
    if len(arguments) != 1 or issubclass(made, enum.Flag) or not bears(arguments[0]):
        return _escaped(made, *arguments, **named)
    for member in made:
        if lookups.equal(member.value, arguments[0]):
            return member
    missing: Any = made._missing_
    if missing.__func__ is not enum.Enum._missing_.__func__:  # type: ignore[attr-defined]
        found = called(missing)(arguments[0])
        if isinstance(found, made):
            return found
        if found is not None:
            lose("_missing_")
    return made(concrete(arguments[0]))


def _depends(arguments: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    return any(map(bears, arguments)) or (bool(named) and any(map(bears, named.values())))
