"""Calls: what a function does with values that depend on the inputs.

Functions written in Python are simply called: those of the program are followed, those of libraries
compute with the values as they come.  A function written in C sees only the concrete value, so it
needs one of these:

- a *summary* says what it means (see `summaries`);
- a *sink* is a place where values may go (see `summaries.sinks`): it gets concrete ones;
- functions that merely hold or pass on what they get, or that compare and add as Python does, are
  called as they are; what they are to call in turn (`map(int, texts)`) is followed in its turn.

Any other function gets concrete values, and the run notes the loss.
"""

from __future__ import annotations

import enum
import functools
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import (
    BuiltinFunctionType,
    FunctionType,
    GeneratorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final

from penstock.symbolic.code import lookups
from penstock.symbolic.code.summaries import (
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
from penstock.symbolic.packets import frame_calls, native_headers
from penstock.symbolic.run import Run, lose, unnoticed
from penstock.symbolic.values.parts import bears, concrete

_LIBRARIES: Final = (
    *(basics, formatting, structs, addresses, netaddr_objects, osken, patterns),
    *(frame_calls, native_headers),
)


def _by_function() -> dict[tuple[str, str], list[Summary]]:
    found: dict[tuple[str, str], list[Summary]] = {}
    for library in reversed(_LIBRARIES):
        for name, summary in library.FUNCTIONS.items():
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
        *("filter", "id", "issubclass", "iter", "len", "list", "map", "max", "min", "next"),
        *("object", "pow", "property", "reversed", "round", "slice", "sorted", "staticmethod"),
        *("sum", "super", "tuple", "vars", "zip"),
    }
)
"""Functions and classes of Python's own that compare, add, hold or pass on."""

_OF_OBJECT: Final = frozenset({"__init__", "__setattr__", "__delattr__", "__getattribute__", "__new__"})
"""Methods that only hold things, unless they are those of a value such as a number."""

_VALUES: Final = (int, float, complex, str, bytes, bytearray)

_HIGHER: Final = frozenset({"filter", "map", "max", "min", "sorted", "reduce", "starmap", "groupby"})
"""Those that call what they are given."""

_HOLDERS: Final = (list, tuple, deque, dict, set, frozenset, GeneratorType, ModuleType, type)
"""Objects whose methods compare, hold or pass on."""

_CALLABLE_IN_C: Final = (BuiltinFunctionType, MethodDescriptorType, functools.partial, type)
_HEAP_TYPE: Final = 1 << 9
"""The flag of classes that were made while Python ran, as those written in Python are."""


def called(function: Any) -> Any:
    """Return what a program is to call instead of a function."""
    if Run.current is None:
        return function
    kind = type(function)
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
    if kind is _CACHED:
        # What was remembered in another run was for other inputs.
        return called(function.__wrapped__)
    return function


_CACHED: Final = type(functools.lru_cache(lambda: None))


def _python_function(function: FunctionType | MethodType) -> Any:
    if sinks.is_sink(function):
        return functools.partial(_sunk, function)
    plain = function.__func__ if isinstance(function, MethodType) else function
    module = getattr(plain, "__module__", None)
    if module not in _MODULES:
        return function
    name = (module, plain.__qualname__)
    if name in _EAGER or name in _FUNCTIONS:
        if isinstance(function, MethodType):
            return functools.partial(_summarised, name, function, function.__self__)
        return functools.partial(_summarised, name, function)
    return function


def _class(made: type) -> Any:
    name = (made.__module__, made.__qualname__)
    if name in _EAGER or name in _FUNCTIONS:
        return functools.partial(_summarised, name, made)
    if sinks.is_sink(made):
        return functools.partial(_sunk, made)
    if issubclass(made, enum.Enum):
        return functools.partial(_member, made)
    if made.__flags__ & _HEAP_TYPE:
        # A class of the program's own, unless it takes its values in as C does.
        return functools.partial(_escaped, made) if issubclass(made, _VALUES) else made
    if issubclass(made, BaseException) or made.__module__ in _HARMLESS_MODULES:
        return functools.partial(_passed, made) if made.__name__ in _HIGHER else made
    if made.__module__ == "builtins" and made.__name__ in _HARMLESS:
        return functools.partial(_passed, made) if made.__name__ in _HIGHER else made
    return functools.partial(_escaped, made)


def _c_function(function: Any) -> Any:
    holder = function.__self__
    name = function.__name__
    if holder is None or isinstance(holder, ModuleType | type):
        module = holder.__module__ if isinstance(holder, type) else function.__module__
        key = (module, function.__qualname__)
        if key in _EAGER or key in _FUNCTIONS:
            return functools.partial(_summarised, key, function)
        if module in _HARMLESS_MODULES or (module == "builtins" and name in _HARMLESS):
            return functools.partial(_passed, function) if name in _HIGHER else function
        if name in _OF_OBJECT and isinstance(holder, type) and not issubclass(holder, _VALUES):
            return function
    else:
        if name in _METHOD_NAMES:
            for base in type(holder).__mro__:
                if (base, name) in _EAGER_METHODS or (base, name) in _METHODS:
                    return functools.partial(_method, (base, name), function)
        if isinstance(holder, _HOLDERS):
            return functools.partial(_passed, function) if name == "sort" else function
        if name in _OF_OBJECT and not isinstance(holder, _VALUES):
            return function
    if sinks.is_sink(function):
        return functools.partial(_sunk, function)
    return functools.partial(_escaped, function)


# Ways to call.


def _summarised(name: tuple[str, str], function: Any, /, *arguments: Any, **named: Any) -> Any:
    """Call the summary of a function in its place; a bound method brings its object as the first argument."""
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


def _method(name: tuple[type, str], method: Any, /, *arguments: Any, **named: Any) -> Any:
    """Call the summary of a method in its place."""
    summary = _EAGER_METHODS.get(name)
    if summary is None:
        if not bears(method.__self__) and not _depends(arguments, named):
            return method(*arguments, **named)
        summary = _METHODS[name]
    found = summary(method, method.__self__, *arguments, **named)
    if found is UNFOLLOWED:
        return _escaped(method, *arguments, **named)
    return method(*arguments, **named) if found is PLAIN else found


def _sunk(function: Any, /, *arguments: Any, **named: Any) -> Any:
    """Call a function with concrete values, which is no loss; nor is what it makes of other objects."""
    with unnoticed():
        return function(*map(concrete, arguments), **{name: concrete(value) for name, value in named.items()})


def _escaped(function: Any, /, *arguments: Any, **named: Any) -> Any:
    """Call a function with concrete values; what they depended on is lost."""
    holder = getattr(function, "__self__", None)
    if not _depends(arguments, named) and not (holder is not None and bears(holder)):
        return function(*arguments, **named)
    lose(getattr(function, "__qualname__", None) or type(function).__qualname__)
    return function(*map(_given, arguments), **{name: _given(value) for name, value in named.items()})


def _given(argument: Any) -> Any:
    """Return an argument without what it depends on; what the function may change stays itself."""
    return argument if isinstance(argument, list | dict | set | deque) else concrete(argument)


def _passed(function: Any, /, *arguments: Any, **named: Any) -> Any:
    """Call a function that calls what it is given."""
    return function(*map(_followed, arguments), **{name: _followed(value) for name, value in named.items()})


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
    if isinstance(own, FunctionType) and own.__module__.startswith("penstock.symbolic"):
        return MethodType(own, holder)
    return function.__get__(holder)


def _partial(function: Any, inner: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
    return inner(*function.args, *arguments, **{**function.keywords, **named})


def _member(made: type[enum.Enum], /, *arguments: Any, **named: Any) -> Any:
    """Look up which member of an enumeration has a value."""
    if len(arguments) != 1 or issubclass(made, enum.Flag) or not bears(arguments[0]):
        return _escaped(made, *arguments, **named)
    for member in made:
        if lookups.equal(member.value, arguments[0]):
            return member
    return made(concrete(arguments[0]))


def _depends(arguments: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    return any(map(bears, arguments)) or (bool(named) and any(map(bears, named.values())))
