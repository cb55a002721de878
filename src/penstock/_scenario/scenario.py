"""Scenarios: what a user writes, or means by naming an app, as a value.

Scenarios: a controller, a network around it, what may fail, and what must hold.

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

The scenario that somebody means who names a file or a module.

A `.toml` file is a scenario.  An app, by its `.py` file or its module's name, is put into a small network in
which hosts send whatever makes a difference to it, and what can go wrong with any controller is looked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar

from msgspec import Meta

from penstock._base.files import absolute
from penstock._base.reading import Source, read_toml, telling_lines
from penstock._base.text import meant_instead
from penstock._base.typed import (
    Checked,
    Flag,
    Place,
    Table,
    about,
    concerning,
    fit,
    made_from,
    plain,
    refuse_unknown,
)
from penstock._base.users_code import explained
from penstock._controllers.controller import Controller
from penstock._properties.base import Property
from penstock._scenario.options import (
    Apps,
    Command,
    FuzzOptions,
    Limits,
    MininetFile,
    NativeProgram,
    SymbolicOptions,
    VerifyOptions,
    command_of,
)
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


PROOF_SECONDS: Final = 300.0
"""How long a proof may take where the user says neither how long nor how large."""

EVERY: Final = "check walk packets step verify fuzz"
"""The commands that build the network of a scenario."""

_WAYS: Final[Mapping[str, type[Checked]]] = {"apps": Apps, "native": NativeProgram, "cmd": Command}
"""How a controller may be given, and what holds its table then."""

SECTIONS: Final[Mapping[str, type[Checked]]] = {
    "switches": SwitchOptions,
    "faults": Faults,
    "symbolic": SymbolicOptions,
    "search": Limits,
    "fuzz": FuzzOptions,
    "verify": VerifyOptions,
}
"""What holds the tables of a scenario that are options of something."""

READ_BY: Final[Mapping[str, Sequence[str]]] = {
    "check": ["search"],
    "walk": ["search"],
    "verify": ["verify", "search"],
    "fuzz": ["fuzz"],
}
"""The tables whose fields a command, or the function of that name, takes as its own."""


@dataclass(frozen=True)
class Scenario(Checked):
    """All that a check needs to know.

    In Python, `controller` may also be a component or a native `Controller`, a host a class or what
    makes one, a property an object, the topology a `Topology`.
    """

    SECTION: ClassVar[str] = "the scenario"

    source: ClassVar[Source | None] = None
    """The file that it was read from, to tell lines; no field, for it says nothing of the scenario."""

    controller: Table | Component | Controller = field(default_factory=dict)
    """The program under test: `apps` (os-ken or Ryu), `native`, or `cmd` (for `penstock fuzz`)."""
    topology: Annotated[
        str | Table | Topology,
        Meta(examples=['"linear,2" or {mininet = "file.py"}']),
        Flag("--topo", EVERY, metavar="SHAPE"),
    ] = "single,2"
    """The network, a shape as for Mininet: `linear,3`, `tree,2,2`.  Or `{mininet = "x.py", name = "x"}`."""
    hosts: Mapping[str, Table | HostMaker] = field(default_factory=dict)
    """What each host does, by name: its `kind` and that kind's options; without any, hosts find out what to
    send."""
    properties: Annotated[Sequence[str | Table | Property], Flag("--property -p", "check walk step")] = (
        DEFAULT_PROPERTIES
    )
    """What must hold, by name or as `file.py:Object`.  Or tables with `name` and options."""
    openflow: Annotated[Literal["1.0", "1.3"] | None, Flag("--openflow", EVERY)] = None
    """The version of OpenFlow that is spoken; by default the newest that the controller says it speaks."""
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
            sentence = f"invalid scenario name {self.name!r}: use letters, digits, - and _."
            raise about(["name"], sentence)
        if self.controller and self.controllers:
            sentence = "The scenario has both [controller] and [controllers]: keep one of them."
            raise about(["controllers"], sentence)
        for where, given in (("controller", self.controller), *self._named_controllers()):
            if isinstance(given, Mapping):
                _check_controller(given, where)
        if "version" in self.switches:
            sentence = (
                'version does not belong in [switches]: write openflow = "1.0" or "1.3" in the scenario.'
            )
            raise about(["switches", "version"], sentence)
        # What one command has no use for is wrong all the same if another would refuse it.
        for section, kind in SECTIONS.items():
            with concerning(section):
                made_from(kind, getattr(self, section), section)
        if isinstance(self.topology, Mapping):
            made_from(MininetFile, self.topology, "topology")

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

    def limits_of_proof(self) -> Limits:
        """Return how a proof goes about; one of a program that counts would never end by itself."""
        limits = self.limits()
        given = limits.states or limits.seconds or limits.memory_mb
        return limits if given else replace(limits, seconds=PROOF_SECONDS)

    def fuzzing(self) -> FuzzOptions:
        """Return how a fuzzing run goes about."""
        return made_from(FuzzOptions, self.fuzz, "fuzz")

    def fitted(self, build: Callable[[], T]) -> T:
        """Return what is built from the scenario; what does not fit together is said in one sentence."""
        try:
            with telling_lines(self.source):
                return build()
        except (PenstockError, ComponentRaised):
            raise
        except Exception as error:
            # Code of the user's that is part of a network, or a value which nothing before noticed.
            raise PenstockError(f"The scenario {self.name} cannot be built: {explained(error)}.") from error

    def table(self) -> dict[str, Any]:
        """Return the scenario as plain data; what was given as Python objects is named, not kept."""
        found = {item.name: plain(getattr(self, item.name)) for item in fields(self) if item.name != "folder"}
        table = {key: value for key, value in found.items() if value not in ({}, [], (), None)}
        # Properties that nobody gave are not the same as the same ones given, and none on purpose is neither.
        table.pop("properties", None)
        if self.properties is not DEFAULT_PROPERTIES:
            table["properties"] = found["properties"]
        return table


def with_fields(scenario: Scenario, command: str, given: Mapping[str, Any]) -> Scenario:
    """Return a scenario with other fields, as a command or the function of that name is given them.

    The fields of the tables that it reads count as the scenario's own, and come before these: `properties`
    of `verify` are those of `[verify]`.
    """
    left, changed = dict(given), dict[str, Any]()
    tables = {name: list(signature(SECTIONS[name]).parameters) for name in READ_BY.get(command, ())}
    if command == "fuzz" and left.get("seconds") is not None:
        # A run that is given a time takes all of it.
        left.setdefault("events", None)
    for table, names in tables.items():
        if known := [name for name in names if name in left]:
            before = left.pop(table, getattr(scenario, table))
            changed[table] = {**before, **{name: left.pop(name) for name in known}}
    own = [item.name for item in fields(Scenario)]
    changed |= {name: left.pop(name) for name in own if name in left}
    if left:
        near = meant_instead(next(iter(left)), chain(own, *tables.values()))
        raise PenstockError(
            f"{', '.join(map(repr, left))} is no field of a scenario, nor of {' or '.join(tables)}"
            f"{'.' if near is None else f': did you mean {near!r}?'}"
        )
    source = scenario.source
    if source is not None:
        source = source._replace(given_since=source.given_since.union(changed))
    return _read_from(source, replace(scenario, **changed))


def _check_controller(controller: Table, where: str) -> None:
    """Refuse a controller that is given in two ways, in none that is spelt right, or with a wrong value."""
    ways = [way for way in _WAYS if way in controller]
    if len(ways) > 1:
        sentence = f"[{where}] has both {ways[0]} and {ways[1]}: keep one of them."
        raise about((*where.split("."), ways[1]), sentence)
    for key in () if ways else controller:
        if (way := meant_instead(key, _WAYS)) is not None:
            sentence = f"unknown key {key!r} in [{where}]: did you mean {way!r}?"
            raise about((*where.split("."), key), sentence)
    for way in ways:
        with concerning(*where.split("."), way):
            command_of(controller, where) if way == "cmd" else made_from(_WAYS[way], controller, where)


def load_scenario(path: Path) -> Scenario:
    """Read a scenario file."""
    text, table = read_toml(path)
    source = Source(path, text)
    with telling_lines(source):
        folder = absolute(path).parent / _folder_in(table)
        return _read_from(source, scenario_of({"name": path.stem, **table}, folder))


def _read_from(source: Source | None, scenario: Scenario) -> Scenario:
    """Return a scenario that knows its file."""
    object.__setattr__(scenario, "source", source)
    return scenario


def _folder_in(table: dict[str, Any]) -> str:
    """Take out of a table where the files are that it names, seen from its own; mostly they are beside it."""
    folder = table.pop("folder", "")
    return str(fit(folder, Annotated[Path, Meta(examples=['".."'])], Place("folder", Scenario.SECTION)))


def scenario_of(table: dict[str, Any], folder: Path) -> Scenario:
    """Return the scenario that the user's own plain data describe; that of a trace is `consent.runnable`."""
    if not isinstance(table, dict):
        raise TypeError("Building a trace's scenario needs a Consent: see penstock._trace.consent.")
    known = [item.name for item in fields(Scenario) if item.name != "folder"]
    for key in (key for key in table if key not in known):
        if homes := [f"[{name}]" for name, kind in SECTIONS.items() if key in signature(kind).parameters]:
            raise about(
                [key], (f"The key {key!r} belongs in {' or '.join(homes)}, not at the top of the scenario.")
            )
    refuse_unknown(table, known, "the scenario")
    return Scenario(**table, folder=folder)


def scenario_at(path: Path) -> Scenario:
    """Return the scenario of a file: a TOML scenario, or an app put into a small network."""
    if path.suffix == ".toml":
        return load_scenario(path)
    if path.suffix == ".py" or (not path.exists() and "." in path.name and path.name == str(path)):
        return _around(path)
    raise PenstockError(
        f"{path} is not a scenario: give a .toml file, an app's .py file or its module's name."
    )


def _around(app: Path) -> Scenario:
    """Return a scenario around an app: two switches, and hosts that send whatever makes a difference."""
    if app.suffix == ".py" and not app.is_file():
        raise PenstockError(f"There is no file {app}: check the path of the app.")
    file = app.suffix == ".py"
    return Scenario(
        name=app.stem if file else app.name.rpartition(".")[2],
        controller={"apps": [app.name if file else str(app)]},
        topology="linear,2",
        folder=absolute(app.parent if file else Path()),
    )
