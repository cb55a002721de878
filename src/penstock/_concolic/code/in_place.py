"""Having a program's code followed: its functions get rewritten code, in place.

The program has been imported as it is; nothing of it has to be loaded anew or under another name.
Its source is rewritten (see `rewrite`), compiled, and every function that came from it is given the
new code: methods, closures and lambdas wherever they are kept.  Objects, classes and module
variables stay the same, so what a program has built up stays valid.

A function whose source cannot be found keeps its own code: it works as ever, but what enters it is not
followed (see `library`).
"""

from __future__ import annotations

import gc
import importlib.util
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from inspect import CO_ITERABLE_COROUTINE
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from penstock._concolic.code import rewrite
from penstock._concolic.run import MARK

_OS_KEN_LIBRARIES: Final = (
    *("os_ken.lib.igmplib", "os_ken.lib.lacplib", "os_ken.lib.stplib", "os_ken.lib.mac"),
    *("os_ken.topology.switches", "os_ken.controller.dpset"),
)
"""The parts of os-ken that look at packets on behalf of an app."""


def sources(modules: Iterable[ModuleType]) -> list[str]:
    """Return the source texts of modules, where they can be read."""
    return [text for module in modules if (text := _source(module))]


def _source(module: ModuleType) -> str:
    file = getattr(module, "__file__", None)
    if not file or not file.endswith(".py"):
        return ""
    try:
        return importlib.util.decode_source(Path(file).read_bytes())
    except (OSError, SyntaxError, UnicodeError):
        return ""


_KEPT: Final = 32
"""Of how many files the rewritten code is kept: a program is often loaded more than once."""

Key = tuple[str, int, int]
"""What a function is known by: its name, the line it begins in, and where in the line its body begins."""


def key_of(code: CodeType) -> Key:
    """Return what the code of a function is known by."""
    columns = (start for line, _, start, end in code.co_positions() if line and start is not None and end)
    return code.co_qualname, code.co_firstlineno, min(columns, default=0)


_OF_REWRITTEN: Final[dict[CodeType, Key]] = {}
"""What functions were known by before they were rewritten, by their new code."""


def identity_of(code: CodeType) -> Key:
    """Return what a function is known by, which is the same before and after it is rewritten."""
    return _OF_REWRITTEN.get(code) or key_of(code)


def follow_program(modules: Iterable[ModuleType]) -> None:
    """Have an os-ken program followed: its own modules, and the libraries that look at packets for it."""
    own = [module for module in modules if not module.__name__.startswith("os_ken.") or _is_app(module)]
    libraries = [sys.modules[name] for name in _OS_KEN_LIBRARIES if name in sys.modules]
    follow_modules([*own, *libraries])


def _is_app(module: ModuleType) -> bool:
    return module.__name__.startswith("os_ken.app.")


def follow_modules(modules: Iterable[ModuleType]) -> None:
    """Have the functions of these modules followed from now on."""
    rewritten: dict[int, Mapping[Key, CodeType]] = {}
    variables: list[dict[str, Any]] = []
    for module in modules:
        if MARK not in vars(module):
            codes = rewritten_functions(module)
            if codes:
                rewrite.equip(module)
                variables.append(vars(module))
                rewritten[id(vars(module))] = codes
    # Every function refers to the variables of its module.
    for found in gc.get_referrers(*variables) if variables else ():
        if type(found) is FunctionType and id(found.__globals__) in rewritten:
            code = rewritten[id(found.__globals__)].get(key_of(found.__code__))
            if code is not None and code.co_freevars == found.__code__.co_freevars:
                found.__code__ = _like(found.__code__, code)


def _like(before: CodeType, code: CodeType) -> CodeType:
    """Return rewritten code with what was decided of the function since: `types.coroutine` marks its code."""
    if not before.co_flags & CO_ITERABLE_COROUTINE:
        return code
    marked = code.replace(co_flags=code.co_flags | CO_ITERABLE_COROUTINE)
    rewrite.FOLLOWED[id(marked)] = marked
    _OF_REWRITTEN[marked] = identity_of(code)
    return marked


def rewritten_functions(module: ModuleType) -> Mapping[Key, CodeType]:
    """Return the new code of a module's functions, where it is clear which is whose."""
    source = _source(module)
    return _rewritten(source, str(module.__file__)) if source else {}


@lru_cache(maxsize=_KEPT)
def _rewritten(source: str, file: str) -> Mapping[Key, CodeType]:
    before = _functions(compile(source, file, "exec", dont_inherit=True))
    after = _functions(rewrite.followed(source, file))
    found: dict[Key, CodeType] = {}
    for name, codes in before.items():
        # Functions of one name in one line stay in order.
        if len(codes) == len(after.get(name, ())):
            keys = [key_of(code) for code in codes]
            found.update(
                (key, code) for key, code in zip(keys, after[name], strict=True) if keys.count(key) == 1
            )
    _OF_REWRITTEN.update((code, key) for key, code in found.items())
    return found


def _functions(code: CodeType) -> dict[tuple[str, int], list[CodeType]]:
    """Return the functions in some code, nested ones included, by name and line."""
    found: defaultdict[tuple[str, int], list[CodeType]] = defaultdict(list)
    for inner in _codes(code):
        found[inner.co_qualname, inner.co_firstlineno].append(inner)
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)
