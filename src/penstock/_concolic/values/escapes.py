"""Values that carry terms, and how they lose them.

`Symbolic` marks the classes of such values.  They are subclasses of `int`, `str` and `bytes`, and a
method that they did not override would give a plain result without a word.  So every method either
follows the value, and falls back on the plain one where it cannot (`or_lose`), or always loses it
(`escaping`); both note the loss.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from functools import wraps
from types import FunctionType
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar, cast

from penstock._concolic.run import MARK, lose
from penstock._concolic.terms import TooWide

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


class Unfollowed(Exception):
    """There is no term for what was asked."""


class Symbolic:
    """A value that depends on inputs."""

    __slots__ = ()

    @property
    @abstractmethod
    def plain(self) -> Any:
        """The value without its terms, unnoticed."""


class Unchanging(Symbolic):
    """A value that carries its terms for good: a copy is as good as the original."""

    __slots__ = ()

    @abstractmethod
    def __getnewargs__(self) -> Any: ...

    def __reduce__(self) -> Any:
        return type(self), self.__getnewargs__()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self


def answers_itself(value: Any, name: str) -> bool:
    """Tell whether a value is of a class of the program's own that has a method.

    Python asks an operand whose class derives from that of the one on its left before that; so ours have no
    answer where such a one has.
    """
    method = getattr(type(value), name, None)
    return isinstance(method, FunctionType) and MARK in method.__globals__


_BUILT_IN: Final = frozenset(
    {int, bool, str, bytes, bytearray, float, complex, tuple, list, dict, type(None)}
)

_REFLECTED: Final = {"__lt__": "__gt__", "__gt__": "__lt__", "__le__": "__ge__", "__ge__": "__le__"}
_ASKED: Final = (
    *("eq", "ne", "lt", "gt", "le", "ge", "add", "sub", "mul", "floordiv", "truediv", "mod", "divmod", "pow"),
    *("and", "or", "xor", "lshift", "rshift"),
)


def yielding(kind: type[S]) -> type[S]:
    """Have a class of values leave the answer to right operands that Python would ask first."""
    for operator in _ASKED:
        name = f"__{operator}__"
        reflected = _REFLECTED.get(name, name if operator in ("eq", "ne") else f"__r{operator}__")
        if name in vars(kind):
            setattr(kind, name, _unless_asked(vars(kind)[name], reflected))
    return kind


def _unless_asked(method: Any, reflected: str) -> Any:
    @wraps(method)
    def answer(self: Any, other: Any, *more: Any) -> Any:
        if type(other) not in _BUILT_IN and answers_itself(other, reflected):
            return NotImplemented
        return method(self, other, *more)

    return answer


def bare(value: Any) -> Any:
    """Return an argument of a method without its terms."""
    if isinstance(value, Symbolic):
        return value.plain
    if isinstance(value, (tuple, list)) and any(isinstance(part, Symbolic) for part in value):
        return type(value)(map(bare, value))
    return value


_OF_ONE_KIND: Final = frozenset(
    {"__repr__", "__str__", "__format__", "__bytes__", "__hash__", "__contains__"}
)
"""Methods of which Python wants a result of one kind."""


def _plainly(kind: type, name: str, value: Any, args: Iterable[Any], named: dict[str, Any]) -> Any:
    method = getattr(kind, name)
    if name not in _OF_ONE_KIND:
        from penstock._concolic.values.tables import tabulated

        args = tuple(args)
        try:
            return tabulated(method, value, *args, **named)
        except (Unfollowed, TooWide):
            pass
    lose(name.strip("_"))
    return method(bare(value), *map(bare, args), **{key: bare(part) for key, part in named.items()})


def or_lose(kind: type) -> Callable[[Callable[Concatenate[S, P], R]], Callable[Concatenate[S, P], R]]:
    """Make a method fall back on the one of a plain value where it cannot follow what is done."""

    def wrap(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
        @wraps(method)
        def tried(self: S, /, *args: P.args, **named: P.kwargs) -> R:
            try:
                return method(self, *args, **named)
            except (Unfollowed, TooWide):
                return cast(R, _plainly(kind, method.__name__, self, args, named))

        return cast("Callable[Concatenate[S, P], R]", tried)

    return wrap


def escaping(kind: type, *names: str) -> Callable[[type[S]], type[S]]:
    """Give a class methods that lose the value and return what a plain one would."""

    def extend(cls: type[S]) -> type[S]:
        for name in names:
            setattr(cls, name, _escape(kind, name))
        return cls

    return extend


def _escape(kind: type, name: str) -> Callable[..., Any]:
    def escape(self: Any, /, *args: Any, **named: Any) -> Any:
        return _plainly(kind, name, self, args, named)

    escape.__name__ = name
    escape.__doc__ = f"Lose the value, and return what `{kind.__name__}.{name}` does."
    return escape
