"""What a campaign runs, and for how long: the fields of a list, which a folder has by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, get_args

from msgspec import Meta

from penstock._base.reading import Source, read_toml, telling_lines
from penstock._base.typed import Checked, Seconds, Table, made_from, refuse_unknown
from penstock._scenario.scenario import Scenario
from penstock.errors import PenstockError

Engine = Literal["check", "verify", "fuzz"]
ENGINES: Final[tuple[Engine, ...]] = get_args(Engine)


@dataclass(frozen=True, slots=True)
class CampaignOptions(Checked):
    """What is run: every app and scenario, in every configuration, on every topology, by every engine."""

    SECTION: ClassVar[str] = "the campaign"

    apps: Annotated[Sequence[str], Meta(examples=['["apps/*.py", "scenarios/*.toml"]'])] = ()
    """Scenarios and apps, by path or by pattern, seen from the list; `**` stands for any folders."""
    leave_out: Sequence[str] = ()
    """Patterns of paths that are not run."""
    engines: Sequence[Engine] = ENGINES
    """What runs them."""
    topologies: Annotated[Sequence[str], Meta(examples=['["linear,2", "ring,3"]'])] = ()
    """The networks of apps, and of scenarios that name none; by default the usual one."""
    seeds: Sequence[int] = ()
    """The seeds of fuzzing, a run each; by default that of the scenario."""
    configs: Mapping[str, Table] = field(default_factory=dict)
    """Changes of scenarios by name, each a table of their fields; what is run is run with each."""
    seconds: Seconds = 30
    """How long an engine may take for a job, and as long again to make small what it finds."""
    jobs: Annotated[int, Meta(ge=1, le=256)] | None = None
    """How many jobs are done side by side; by default as many as there are processors."""

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        known = [item.name for item in fields(Scenario) if item.name not in ("name", "folder")]
        for name, config in self.configs.items():
            refuse_unknown(config, known, f"[configs.{name}]")
        if not self.engines:
            raise PenstockError(f"engines = [] leaves nothing to do: name some of {', '.join(ENGINES)}.")


def load_list(path: Path) -> CampaignOptions:
    """Read a list."""
    text, table = read_toml(path)
    if "controller" in table or "controllers" in table:
        raise PenstockError(
            f"{path.name} is a scenario and no list of them: name it in a list's apps, or give its folder."
        )
    with telling_lines(Source(path, text)):
        listed = made_from(CampaignOptions, table, path.name)
    if not listed.apps:
        raise PenstockError(f'{path.name} names nothing to run: give it apps = ["apps/*.py"].')
    return listed
