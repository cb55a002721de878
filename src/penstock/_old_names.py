"""Modules under the names that earlier versions documented, for programs that were written for them.

`from penstock.controllers.native import Controller` gives the very class that `from penstock import
Controller` does.  Only what the guide taught is found so; new code takes it from the front door.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Final

_NOW: Final = {
    "penstock.api": "penstock._api",
    "penstock.controllers": "penstock._controllers",
    "penstock.controllers.launch": "penstock.launch",
    "penstock.properties": "penstock._properties",
    "penstock.properties.functions": "penstock._properties.base",
    "penstock.scenario": "penstock._scenario.scenario",
    "penstock.world": "penstock._world",
    "penstock.world.packet": "penstock.packet",
}


def _present_name(name: str) -> str | None:
    """Return what a module is called now; None if its name is none of the old ones."""
    old = max((each for each in _NOW if f"{name}.".startswith(f"{each}.")), key=len, default=None)
    return None if old is None else _NOW[old] + name[len(old) :]


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        now = _present_name(fullname)
        found = None if now is None else importlib.util.find_spec(now)
        if now is None or found is None:
            return None
        return ModuleSpec(fullname, _Alias(now), is_package=found.submodule_search_locations is not None)


class _Alias(InspectLoader):
    """Gives out a module under another name."""

    def __init__(self, now: str) -> None:
        self._now = now
        self._spec: ModuleSpec | None = None

    def create_module(self, _spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._now)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # Python has written the old name into it.
        module.__spec__ = self._spec

    def get_code(self, _fullname: str) -> CodeType | None:
        found = importlib.util.find_spec(self._now)
        loader = None if found is None else found.loader
        return loader.get_code(self._now) if isinstance(loader, InspectLoader) else None

    def get_source(self, _fullname: str) -> str | None:
        return None

    def is_package(self, _fullname: str) -> bool:
        return False


def install() -> None:
    """Have modules found under their old names from now on."""
    if not any(type(finder).__name__ == _Finder.__name__ for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
