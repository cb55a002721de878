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
controller would tell apart (see `symbolic.discovery`); `[symbolic]` says how far that goes.

Names like `file.py:Object` are looked for beside the scenario.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from penstock.building import Building, Built
from penstock.controllers.native import Controller
from penstock.errors import PenstockError
from penstock.explore.reductions import NONE, REDUCTIONS
from penstock.explore.strategies.plan import Plan, plan_of
from penstock.fuzz.options import FuzzOptions
from penstock.properties.base import Property
from penstock.tables import Table, made_from, plain, refuse_unknown
from penstock.world.component import Component
from penstock.world.hosts import HostMaker
from penstock.world.topology import Topology

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """How a search goes about and where it stops."""

    order: Literal["breadth-first", "depth-first"] = "breadth-first"
    start: Literal["joined", "cold"] = "joined"
    states: int | None = None
    depth: int | None = None
    seconds: float | None = None
    memory_mb: int | None = None
    all_violations: bool = False
    compact: bool = False
    strategies: Sequence[Any] = ()
    """Names of strategies, or tables with a name and options (see `explore.strategies.plan`)."""
    reductions: Sequence[str] = ()
    """What there is beside sleep sets to search less without missing anything (see `explore.reductions`)."""

    def __post_init__(self) -> None:
        if self.order not in ("breadth-first", "depth-first"):
            raise PenstockError(f"order = {self.order!r} is unknown: use 'breadth-first' or 'depth-first'.")
        if self.start not in ("joined", "cold"):
            raise PenstockError(f"start = {self.start!r} is unknown: use 'joined' or 'cold'.")
        for name in ("all_violations", "compact"):
            if not isinstance(getattr(self, name), bool):
                raise PenstockError(f"{name} = {getattr(self, name)!r} is neither true nor false.")
        if isinstance(self.strategies, str) or not isinstance(self.strategies, Sequence):
            raise PenstockError(
                f'strategies = {self.strategies!r} is no list: write strategies = ["no-delay"] in [search].'
            )
        if isinstance(self.reductions, str) or not isinstance(self.reductions, Sequence):
            raise PenstockError(
                f'reductions = {self.reductions!r} is no list: write reductions = ["ample"] in [search].'
            )
        for name in self.reductions:
            if name not in (*REDUCTIONS, NONE):
                raise PenstockError(
                    f"There is no reduction {name!r}: the reductions are {', '.join(REDUCTIONS)}, or {NONE}."
                )
        if NONE in self.reductions and set(self.reductions) != {NONE}:
            raise PenstockError(f"The reduction {NONE!r} goes with no other: leave it out, or the others.")
        for name in ("states", "depth", "seconds", "memory_mb"):
            number = getattr(self, name)
            if number is not None and (type(number) not in (int, float) or not number > 0):
                raise PenstockError(f"A search cannot stop at {name} = {number!r}: give a number above 0.")


@dataclass(frozen=True)
class Scenario:
    """All that a check needs to know.

    In Python, `controller` may also be a component or a native `Controller`, a host a class or what
    makes one, a property an object, the topology a `Topology`.
    """

    controller: Table | Component | Controller = field(default_factory=dict)
    topology: str | Table | Topology = "single,2"
    hosts: Mapping[str, Table | HostMaker] = field(default_factory=dict)
    properties: Sequence[str | Table | Property] = ()
    openflow: str = "1.3"
    switches: Table = field(default_factory=dict)
    faults: Table = field(default_factory=dict)
    symbolic: Table = field(default_factory=dict)
    search: Table = field(default_factory=dict)
    fuzz: Table = field(default_factory=dict)
    verify: Table = field(default_factory=dict)
    controllers: Mapping[str, Table | Component | Controller] = field(default_factory=dict)
    """Several controllers by name, in place of the one."""
    name: str = "scenario"
    folder: Path = Path()

    def limits(self) -> Limits:
        """Return how the search goes about."""
        return made_from(Limits, self.search, "search")

    def plan(self) -> Plan:
        """Return the strategies of the search."""
        return plan_of(self.limits().strategies, self.folder)

    def build(self, *, asked: bool = False) -> Built:
        """Put the network together and bring it to where the search starts.

        With `asked`, the controller will be asked what it would do, whatever the hosts are.
        """
        return self.fitted(Building(self, asked=asked).built)

    def fuzzing(self) -> FuzzOptions:
        """Return how a fuzzing run goes about."""
        return made_from(FuzzOptions, self.fuzz, "fuzz")

    def fitted(self, build: Callable[[], T]) -> T:
        """Return what is built from the scenario; what does not fit together is said in one sentence."""
        try:
            return build()
        except (TypeError, ValueError, AttributeError, LookupError) as error:
            # A value of the wrong type, which nothing before noticed.
            raise PenstockError(
                f"The scenario {self.name} does not fit together, because of {type(error).__name__}: "
                f"{str(error).rstrip('.')}."
            ) from error

    def table(self) -> dict[str, Any]:
        """Return the scenario as plain data; what was given as Python objects is named, not kept."""
        found = {item.name: plain(getattr(self, item.name)) for item in fields(self) if item.name != "folder"}
        return {key: value for key, value in found.items() if value not in ({}, [], ())}


def load_scenario(path: Path) -> Scenario:
    """Read a scenario file."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PenstockError(f"{path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PenstockError(f"{path.name} is no TOML file: {error}.") from None
    folder = path.parent / _folder_in(table)
    return scenario_of({"name": path.stem, **table}, folder)


def _folder_in(table: dict[str, Any]) -> str:
    """Take out of a table where the files are that it names, seen from its own; mostly they are beside it."""
    folder = table.pop("folder", "")
    if not isinstance(folder, str):
        raise PenstockError(f'folder = {folder!r} in the scenario is no path: write folder = "..".')
    return folder


def scenario_of(table: Table, folder: Path) -> Scenario:
    """Return the scenario that plain data describes."""
    known = [item.name for item in fields(Scenario) if item.name != "folder"]
    refuse_unknown(table, known, "scenario")
    name = table.get("name", "scenario")
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]{1,100}", name):
        raise PenstockError(f"The name {name!r} of the scenario is no file's: use letters, digits, - and _.")
    for key in (
        "controller",
        "controllers",
        "hosts",
        "switches",
        "faults",
        "symbolic",
        "search",
        "fuzz",
        "verify",
    ):
        if key in table and not isinstance(table[key], Mapping):
            raise PenstockError(f"{key} in the scenario is no table: write it as [{key}].")
    for key in ("hosts", "controllers"):
        for name, given in table.get(key, {}).items():
            if not isinstance(given, Mapping):
                raise PenstockError(f"{key}.{name} in the scenario is no table: write it as [{key}.{name}].")
    if table.get("controller") and table.get("controllers"):
        raise PenstockError("The scenario has both [controller] and [controllers]: keep one of them.")
    if isinstance(table.get("properties", []), str):
        raise PenstockError('properties in the scenario is no list: write properties = ["NoBlackHoles"].')
    return Scenario(**table, folder=folder)
