"""Properties by name, as scenario files and the command line give them.

A name is one of the library's (`NoBlackHoles`), or `file.py:Object` for one of a user's own: a
subclass of `Property`, a property made by `@invariant` or `@at_rest`, or a plain function.  With
options it is a table, as in `{name = "FlowAffinity", replicas = ["h2", "h3"]}`; the options are the
parameters of the class, and one that has to be a function is given as `file.py:name` too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, Final

from penstock._base.loading import load_object
from penstock._base.suggesting import hint
from penstock._base.tables import fitted
from penstock._properties.affinity import FlowAffinity
from penstock._properties.ambiguous import NoAmbiguousRules
from penstock._properties.base import Property, PropertyFault
from penstock._properties.black_holes import NoBlackHoles
from penstock._properties.buffers import NoForgottenPackets
from penstock._properties.controllers import ControllerCrash, ControllerHang
from penstock._properties.functions import from_function
from penstock._properties.loops import NoForwardingLoops
from penstock._properties.moving_hosts import NoBlackHolesMobile
from penstock._properties.paths import DirectPaths, StrictDirectPaths
from penstock._properties.routing import UseCorrectRoutingTable
from penstock.errors import PenstockError

PROPERTIES: Final[Mapping[str, type[Property]]] = {
    kind.__name__: kind
    for kind in (
        NoForwardingLoops,
        NoBlackHoles,
        NoBlackHolesMobile,
        NoAmbiguousRules,
        DirectPaths,
        StrictDirectPaths,
        NoForgottenPackets,
        FlowAffinity,
        UseCorrectRoutingTable,
        ControllerCrash,
        ControllerHang,
    )
}

_IN_FILE: Final = ".py:"


def property_named(name: str, options: Mapping[str, Any] | None = None, folder: Path = Path()) -> Property:
    """Return the property of a name, made with these options; files are looked for in `folder`."""
    found: object = load_object(name, folder, "property") if ":" in name else PROPERTIES.get(name)
    if isinstance(found, type) and issubclass(found, Property):
        return _made(name, found, options or {}, folder)
    if isinstance(found, Property | FunctionType):
        if options:
            raise PenstockError(f"The property {name} takes no options: leave out {', '.join(options)}.")
        return found if isinstance(found, Property) else from_function(found)
    if found is not None:
        raise PenstockError(f"{name} is no property: name a subclass of Property or a function.")
    otherwise = f"use one of {', '.join(PROPERTIES)}, or file.py:Name."
    raise PenstockError(f"There is no property {name!r}: {hint(name, PROPERTIES, otherwise)}")


def _made(name: str, kind: type[Property], options: Mapping[str, Any], folder: Path) -> Property:
    found = {option: _value(name, value, folder) for option, value in options.items()}
    given = fitted(kind, found, f"the property {name}")
    try:
        return kind(**given)
    except PenstockError:
        raise
    except Exception as error:
        raise PropertyFault(name, "__init__", error) from error


def _value(name: str, value: Any, folder: Path) -> Any:
    """Return the value of an option; one that names something in a file is that."""
    if isinstance(value, str) and _IN_FILE in value:
        return load_object(value, folder, f"function for {name}")
    return value
