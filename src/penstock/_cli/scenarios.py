"""What commands have in common: how a scenario is named and changed, and where results go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from penstock._base.suggesting import hint
from penstock._engine.building import plan
from penstock._scenario.around import scenario_at
from penstock._scenario.scenario import Scenario
from penstock._scenario.search_options import NONE, REDUCTIONS
from penstock.errors import PenstockError

if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:
    _Choice = click.Choice  # generic only in newer versions


class OneOf(_Choice):
    """One of some names; of one that is unknown it is said which was perhaps meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is unknown: {hint(value, self.choices)}", param, ctx)


_OPTIONS: Final = {
    "topo": click.option(
        "--topo", metavar="SHAPE", help="The topology, as for Mininet: linear,3 or tree,2,2."
    ),
    "custom": click.option(
        "--custom", metavar="FILE[:NAME]", help="A file with a Mininet Topo, as the topology."
    ),
    "openflow": click.option("--openflow", type=OneOf(["1.0", "1.3"]), help="The OpenFlow version."),
    "property": click.option(
        "--property", "-p", "properties", multiple=True, help="A property to check; repeatable."
    ),
    "ping": click.option(
        "--ping", metavar="A,B", multiple=True, help="Have A ping B; replaces the scenario's hosts."
    ),
    "order": click.option("--order", type=OneOf(["breadth-first", "depth-first"]), help="Order of search."),
    "strategy": click.option(
        "--strategy",
        "strategies",
        metavar="NAME[:OPTION=VALUE,…]",
        multiple=True,
        help="A way to search less or likelier places first, as no-delay; repeatable.",
    ),
    "reduction": click.option(
        "--reduction",
        "reductions",
        type=OneOf((*REDUCTIONS, NONE)),
        multiple=True,
        help="Beside sleep sets, a way to search less without missing anything; repeatable. "
        "With none, not even sleep sets.",
    ),
    "states": click.option("--states", type=click.IntRange(1), help="Stop after this many states."),
    "depth": click.option("--depth", type=click.IntRange(1), help="Go no deeper than this many steps."),
    "seconds": click.option(
        "--seconds", type=click.FloatRange(0, min_open=True), help="Stop after this time."
    ),
    "memory": click.option(
        "--memory", type=click.IntRange(1), metavar="MB", help="Stop at this much memory."
    ),
    "all": click.option("--all", "all_violations", is_flag=True, help="Go on after a violation, elsewhere."),
    "compact": click.option("--compact", is_flag=True, help="Remember states by 64-bit fingerprints."),
}
"""What a command line can say of a scenario; each command has those that it goes by."""

NETWORK: Final = ("topo", "custom", "openflow")
"""The options about the network, which every command goes by that builds one."""
WATCHED: Final = ("property", "ping")
BOUNDS: Final = ("states", "seconds", "memory")
SEARCH: Final = ("order", "strategy", "reduction", *BOUNDS, "depth", "all", "compact")
WALK: Final = ("strategy", "seconds", "memory", "all")
"""Walks remember no states, and `--longest` is their depth."""


def scenario_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command what it takes to name a scenario, and these options to change it."""

    def given(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed((*NETWORK, *names)):
            command = _OPTIONS[name](command)
        return click.argument("scenario", type=click.Path(path_type=Path))(command)

    return given


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Say where a command writes its traces, and whether it prints JSON."""
    options = [
        click.option(
            "--output",
            "-o",
            type=click.Path(path_type=Path),
            default=Path("penstock-traces"),
            show_default=True,
            help="Where traces are written.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def ci_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Have a command write what it found for a CI server."""
    for option in (
        click.option("--sarif", type=click.Path(path_type=Path), help="Also write findings as SARIF."),
        click.option("--junit", type=click.Path(path_type=Path), help="Also write results as JUnit XML."),
    ):
        command = option(command)
    return command


def scenario_from(path: Path, **options: Any) -> Scenario:
    """Return the scenario of a file or a module, with what the command line says."""
    chosen = _changed(scenario_at(path), **options)
    # Commands that do not search refuse what no search could go by, too.
    plan(chosen)
    return chosen


def _changed(scenario: Scenario, **options: Any) -> Scenario:
    """Return a scenario with what the command line says in place of what the file says."""
    changes: dict[str, Any] = {}
    if options.get("topo"):
        changes["topology"] = options["topo"]
    if options.get("custom"):
        file, _, name = options["custom"].partition(":")
        changes["topology"] = {"mininet": str(Path(file).resolve()), **({"name": name} if name else {})}
    if options.get("properties"):
        changes["properties"] = options["properties"]
    if options.get("openflow"):
        changes["openflow"] = options["openflow"]
    if options.get("ping"):
        pings = [_ping(text) for text in options["ping"]]
        if len({sender for sender, _ in pings}) < len(pings):
            raise PenstockError("A host pings one other: give --ping once for each sender.")
        changes["hosts"] = dict(pings)
    search = dict(scenario.search)
    names = {"memory": "memory_mb"}
    if options.get("strategies"):
        search["strategies"] = list(options["strategies"])
    if options.get("reductions"):
        search["reductions"] = list(options["reductions"])
    for key in ("order", "states", "depth", "seconds", "memory", "all_violations", "compact"):
        if options.get(key):
            search[names.get(key, key)] = options[key]
    return replace(scenario, search=search, **changes)


def _ping(text: str) -> tuple[str, dict[str, str]]:
    sender, comma, receiver = text.partition(",")
    if not comma or not sender or not receiver or sender == receiver:
        raise PenstockError(f"--ping {text!r} names no two hosts: write it as h1,h2.")
    return sender, {"kind": "ping", "to": receiver}
