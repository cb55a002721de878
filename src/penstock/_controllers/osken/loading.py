"""Finding a program's apps, as os-ken's own command line would.

An app is named by its file (`app.py`, `app.py:SimpleSwitch`) or by its module
(`ryu.app.simple_switch_13`, `os_ken.app.ofctl.service`).  Without the name of a class it is, as in
os-ken, the first one by the alphabet that derives from `OSKenApp` or `RyuApp`.  The apps' contexts
and the services they need come by themselves, in an order that does not change from run to run.

Each program gets modules of its own, so that none begins with what another left in its variables.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from penstock._base import ryu_names
from penstock._base.code_files import note_imports
from penstock._base.text import hint
from penstock._base.users_code import bar_while_looking, explained, file_of
from penstock._controllers import origins
from penstock._controllers.osken import framework, ryu, standins
from penstock.errors import OtherVersion, PenstockError
from penstock.openflow.messages import V10, V13

_VERSIONS: Final = {1: "1.0", 2: "1.1", 3: "1.2", 4: "1.3", 5: "1.4", 6: "1.5"}


@dataclass(slots=True)
class Loaded:
    """The classes that a program is made of, and the modules they are in."""

    apps: dict[str, Any] = field(default_factory=dict)
    contexts: dict[str, Any] = field(default_factory=dict)
    modules: dict[str, ModuleType] = field(default_factory=dict)
    """The modules that are the program's own."""
    roots: list[Path] = field(default_factory=list)
    """The files and folders that those are in."""
    folders: list[str] = field(default_factory=list)
    """The folders that modules may be imported from, besides Python's own."""

    def are_own(self, names: Iterable[str]) -> list[str]:
        """Return which modules, by their names, are the program's though it was loaded without them."""
        return [
            name for name in names if name not in self.modules and _is_inside(sys.modules[name], self.roots)
        ]

    def classes(self) -> list[Any]:
        """Return the classes of all apps, contexts included."""
        from os_ken.base import app_manager

        contexts = [made for made in self.contexts.values() if issubclass(made, app_manager.OSKenApp)]
        return [*self.apps.values(), *contexts]

    def all_modules(self) -> list[ModuleType]:
        """Return the program's own modules and those of os-ken that its apps come from."""
        modules = {name: self.modules[name] for name in sorted(self.modules)}
        for made in (*self.classes(), *self.contexts.values()):
            if made.__module__ not in modules:
                modules[made.__module__] = sys.modules[made.__module__]
        return list(modules.values())

    def namespaces(self) -> list[Any]:
        """Return the modules and classes whose variables are part of the program's state."""
        return namespaces_of(self.all_modules())


def namespaces_of(modules: Iterable[ModuleType]) -> list[Any]:
    """Return modules and the classes that they define."""
    found: list[Any] = []
    for module in modules:
        found.append(module)
        found += _classes_in(vars(module), module.__name__)
    return found


def _classes_in(variables: Any, module: str) -> list[type]:
    """Return the classes that a module defines, those inside others included."""
    found: list[type] = []
    for value in variables.values():
        if isinstance(value, type) and value.__module__ == module and value not in found:
            found.append(value)
            found += _classes_in(vars(value), module)
    return found


def load(names: Sequence[str]) -> Loaded:
    """Import a program's apps and whatever they need."""
    bar_while_looking(", ".join(names))
    if not names:
        raise PenstockError("A program needs at least one app: name its file or module.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise PenstockError(f"The app {twice!r} is named twice: name each app once.")
    loaded = Loaded(folders=_folders(names))
    roots = loaded.roots = list(ryu_names.source_folders())
    before = set(sys.modules)
    try:
        with standins.absent_libraries(), path(loaded.folders):
            _choose(loaded, names, roots)
    finally:
        own = [name for name in sys.modules if name not in before]
        own = [name for name in own if ryu_names.is_ryu(name) or _is_inside(sys.modules[name], roots)]
        # They are put back when the program takes charge.
        loaded.modules = {name: sys.modules.pop(name) for name in own}
        places = [Path(place) for place in (_split(name)[0] for name in names) if _is_file(place)]
        if places:
            note_imports(places, map(file_of, loaded.modules.values()))
        origins.belong_to_programs(loaded.modules.values())
    return loaded


def _choose(loaded: Loaded, names: Sequence[str], roots: list[Path]) -> None:
    """Choose the classes, as os-ken's manager does: the apps named, their contexts, the services of both."""
    from os_ken.base import app_manager

    waiting = deque(names)
    while waiting:
        name = waiting.popleft()
        app = _app_class(name, roots)
        if app in loaded.apps.values():
            continue
        loaded.apps[name] = app
        services: set[str] = set()
        for key, context in app.context_iteritems():
            if loaded.contexts.setdefault(key, context) is not context:
                raise PenstockError(
                    f"{name} and another app want different things as their context {key!r}: "
                    f"run them in separate programs."
                )
            if issubclass(context, app_manager.OSKenApp):
                services |= framework.needs_of(context)
        services |= framework.needs_of(app)
        waiting.extend(sorted(map(ryu.os_ken_name, services)))
    contexts = set(loaded.contexts.values())
    for name, app in list(loaded.apps.items()):
        if app in contexts:
            del loaded.apps[name]
    _refuse_namesakes(loaded.apps)


def _refuse_namesakes(apps: Mapping[str, type]) -> None:
    """Refuse two apps whose classes have one name: os-ken finds apps by that."""
    names: dict[str, str] = {}
    for name, app in apps.items():
        other = names.setdefault(app.__name__, name)
        if other != name:
            raise PenstockError(
                f"{other} and {name} both have a class {app.__name__}, by which os-ken knows an app: "
                "rename one of them."
            )


def common_version(loaded: Loaded, apps: str, wanted: int | None) -> int:
    """Return the OpenFlow version that a program is to speak: the wanted one, or its newest."""
    versions = set(_VERSIONS)
    for app in loaded.classes():
        versions &= set(app.OFP_VERSIONS or versions)
    if not versions:
        raise PenstockError(f"{apps} have no OpenFlow version in common: run them in separate programs.")
    spoken = " and ".join(_VERSIONS[version] for version in sorted(versions))
    known = versions & {V10, V13}
    if not known:
        raise PenstockError(
            f"{apps} speaks OpenFlow {spoken}, but the switches 1.0 and 1.3: take another app."
        )
    if wanted is not None and wanted not in known:
        asked = _VERSIONS.get(wanted, f"version {wanted}")
        text = (
            f"{apps} speaks OpenFlow {spoken}, not {asked}: leave openflow out, or ask for another version."
        )
        raise OtherVersion(text, frozenset(known))
    return wanted or max(known)


# Modules.


def _split(name: str) -> tuple[str, str]:
    """Split an app's name into its file or module, and its class if one is named."""
    place, _, chosen = name.rpartition(":")
    return (place, chosen) if place and chosen.isidentifier() else (name, "")


def _is_file(place: str) -> bool:
    return place.endswith(".py") or "/" in place


def _folders(names: Iterable[str]) -> list[str]:
    places = [_split(name)[0] for name in names]
    return [str(Path(place).resolve().parent) for place in places if _is_file(place)] + [str(Path.cwd())]


@contextmanager
def path(folders: Iterable[str]) -> Iterator[None]:
    """Let the files of these folders be imported, after all others, inside this block."""
    before = list(sys.path)
    sys.path += [folder for folder in folders if folder not in sys.path]
    try:
        yield
    finally:
        sys.path[:] = before


def _is_inside(module: ModuleType, roots: Iterable[Path]) -> bool:
    """Tell whether a module's file is in one of these folders, and not a library installed there."""
    file = getattr(module, "__file__", None)
    if not file:
        return False
    path = Path(file).resolve()
    for root in roots:
        if path == root or (
            path.is_relative_to(root) and "site-packages" not in path.relative_to(root).parts
        ):
            return True
    return False


def _app_class(name: str, roots: list[Path]) -> Any:
    """Return the class that an app's name means; note where its modules are."""
    from os_ken.base import app_manager

    place, chosen = _split(name)
    module = _from_file(place) if _is_file(place) else _from_module(place)
    file = getattr(module, "__file__", None)
    if file and not module.__name__.startswith((ryu_names.OS_KEN, ryu_names.RYU)):
        depth = module.__name__.count(".")
        path = Path(file).resolve()
        roots.append(path.parents[depth - 1] if depth else path.parent if _is_file(place) else path)
    apps = {
        cls.__name__: cls
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if issubclass(cls, app_manager.OSKenApp) and cls.__module__ == module.__name__
    }
    if not apps:
        raise PenstockError(f"{place} has no app in it: define a class that derives from OSKenApp or RyuApp.")
    if chosen and chosen not in apps:
        raise PenstockError(f"{place} has no app {chosen!r}: {hint(chosen, apps)}")
    return apps[chosen or next(iter(apps))]


def _from_file(place: str) -> ModuleType:
    path = Path(place).resolve()
    if not path.is_file():
        wrong = f"{place} is a folder" if path.is_dir() else f"There is no file {place}"
        raise PenstockError(f"{wrong}: check the path of the app.")
    if path.suffix != ".py":
        raise _no_python(place)
    name = path.stem
    known = sys.modules.get(name)
    if known is not None:
        if getattr(known, "__file__", None) == str(path):
            return known
        raise PenstockError(
            f"{place} cannot be loaded, since Python has another module {name!r}: rename the file."
        )
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        sys.modules.pop(name, None)
        raise _import_failed(place, error) from error
    return module


def _no_python(place: str) -> PenstockError:
    return PenstockError(f"{place} is no Python file: name the app's, as in app.py, or its module.")


def _from_module(place: str) -> ModuleType:
    if not all(map(str.isidentifier, place.split("."))):
        # Python would take it for a relative name, or worse.
        raise _no_python(place)
    try:
        return importlib.import_module(ryu.os_ken_name(place))
    except ModuleNotFoundError as error:
        if error.name is None or not (place == error.name or place.startswith(f"{error.name}.")):
            raise _import_failed(place, error) from error
    except BaseException as error:
        raise _import_failed(place, error) from error
    if ryu_names.is_ryu(place) and not ryu_names.source_folders():
        raise PenstockError(ryu_names.missing(place))
    if Path(place).exists():
        raise _no_python(place)
    raise PenstockError(f"There is no module {place!r}: check its name, or name the app's file.")


def _import_failed(place: str, error: BaseException) -> PenstockError:
    """Return what to tell the user when an app cannot be imported."""
    if isinstance(error, KeyboardInterrupt):
        raise error
    return PenstockError(f"{place} failed to import: {explained(error)}; fix it, or install what it needs.")
