"""The jobs of a campaign: each a scenario, an engine that runs it, and for fuzzing a seed.

A job has a key, a digest of all that its result depends on: the scenario with every change, the code that
it names (`_base.code_files`, as for traces), the engine, and the version of Penstock.  What was done under a
key need not be done again.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from penstock._base.code_files import digest_code
from penstock._base.files import absolute, nearest, open_to_read
from penstock._base.text import json_text
from penstock._base.version import VERSION
from penstock._campaign.options import CampaignOptions, Engine
from penstock._campaign.sources import LeftOut, Source, Sources
from penstock._scenario.scenario import Scenario, scenario_at
from penstock.errors import PenstockError


@dataclass(frozen=True, slots=True)
class Job:
    """One run of an engine."""

    app: str
    engine: Engine
    config: str
    topology: str
    """The network, where it is not the scenario's own."""
    seed: int | None
    key: str
    program: str
    """Which program is under test, however scenarios name it: bugs of one program are compared."""
    command: str = ""
    """What to type to have the same run, if that can be typed."""
    scenario: Scenario | None = None
    error: str = ""
    """Why there is no scenario."""

    @property
    def name(self) -> str:
        """What it is called, in this campaign and in the next."""
        seed = "" if self.seed is None else f"seed {self.seed}"
        return " · ".join(filter(None, (self.app, self.config, self.topology, self.engine, seed)))


@dataclass(frozen=True, slots=True)
class Plan:
    """All jobs of a campaign in their order, and what is left out."""

    what: str
    """The folder or the list."""
    where: str
    """The same, wherever it is seen from."""
    jobs: tuple[Job, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def digest(self) -> str:
        """A digest of all jobs: a campaign that was stopped goes on if this is the same."""
        return _digest([(job.name, job.key) for job in self.jobs])


@dataclass(frozen=True, slots=True)
class _Variant:
    """A source in one configuration, on one topology."""

    source: Source
    config: str
    topology: str
    scenario: Scenario | None
    error: str = ""


def plan_of(what: Path, folder: Path, options: CampaignOptions, sources: Sources) -> Plan:
    """Return the jobs of a campaign; `folder` is the one that names are seen from."""
    jobs: list[Job] = []
    left_out = [*sources.left_out]
    for source in sources.found:
        for variant in _variants(source, options):
            for engine in options.engines:
                if reason := _unfit(variant, engine):
                    left_out.append(LeftOut(f"{source.name} by {engine}", reason))
                else:
                    jobs += _jobs(variant, engine, options, folder)
    named = dict(zip((job.name for job in jobs), jobs, strict=True))
    if not named:
        raise PenstockError(
            f"There is nothing to run in {what}: no scenario (.toml with a [controller]), no os-ken or Ryu "
            "app and no native controller."
        )
    return Plan(nearest(what), str(absolute(what)), tuple(named.values()), tuple(dict.fromkeys(left_out)))


def _variants(source: Source, options: CampaignOptions) -> Iterator[_Variant]:
    try:
        scenario = _scenario_of(source)
    except PenstockError as error:
        yield _Variant(source, "", "", None, str(error))
        return
    topologies = () if source.has_topology else options.topologies
    for config in options.configs or [""]:
        for topology in topologies or [""]:
            changes = {**({"topology": topology} if topology else {}), **options.configs.get(config, {})}
            try:
                yield _Variant(source, config, topology, _changed(scenario, changes))
            except PenstockError as error:
                yield _Variant(source, config, topology, None, str(error))


def _scenario_of(source: Source) -> Scenario:
    if not source.native:
        return scenario_at(source.path)
    return Scenario(
        name=source.path.stem,
        controller={"native": f"{source.path.name}:{source.native}"},
        topology="linear,2",
        folder=absolute(source.path).parent,
    )


def _changed(scenario: Scenario, changes: Mapping[str, Any]) -> Scenario:
    """Return a scenario with fields changed; of its tables, those keys that the change has."""
    fields: dict[str, Any] = {}
    for name, value in changes.items():
        before = getattr(scenario, name)
        is_section = name != "controller" and isinstance(before, Mapping) and isinstance(value, Mapping)
        fields[name] = {**before, **value} if is_section else value
    return replace(scenario, **fields)


def _unfit(variant: _Variant, engine: Engine) -> str:
    """Return why an engine has no business with a scenario; empty if it has."""
    if variant.scenario is None or engine == "fuzz":
        return ""
    several = variant.scenario.controllers.values()
    is_process = any(
        "cmd" in each for each in (variant.scenario.controller, *several) if isinstance(each, Mapping)
    )
    return "its controller is a process of its own, which only fuzz runs" if is_process else ""


def _jobs(variant: _Variant, engine: Engine, options: CampaignOptions, folder: Path) -> Iterator[Job]:
    source, scenario = variant.source, variant.scenario
    if scenario is None:
        key = _digest([VERSION, source.name, engine, variant.error, _content(source.path)])
        yield Job(
            source.name, engine, variant.config, variant.topology, None, key, source.name, error=variant.error
        )
        return
    program = _program(scenario, folder)
    seeds: Sequence[int | None] = options.seeds if engine == "fuzz" else ()
    for seed in seeds or [None]:
        run = _bounded(scenario, engine, options.seconds, seed)
        table = run.table()
        key = _digest([VERSION, source.name, engine, table, digest_code(table, run.folder)])
        command = _command(variant, engine, seed, options.seconds)
        yield Job(source.name, engine, variant.config, variant.topology, seed, key, program, command, run)


def _bounded(scenario: Scenario, engine: Engine, seconds: float, seed: int | None) -> Scenario:
    """Return a scenario in which an engine takes no longer than that, or than the scenario says itself."""
    name = "fuzz" if engine == "fuzz" else "search"
    table = dict(getattr(scenario, name))
    table["seconds"] = min(seconds, table.get("seconds") or seconds)
    if seed is not None:
        table["seed"] = seed
    return _changed(scenario, {name: table})


def _program(scenario: Scenario, folder: Path) -> str:
    """Return the controllers of a scenario as a text, with the paths of files from the campaign's folder."""

    def placed(value: Any) -> Any:
        if isinstance(value, str):
            file, colon, rest = value.partition(":")
            path = scenario.folder / file
            if not file.endswith(".py") or not path.is_file():
                return value
            inside = path.resolve().is_relative_to(absolute(folder).resolve())
            place = path.resolve().relative_to(absolute(folder).resolve()) if inside else path.resolve()
            return f"{place}{colon}{rest}"
        if isinstance(value, Mapping):
            return {key: placed(each) for key, each in value.items()}
        return [placed(each) for each in value] if isinstance(value, list | tuple) else value

    table = scenario.table()
    return json_text(placed(table.get("controllers") or table.get("controller")), sort_keys=True)


def _command(variant: _Variant, engine: Engine, seed: int | None, seconds: float) -> str:
    if variant.config or variant.source.native:
        return ""
    path = variant.source.path
    words = ["penstock", engine, nearest(path) if path.suffix in (".py", ".toml") else str(path)]
    words += ["--topo", variant.topology] if variant.topology else []
    words += [] if seed is None else ["--seed", str(seed)]
    # Fuzzing with a time would leave its number of inputs out.
    words += [] if engine == "fuzz" else ["--seconds", f"{seconds:g}"]
    return shlex.join(words)


def _content(path: Path) -> str:
    digest = blake2b(digest_size=16)
    try:
        with open_to_read(path) as file:
            while part := file.read(1 << 20):
                digest.update(part)
    except (OSError, PenstockError):
        return ""
    return digest.hexdigest()


def _digest(value: Any) -> str:
    return blake2b(json_text(value, sort_keys=True).encode(), digest_size=16).hexdigest()
