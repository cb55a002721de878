"""Scenarios: a controller, a network around it, what may fail, and what must hold.

A scenario is a TOML file or, with the same names, a `Scenario` in Python:

    topology = "linear,2"
    properties = ["NoForwardingLoops", "my_rules.py:NoTelnet"]

    [controller]
    apps = ["ryu.app.simple_switch_13"]

    [hosts.h1]
    kind = "ping"
    to = "h2"

    [faults]
    link_failures = 1

    [fuzz]
    profile = "links"
    events = 5000

For `penstock fuzz` a controller may also be a command, `cmd = "…"` with the `port` that it listens on,
and there may be several, `[controllers.c0]`, `[controllers.c1]`.

If no host is given a kind, nobody has said what traffic there is.  The hosts then send whatever the
controller would tell apart (see `_symbolic.discovery`); `[symbolic]` says how far that goes.

Names like `file.py:Object` are looked for beside the scenario.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar

from penstock._base.files import absolute
from penstock._base.suggesting import meant_instead
from penstock._base.tables import Table, made_from, plain, refuse_unknown
from penstock._base.typed import Checked, Place, Such, fit
from penstock._base.users_code import explained
from penstock._controllers.controller import Controller
from penstock._properties.base import Property
from penstock._scenario.fuzz_options import FuzzOptions
from penstock._scenario.search_options import Limits
from penstock._scenario.symbolic_options import SymbolicOptions
from penstock._scenario.verify_options import VerifyOptions
from penstock._world.component import Component
from penstock._world.faults import Faults
from penstock._world.hosts import HostMaker
from penstock._world.network import ComponentRaised
from penstock._world.switch import SwitchOptions
from penstock._world.topology import Topology
from penstock.errors import PenstockError

T = TypeVar("T")

DEFAULT_PROPERTIES: Final = (
    "NoForwardingLoops",
    "NoBlackHoles",
    "NoAmbiguousRules",
    "ControllerCrash",
    "ControllerHang",
)
"""What is looked for where nobody says what: what can go wrong with any controller."""


_WAYS: Final = ("apps", "native", "cmd")
"""How a controller may be given."""

_SECTIONS: Final[Mapping[str, type[Checked]]] = {
    "switches": SwitchOptions,
    "faults": Faults,
    "symbolic": SymbolicOptions,
    "search": Limits,
    "fuzz": FuzzOptions,
    "verify": VerifyOptions,
}
"""What holds the tables of a scenario that are options of something."""


@dataclass(frozen=True)
class Scenario(Checked):
    """All that a check needs to know.

    In Python, `controller` may also be a component or a native `Controller`, a host a class or what
    makes one, a property an object, the topology a `Topology`.
    """

    SECTION: ClassVar[str] = "the scenario"

    controller: Table | Component | Controller = field(default_factory=dict)
    """The program under test: `apps` (os-ken or Ryu), `native`, or `cmd` (for `penstock fuzz`)."""
    topology: Annotated[str | Table | Topology, Such('"linear,2" or {mininet = "file.py"}')] = "single,2"
    """The network: a shape's name as for Mininet, or `{mininet = "file.py", name = "topo"}`."""
    hosts: Mapping[str, Table | HostMaker] = field(default_factory=dict)
    """What each host does, by name: its `kind` and that kind's options; without any, hosts find out what to
    send."""
    properties: Sequence[str | Table | Property] = DEFAULT_PROPERTIES
    """What must hold: names of properties, `file.py:Object`, or tables with `name` and options."""
    openflow: Literal["1.0", "1.3"] | None = None
    """The version of OpenFlow that switches and controller speak; by default the newest that the controller
    says it speaks."""
    switches: Table = field(default_factory=dict)
    """How switches behave (see `[switches]`)."""
    faults: Table = field(default_factory=dict)
    """What may go wrong in a search, and how often (see `[faults]`)."""
    symbolic: Table = field(default_factory=dict)
    """How far to look for packets that make a difference (see `[symbolic]`)."""
    search: Table = field(default_factory=dict)
    """How `check` and `walk` go about (see `[search]`); the bounds hold for `verify` too."""
    fuzz: Table = field(default_factory=dict)
    """How `fuzz` goes about (see `[fuzz]`)."""
    verify: Table = field(default_factory=dict)
    """How `verify` goes about (see `[verify]`)."""
    controllers: Mapping[str, Table | Component | Controller] = field(default_factory=dict)
    """Several controllers by name, in place of the one."""
    name: str = "scenario"
    """What traces and results are called; by default the file's name."""
    folder: Path = Path()
    """Where the files are that the scenario names, seen from its own; by default beside it."""

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        if not re.fullmatch(r"[\w.-]{1,100}", self.name):
            raise PenstockError(
                f"The name {self.name!r} of the scenario is no file's: use letters, digits, - and _."
            )
        if self.controller and self.controllers:
            raise PenstockError("The scenario has both [controller] and [controllers]: keep one of them.")
        for where, given in (("controller", self.controller), *self._named_controllers()):
            if isinstance(given, Mapping):
                _refuse_ambiguous(given, where)
        if "version" in self.switches:
            raise PenstockError(
                'version in [switches] is for the scenario to say: openflow = "1.0" or "1.3".'
            )
        # What one command has no use for is wrong all the same if another would refuse it.
        for section, kind in _SECTIONS.items():
            made_from(kind, getattr(self, section), section)

    def _named_controllers(self) -> Iterator[tuple[str, Table | Component | Controller]]:
        for name, given in self.controllers.items():
            yield f"controllers.{name}", given

    def require_properties(self) -> None:
        """Refuse a scenario that says on purpose that nothing is to be checked."""
        if not self.properties:
            raise PenstockError(
                "properties = [] leaves nothing to check: name a property, or leave the line out for "
                f"{', '.join(DEFAULT_PROPERTIES)}."
            )

    def limits(self) -> Limits:
        """Return how the search goes about."""
        return made_from(Limits, self.search, "search")

    def fuzzing(self) -> FuzzOptions:
        """Return how a fuzzing run goes about."""
        return made_from(FuzzOptions, self.fuzz, "fuzz")

    def fitted(self, build: Callable[[], T]) -> T:
        """Return what is built from the scenario; what does not fit together is said in one sentence."""
        try:
            return build()
        except (PenstockError, ComponentRaised):
            raise
        except Exception as error:
            # Code of the user's that is part of a network, or a value which nothing before noticed.
            raise PenstockError(
                f"The scenario {self.name} does not fit together, because of {explained(error)}."
            ) from error

    def table(self) -> dict[str, Any]:
        """Return the scenario as plain data; what was given as Python objects is named, not kept."""
        found = {item.name: plain(getattr(self, item.name)) for item in fields(self) if item.name != "folder"}
        table = {key: value for key, value in found.items() if value not in ({}, [], (), None)}
        # Properties that nobody gave are not the same as the same ones given, and none on purpose is neither.
        table.pop("properties", None)
        if self.properties is not DEFAULT_PROPERTIES:
            table["properties"] = found["properties"]
        return table


def _refuse_ambiguous(controller: Table, where: str) -> None:
    """Refuse a controller that is given in two ways, or in none that is spelt right."""
    ways = [way for way in _WAYS if way in controller]
    if len(ways) > 1:
        raise PenstockError(f"[{where}] has both {ways[0]} and {ways[1]}: keep one of them.")
    for key in () if ways else controller:
        if (way := meant_instead(key, _WAYS)) is not None:
            raise PenstockError(f"The key {key!r} in [{where}] is unknown: did you mean {way!r}?")


def load_scenario(path: Path) -> Scenario:
    """Read a scenario file."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PenstockError(f"{path} cannot be read ({error.strerror}): check its path.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PenstockError(f"{path.name} is no TOML file: {error}.") from None
    folder = absolute(path).parent / _folder_in(table)
    return scenario_of({"name": path.stem, **table}, folder)


def _folder_in(table: dict[str, Any]) -> str:
    """Take out of a table where the files are that it names, seen from its own; mostly they are beside it."""
    folder = table.pop("folder", "")
    return str(fit(folder, Annotated[Path, Such('".."')], Place("folder", Scenario.SECTION)))


def scenario_of(table: dict[str, Any], folder: Path) -> Scenario:
    """Return the scenario that the user's own plain data describe; that of a trace is `consent.runnable`."""
    if not isinstance(table, dict):
        raise TypeError("A trace's scenario takes a consent to be built: see penstock._trace.consent.")
    known = [item.name for item in fields(Scenario) if item.name != "folder"]
    for key in (key for key in table if key not in known):
        if homes := [f"[{name}]" for name, kind in _SECTIONS.items() if key in signature(kind).parameters]:
            raise PenstockError(f"The key {key!r} of the scenario has its place in {' or '.join(homes)}.")
    refuse_unknown(table, known, "the scenario")
    return Scenario(**table, folder=folder)
