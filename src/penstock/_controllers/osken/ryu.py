"""Ryu programs on os-ken: whoever imports `ryu.*` gets `os_ken.*`.

os-ken is Ryu under another name, but without its apps and its command line; Ryu itself no longer
installs on current Pythons.  A finder on `sys.meta_path` answers for all of `ryu`:

- `ryu` and `ryu.app` are packages of their own;
- what os-ken has is os-ken's very module, so that classes and handlers are the same under both
  names; `RyuApp` and `RyuException` are other names for os-ken's;
- all else, above all the apps, comes from the sources of Ryu, unmodified.

The sources are looked for where `penstock fetch-ryu` puts them, and then wherever Python would find a
package `ryu`.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Final

from penstock._base import ryu_names
from penstock._base.ryu_names import OS_KEN, RYU, VERSION, is_ryu

_PACKAGES: Final = (RYU, f"{RYU}.app")
_OWN_NAMES: Final = {
    f"{OS_KEN}.base.app_manager": ("RyuApp", "OSKenApp"),
    f"{OS_KEN}.exception": ("RyuException", "OSKenException"),
}
"""What Ryu calls things that os-ken has renamed."""


def os_ken_name(name: str) -> str:
    """Return the name under which os-ken has a module of Ryu's; other names as they are."""
    if is_ryu(name) and name not in _PACKAGES and _exists(OS_KEN + name[len(RYU) :]):
        return OS_KEN + name[len(RYU) :]
    return name


def _exists(name: str) -> bool:
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


class RyuFinder(MetaPathFinder):
    """Finds the modules of Ryu."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module comes from, or None if it is not Ryu's."""
        if not is_ryu(fullname):
            return None
        if fullname in _PACKAGES:
            spec = ModuleSpec(fullname, _Package(), is_package=True)
            spec.submodule_search_locations = []
            return spec
        original = os_ken_name(fullname)
        if original != fullname:
            return ModuleSpec(fullname, _Alias(original), is_package=True)
        parts = fullname.split(".")[1:]
        for folder in ryu_names.source_folders():
            found = PathFinder.find_spec(fullname, [str(folder.joinpath(*parts[:-1]))])
            if found is not None:
                return found
        return None


class _Package(Loader):
    """Makes the packages that only hold others."""

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == RYU:
            vars(module).update(version=VERSION, __version__=VERSION)


class _Alias(Loader):
    """Gives out a module of os-ken's under Ryu's name."""

    def __init__(self, original: str) -> None:
        self._original = original
        self._spec: ModuleSpec | None = None

    def create_module(self, _spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._original)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # Python has written Ryu's name into the module; it is still os-ken's.
        module.__spec__ = self._spec


def install() -> None:
    """Answer for imports of Ryu from now on; os-ken's hub must have been replaced."""
    for name, (ryus, os_kens) in _OWN_NAMES.items():
        module = importlib.import_module(name)
        setattr(module, ryus, getattr(module, os_kens))
    if not any(isinstance(finder, RyuFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, RyuFinder())
