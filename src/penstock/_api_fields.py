"""The names that the functions of `api` take: those of a scenario, one to one.

Every field of `Scenario` is a keyword of each function.  The fields of the table that a function reads
(`[search]`, `[verify]`, `[fuzz]`) are keywords of that function too: `check("app.py", seconds=10)` says the
same as `seconds = 10` below `[search]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from penstock._base.tables import Table
from penstock._controllers.controller import Controller
from penstock._properties.base import Property
from penstock._scenario.verify_options import Method
from penstock._world.component import Component
from penstock._world.hosts import HostMaker
from penstock._world.topology import Topology


class ScenarioFields(TypedDict, total=False):
    """The fields of a scenario."""

    controller: Table | Component | Controller
    topology: str | Table | Topology
    hosts: Mapping[str, Table | HostMaker]
    properties: Sequence[str | Table | Property]
    openflow: str
    switches: Table
    faults: Table
    symbolic: Table
    search: Table
    fuzz: Table
    verify: Table
    controllers: Mapping[str, Table | Component | Controller]
    name: str
    folder: Path


class CheckFields(ScenarioFields, total=False):
    """The fields of a scenario and those of its `[search]`."""

    order: Literal["breadth-first", "depth-first"]
    start: Literal["joined", "cold"]
    states: int | None
    depth: int | None
    seconds: float | None
    memory_mb: int | None
    all_violations: bool
    compact: bool
    strategies: Sequence[Any]
    reductions: Sequence[str]


class VerifyFields(ScenarioFields, total=False):
    """The fields of a scenario, those of its `[verify]`, and the bounds of its `[search]`."""

    mode: Method
    fair: bool
    timeouts: bool
    states: int | None
    seconds: float | None
    memory_mb: int | None


class FuzzFields(ScenarioFields, total=False):
    """The fields of a scenario and those of its `[fuzz]`."""

    seed: int
    events: int | None
    seconds: float | None
    interval_ms: int | None
    profile: str
    rates: Mapping[str, float]
    order: Literal["fifo", "random"]
    deliveries: int
    check_every: int
    persistent_ms: int
    settle_ms: int
    trace_mb: int
    invariants: Sequence[Any]
    policy: str | None
    after_crash: Literal["continue", "restart", "stop"]
    listen: Mapping[str, str]
    inputs: Sequence[str]
    masks: Sequence[str]
    error_patterns: Sequence[str]
    ignored_errors: Sequence[str]
