"""The one registry of properties: name, sentence, and which engines decide it, and how exactly.

A name is one of the library's (`NoBlackHoles`), one that an installed package registers (entry points of
the group `penstock.properties`), or `file.py:Object` for one of a user's own: a subclass of `Property`, a
property made by `@invariant` or `@at_rest`, or a plain function.  With options it is a table, as in
`{name = "FlowAffinity", replicas = ["h2", "h3"]}`; the options are the parameters of the class, and one that
has to be a function is given as `file.py:name` too.

The same name means the same in `check`, `verify`, `fuzz`, `step` and pytest.  Where an engine decides a
weaker form, `Entry.engines` says which, and so does its result.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, Final, NamedTuple

from penstock._base.text import hint
from penstock._base.typed import fit_options
from penstock._base.users_code import load_object, run_users
from penstock._properties.base import Property, PropertyFault, from_function
from penstock._properties.black_holes import NoBlackHoles, NoBlackHolesMobile
from penstock._properties.controllers import (
    ControllerCrash,
    ControllerHang,
    NoAmbiguousRules,
    NoForgottenPackets,
)
from penstock._properties.loops import NoForwardingLoops
from penstock._properties.paths import DirectPaths, FlowAffinity, StrictDirectPaths, UseCorrectRoutingTable
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
"""The properties that are judged along runs: by a search, and of the packets of a fuzzing run."""

ALIASES: Final[Mapping[str, str]] = {
    "LoopFreedom": "NoForwardingLoops",
    "NoLoops": "NoForwardingLoops",
    "BlackHoleFreedom": "NoBlackHoles",
}
"""What the papers, or earlier versions of Penstock, call a property."""

GROUP: Final = "penstock.properties"
"""The entry points by which installed packages register properties."""

CHECK: Final = "check"
VERIFY: Final = "verify"
FUZZ: Final = "fuzz"

_RUNS: Final = "exact, in every run of the search"
_TABLES: Final = (
    "of the tables after each input, for every packet that a host can send; persistent violations; "
    "where the scenario names it, of the packets that are sent too"
)
_SEEN: Final = "of what happens in the run"


class Entry(NamedTuple):
    """A property: its name, what it requires, and which engines decide it, each with how exactly."""

    name: str
    sentence: str
    engines: Mapping[str, str]


WEAKER: Final[Mapping[str, str]] = {
    "NoForwardingLoops": "no packet comes back to a switch that it has left; one that comes in twice without "
    "coming back, which check counts too, is no loop here",
}
"""What a proof decides of properties of which it decides a weaker form."""

_ENGINES: Final[Mapping[str, Mapping[str, str]]] = {
    "NoForwardingLoops": {CHECK: _RUNS, VERIFY: f"weaker: {WEAKER['NoForwardingLoops']}", FUZZ: _TABLES},
    "NoBlackHoles": {CHECK: _RUNS, FUZZ: f"{_TABLES}; of pairs of hosts that links connect"},
    "NoBlackHolesMobile": {CHECK: _RUNS, FUZZ: "of the packets that are sent"},
    "NoAmbiguousRules": {
        CHECK: _RUNS,
        VERIFY: "stronger: no two rules that the program ever installs, whatever the order",
        FUZZ: _TABLES,
    },
    "ControllerCrash": {CHECK: _RUNS, VERIFY: "exact", FUZZ: _SEEN},
    "ControllerHang": {CHECK: _RUNS, VERIFY: "exact", FUZZ: _SEEN},
    "AllPairsReachability": {FUZZ: f"{_TABLES}; pairs of hosts that links connect"},
    "Isolation": {FUZZ: _TABLES},
    "TablesAsOrdered": {FUZZ: "of the tables after each input; persistent violations"},
    "ControllerLiveness": {FUZZ: _SEEN},
    "ControllerErrors": {FUZZ: "of what controllers log while the run goes on"},
}
"""Which engines decide a property, and how exactly; others are judged along runs."""

_OF_RUNS: Final[Mapping[str, str]] = {CHECK: _RUNS, FUZZ: "of the packets that are sent"}

INVARIANTS: Final = (
    *("NoForwardingLoops", "NoBlackHoles", "NoAmbiguousRules", "TablesAsOrdered"),
    *("ControllerLiveness", "ControllerErrors", "AllPairsReachability", "Isolation"),
)
"""What a fuzzing run judges of tables and controllers after each input, and not along its packets."""

_SENTENCES: Final[Mapping[str, str]] = {
    "AllPairsReachability": "Every host reaches every other host that links connect it with.",
    "Isolation": "No packet gets from one group of hosts to another, as its rules say.",
    "TablesAsOrdered": "Switches have the rules that their controllers installed.",
    "ControllerLiveness": "Every controller runs and responds.",
    "ControllerErrors": "No controller logs an error or a traceback.",
}
"""What is demanded by properties that are no classes."""


def entries() -> Iterator[Entry]:
    """Yield all properties that have a name."""
    for name, kind in (*PROPERTIES.items(), *installed_properties().items()):
        sentence = getattr(kind, "sentence", "") or (inspect.getdoc(kind) or "").partition("\n")[0]
        yield Entry(name, str(sentence), _ENGINES.get(name, _OF_RUNS))
    for name, sentence in _SENTENCES.items():
        yield Entry(name, sentence, _ENGINES[name])


def canonical(name: str) -> str:
    """Return the one name of a property."""
    return ALIASES.get(name, name)


def is_invariant(given: object) -> bool:
    """Tell whether a fuzzing run judges what a scenario names of tables or controllers, after each input."""
    return isinstance(given, str) and canonical(given) in INVARIANTS


def is_followed(given: object) -> bool:
    """Tell whether a fuzzing run judges what a scenario names along its packets."""
    if isinstance(given, str):
        return not is_invariant(given) and (
            given in PROPERTIES or ":" in given or given in installed_properties()
        )
    return isinstance(given, Property)


@cache
def installed_properties() -> Mapping[str, Any]:
    """Return the properties of installed packages, by name."""
    from importlib.metadata import entry_points  # which is slow to import, and hardly ever asked

    found: dict[str, Any] = {}
    for each in entry_points(group=GROUP):
        if each.name not in PROPERTIES and each.name not in _SENTENCES:
            found[each.name] = run_users(f"The property {each.name} of {each.value}", each.load)
    return found


_IN_FILE: Final = ".py:"


def property_named(name: str, options: Mapping[str, Any] | None = None, folder: Path = Path()) -> Property:
    """Return the property of a name, made with these options; files are looked for in `folder`."""
    found: object = None
    if ":" in name:
        found = load_object(name, folder, "property")
    else:
        name = canonical(name)
        found = PROPERTIES.get(name) or installed_properties().get(name)
    if isinstance(found, type) and issubclass(found, Property):
        return _create(name, found, options or {}, folder)
    if isinstance(found, Property | FunctionType):
        if options:
            raise PenstockError(f"The property {name} takes no options: leave out {', '.join(options)}.")
        return found if isinstance(found, Property) else from_function(found)
    if found is not None:
        raise PenstockError(f"{name} is not a property: name a subclass of Property or a function.")
    if name in _SENTENCES:
        raise PenstockError(f"Only penstock fuzz checks {name}: name it in invariants of [fuzz].")
    known = (*PROPERTIES, *installed_properties())
    otherwise = f"use one of {', '.join(known)}, or file.py:Name."
    raise PenstockError(f"unknown property {name!r}: {hint(name, known, otherwise)}")


def _create(name: str, kind: type[Property], options: Mapping[str, Any], folder: Path) -> Property:
    found = {option: _value(name, value, folder) for option, value in options.items()}
    given = fit_options(kind, found, f"the property {name}")
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
