"""What a program could change outside of its own objects, watched for change.

A program's own modules and whatever its objects lead to are saved with every state.  The libraries
around it are not: they are large, and hardly any program changes them.  But one may: set a class
variable of os-ken, an attribute of `sys`, an option of `cfg.CONF`, an attribute of a function.  So
everything within reach of the program's code, up to a number of objects, is copied once, shallowly,
and compared with the copy now and then.  What has changed is put back and becomes part of the
state from then on (see `MoreState`); what cannot be put back is named.
"""

from __future__ import annotations

import builtins
import functools
import gc
import logging
import os
import sys
import types
import warnings
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final, NamedTuple

from penstock._controllers.c_contents import NOT_OF_LOGGER, c_part
from penstock._controllers.contents import (
    NAMESPACE,
    SEPARATOR,
    Held,
    Namespace,
    Part,
    Still,
    Together,
    Variables,
    identity,
    is_machinery,
    parts_of,
)
from penstock._controllers.snapshot import FUNCTION, MADE_ON_HEAP

_MOST: Final = 20_000
"""How many objects are watched."""

_CHUNK: Final = 256
"""Of how many objects it is asked together whether they have changed."""

_DEEPEST: Final = 6
"""How many references away from a program's variables."""

_EVERYBODYS: Final = (sys, builtins, os, logging, warnings, gc)
"""Modules that a program can change without having imported them by name."""

_CACHES: Final = frozenset(
    {
        *("sys.modules", "sys.path_importer_cache", "sys.path", "sys.meta_path", "sys.path_hooks"),
        *("sys.last_type", "sys.last_value", "sys.last_traceback", "sys.stdout", "sys.stderr", "sys.stdin"),
        *(
            "os_ken.base.app_manager.SERVICE_BRICKS",
            "logging._handlers",
            "logging._handlerList",
            "warnings._filters_mutated",
            "builtins._",
        ),
        *("os.environ", "os.environb", "sys.flags", "re._cache", "re._cache2", "linecache.cache"),
        # Also filled when Penstock loads a library of its own during a search, such as the solver.
        *("ctypes._c_functype_cache", "ctypes._pointer_type_cache"),
        *("threading._active", "threading._limbo", "threading._shutdown_locks", "threading._dangling"),
    }
)
"""Variables of Python's that change by themselves or are part of the state already."""

_LOOKED_UP: Final = frozenset({"_ConfigOpts__cache", "__warningregistry__", "_base_attributes"})
"""What libraries keep to be fast, by the names it has in them."""

_PLAIN: Final = (
    *(int, str, bytes, float, complex, bool, type(None), range, slice, types.CodeType, tuple, frozenset),
    *(types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType),
    *(types.GetSetDescriptorType, types.MemberDescriptorType, types.FrameType, types.TracebackType),
    ModuleSpec,
)


Path = tuple[Any, ...]
"""Where something was found: the path of what led to it, and its name there."""


class Watched(NamedTuple):
    """Something that a program could change, with its content when it was first looked at."""

    value: Any
    path: Path
    parts: tuple[Part, ...]
    contents: tuple[Any, ...]
    depth: int

    @property
    def thing(self) -> Any:
        """What it is: the module or class itself, where it is the variables of one."""
        return self.value.owner if isinstance(self.value, Namespace) else self.value

    @property
    def name(self) -> str:
        """The thing in words, as a program would write it."""
        names: list[str] = []
        path = self.path
        while path:
            names.append(str(path[1])[:40])
            path = path[0]
        return ".".join(reversed(names))

    def has_changed(self) -> bool:
        """Tell whether the content is another one now."""
        value, _, parts, contents, _ = self
        if len(parts) == 1:
            return not parts[0].same(value, contents[0])
        return not all(part.same(value, content) for part, content in zip(parts, contents, strict=True))

    @property
    def can_be_put_back(self) -> bool:
        """Whether the content can be written, and not only seen to change."""
        return self.parts != (_OPAQUE,)

    def adopted(self) -> Any:
        """Return what is to be saved: the thing, or of a module or class those variables that changed."""
        return Variables(self.value.owner, self.names()) if isinstance(self.value, Namespace) else self.value

    def names(self) -> tuple[str, ...]:
        """Return which variables of a module or class have changed; of anything else, that it has."""
        if not isinstance(self.value, Namespace):
            return (str(self.path[1]),)
        before, now = self.contents[0], vars(self.value.owner)
        names = (name for name in {**before, **now} if before.get(name, self) is not now.get(name, self))
        return tuple(sorted(name for name in set(names) if not is_machinery(name)))

    def put_back(self) -> None:
        """Bring the content back."""
        for part, content in zip(self.parts, self.contents, strict=True):
            part.write(self.value, content)


class _Chunk:
    """Some things that are watched, of which it is asked together whether they have changed."""

    __slots__ = ("_together", "watched")

    def __init__(self, watched: Sequence[Watched]) -> None:
        self.watched = tuple(watched)
        self._together = Together((each.value, each.parts, each.contents) for each in watched)

    def changed(self) -> list[int]:
        """Return the places of those that hold something else now."""
        if self._together.are_as_they_were():
            return []
        return [place for place, each in enumerate(self.watched) if each.has_changed()]


def _in_chunks(watched: Sequence[Watched]) -> list[_Chunk]:
    return [_Chunk(watched[first : first + _CHUNK]) for first in range(0, len(watched), _CHUNK)]


class MoreState(BaseException):
    """The program keeps state in places that were not saved; a search has to begin again with them."""

    def __init__(self, found: list[Watched], modules: list[str]) -> None:
        super().__init__(", ".join([*(each.name for each in found), *modules]))
        self.found = found
        self.modules = modules
        """The names of the program's modules that its steps have imported."""


class Surface:
    """What surrounds a program, as it was when this was made."""

    def __init__(
        self, modules: Iterable[ModuleType], saved: Iterable[Any], others: Iterable[Any] = ()
    ) -> None:
        self._modules = list(modules)
        self._names = {module.__name__ for module in self._modules}
        self._objects = list(saved)
        self._others = list(others)
        """Classes and objects of its own that the program can get at in other ways."""
        self._saved = set(map(identity, self._objects))
        """The identities of what is saved with every state."""
        self._variables: dict[int, set[str]] = {}
        """The names of single variables that are saved, by the identities of their owners."""
        for value in self._objects:
            if isinstance(value, Variables):
                self._variables.setdefault(identity(value.owner), set()).update(value.names)
        self._chunks: list[_Chunk] = []
        """What is within reach; that is watched unless it is saved."""
        self.left_out = False
        """Whether there was more within reach than is watched."""
        self._gather()

    def changed(self) -> tuple[list[Watched], list[Watched]]:
        """Return what has changed since and can be put back, and what cannot.

        That libraries remember what they have looked up is no change by itself.
        """
        changed = (chunk.watched[place] for chunk in self._chunks for place in chunk.changed())
        found = [each for each in changed if not self._is_saved(each)]
        more = [each for each in found if each.can_be_put_back]
        if all(set(each.names()) <= _LOOKED_UP for each in more):
            more = []
        return more, [each for each in found if not each.can_be_put_back]

    def _is_saved(self, watched: Watched) -> bool:
        """Tell whether a thing is saved, or nothing has changed of it but variables that are."""
        if identity(watched.thing) in self._saved:
            return True
        if not isinstance(watched.value, Namespace):
            return False
        return self._variables.get(identity(watched.value.owner), set()) >= set(watched.names())

    def _gather(self) -> None:
        """Gather what is within reach: the libraries, then the program's own modules and its classes."""
        roots = tuple(dict.fromkeys([*_EVERYBODYS, *self._imported()]))
        library = _LIBRARIES.setdefault(tuple(map(identity, roots)), _Library(roots))
        # What leads to all of the program is gone with it, and must not be watched for ever as a library's.
        library.update(self._names, set(map(identity, self._others)))
        gathering = _Gathering(self._names)
        gathering.seen |= set(map(identity, sys.modules.values())) - set(map(identity, self._modules))
        gathering.seen |= library.identities
        kinds = dict.fromkeys(base for value in self._objects for base in type(value).__mro__)
        kinds.update((value, None) for value in self._others if isinstance(value, type))
        others = [value for value in self._others if not isinstance(value, type)]
        gathering.walk(
            [
                *((((), module.__name__), module, 0) for module in self._modules),
                *((((), type(value).__qualname__), value, 2) for value in others),
                *((((), kind.__qualname__), kind, 1) for kind in kinds),
            ]
        )
        self._chunks = [*library.chunks, *_in_chunks(gathering.watched)]
        self.left_out = sum(len(chunk.watched) for chunk in self._chunks) >= _MOST

    def _imported(self) -> Iterator[ModuleType]:
        """Yield the modules that the program's own have names for."""
        for module in self._modules:
            for value in list(vars(module).values()):
                if isinstance(value, ModuleType) and value not in self._modules and not _is_ours(value):
                    yield value


class _Gathering:
    """A walk over what can be reached, each thing once and in its order."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        """The names of the program's own modules."""
        self.seen: set[int] = set()
        self.watched: list[Watched] = []

    def walk(self, first: Iterable[tuple[Path, Any, int]], without: Collection[str] = ()) -> None:
        """Watch things and what they lead to, except the objects of classes from certain modules."""
        waiting = deque(first)
        while waiting and len(self.watched) < _MOST:
            path, value, depth = waiting.popleft()
            if identity(value) in self.seen or isinstance(value, _PLAIN):
                continue
            self.seen.add(identity(value))
            if _is_ours(value) or type(value).__module__ in without:
                continue
            self.watched.append(_watched(path, value, depth))
            waiting += self.beyond(path, value, depth)

    def beyond(self, path: Path, value: Any, depth: int) -> Iterator[tuple[Path, Any, int]]:
        """Yield what a thing leads to and was not seen yet."""
        if depth < _DEEPEST:
            for key, inner in self._members(value, depth):
                if identity(inner) not in self.seen:
                    yield (path, key), inner, depth + 1

    def _members(self, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
        """Yield what an object leads to and could change, by names."""
        if isinstance(value, ModuleType | type):
            home = value.__name__ if isinstance(value, ModuleType) else ""
            for name, inner in list(vars(value).items()):
                if isinstance(inner, _PLAIN) or f"{home}.{name}" in _CACHES or is_machinery(name):
                    continue
                # The functions of libraries are many, and hardly anybody gives them attributes.
                if depth < 1 or not isinstance(inner, types.FunctionType) or inner.__module__ in self._names:
                    yield name, inner
        elif isinstance(value, property):
            yield from (("fget", value.fget), ("fset", value.fset), ("fdel", value.fdel))
        elif isinstance(value, staticmethod | classmethod):
            yield "__func__", value.__func__
        elif isinstance(value, dict):
            yield from list(value.items())
        elif isinstance(value, logging.Logger):
            yield from ((name, inner) for name, inner in vars(value).items() if name not in NOT_OF_LOGGER)
        elif not isinstance(value, types.FunctionType):
            yield from getattr(value, "__dict__", {}).items()
            if isinstance(value, list | deque):
                yield from enumerate(list(value))


def _watched(path: Path, value: Any, depth: int) -> Watched:
    """Return a thing with its content as it is now; one that refuses to be read is watched from outside."""
    parts: tuple[Part, ...]
    if isinstance(value, ModuleType | type):
        value, parts = Namespace(value), (NAMESPACE,)
    elif isinstance(value, types.FunctionType):
        parts = (FUNCTION,)
    else:
        kind: Any = type(value)
        parts = _parts_of(kind) or (_OPAQUE,)
    try:
        contents = tuple([part.read(value) for part in parts])
    except Exception:  # whatever an object of a library makes of being read
        parts, contents = (_OPAQUE,), (_OPAQUE.read(value),)
    return Watched(value, path, parts, contents, depth)


class _Library:
    """What can be reached from the modules of libraries."""

    def __init__(self, roots: tuple[ModuleType, ...]) -> None:
        self._roots = roots
        self.chunks: list[_Chunk] = []
        """What is watched, in the order in which it was found."""
        self.identities: set[int] = set()
        """The identities of that."""

    def update(self, names: Collection[str], without: set[int]) -> None:
        """Look at all of it as it is now, except certain objects; what has not changed is not looked into."""
        gathering = _Gathering(names)
        others = set(map(identity, sys.modules.values())) - set(map(identity, self._roots))
        gathering.seen = others | self.identities | without
        first: list[tuple[Path, Any, int]] = [(((), module.__name__), module, 0) for module in self._roots]
        for number, chunk in enumerate(self.chunks):
            changed = chunk.changed()
            for place in changed:
                first += gathering.beyond(*_found(chunk.watched[place]))
            if changed:
                # Whoever watches what is in it goes on with the chunk as it was.
                self.chunks[number] = _Chunk(
                    [
                        _watched(*_found(each)) if place in changed else each
                        for place, each in enumerate(chunk.watched)
                    ]
                )
        gathering.walk(first, without=names)
        self._append(gathering.watched)

    def _append(self, watched: list[Watched]) -> None:
        """Watch more."""
        self.identities.update(identity(each.thing) for each in watched)
        if watched and self.chunks and len(self.chunks[-1].watched) < _CHUNK:
            watched = [*self.chunks.pop().watched, *watched]
        self.chunks += _in_chunks(watched)


def _found(watched: Watched) -> tuple[Path, Any, int]:
    """Return where and what something was found."""
    return watched.path, watched.thing, watched.depth


_LIBRARIES: Final[dict[tuple[int, ...], _Library]] = {}
"""Libraries, by the identities of the modules where they begin."""


def _shown(value: Any) -> tuple[int, ...]:
    """Return what shows of the content of something that cannot be read."""
    frame = getattr(value, "gi_frame", None) or getattr(value, "cr_frame", None)
    place = -1 if frame is None else frame.f_lasti
    return place, *map(identity, gc.get_referents(value))


def _shown_together(held: Held) -> Still:
    """Return what tells whether the same still shows of things that cannot be read."""
    # No frame can come to those of a type written in C, which has no place for it.
    plain = [value for value, _ in held if not _may_have_frame(value)]
    alone = [(value, content) for value, content in held if _may_have_frame(value)]
    separated = [each for value in plain for each in (value, SEPARATOR)]
    showed = [
        each
        for value, content in held
        if not _may_have_frame(value)
        for each in (*content[1:], identity(SEPARATOR[0]))
    ]

    def still() -> bool:
        return list(map(identity, gc.get_referents(*separated))) == showed and all(
            _shown(value) == content for value, content in alone
        )

    return still


def _may_have_frame(value: Any) -> bool:
    kind = type(value)
    return not _is_immutable(kind) or hasattr(kind, "gi_frame") or hasattr(kind, "cr_frame")


def _is_immutable(kind: type) -> bool:
    """Tell whether a type can be given no other attributes."""
    return not kind.__flags__ & MADE_ON_HEAP or bool(kind.__flags__ & _IMMUTABLE)


_IMMUTABLE: Final = 1 << 8
"""The flag of types that were made on the heap and cannot be changed for all that."""

_OPAQUE: Final = Part(
    _shown,
    lambda value, content: _shown(value) == content,
    lambda _value, _content: None,
    lambda _value, _content, _constant: None,
    _shown_together,
)


@functools.cache
def _parts_of(kind: Any) -> tuple[Part, ...]:
    return parts_of(kind, c_part(kind), ordered=True)


def _is_ours(value: Any) -> bool:
    """Tell whether something belongs to Penstock."""
    home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    kind = type(value).__module__
    return str(home).partition(".")[0] in _NOT_THEIRS or str(kind).partition(".")[0] in _NOT_THEIRS


_NOT_THEIRS: Final = frozenset({"penstock", "greenlet", "z3", "rich", "click", "_pytest", "pytest", "pluggy"})
