"""STS's Table 6.1: bugs found by fuzzing and minimised, each beside the paper's figures.

    python -m bench.sts_cases [--only CASE] [--live [--tries N]] [--json | --markdown PAGE]

Each case is a scenario in examples/sts with an app that has the bug.  It is fuzzed by the seed written in
it until the first violation that lasts; then that run is minimised.  `inputs` are those of the run, waits and
looks at the invariants apart; `size` counts all of the minimal sequence, of whatever kind.  `seconds` is how
long it took to minimise, and `cpu_seconds` how long the processor worked for it.

With `--live` five of the cases are run against real processes over TCP instead.  A minimal sequence is then
played once more, with all distances in time and all patience, and must show the violation again
(`is_confirmed`).

Two more things are tried on virtual time: that the violation does not come with any one of the minimal
inputs left out (`is_minimal`), and that the app without its bug, whose option is `mended`, has no violation
when the same seed fuzzes it for as long (`is_clean`).

The paper gives no time for two of the cases, and could not replay the delicate timer interleaving at all.
"""

from __future__ import annotations

import asyncio
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.nice_search import Rows, options_of, publish
from bench.separately import separately
from penstock._fuzz.fuzzing import Fuzzing, Report, fuzz, with_options
from penstock._fuzz.inputs import Check, Wait
from penstock._fuzz.invariants import invariants_of
from penstock._fuzz.summary import lasting
from penstock._minimize.ddmin import Minimal, is_confirmed, minimise
from penstock._replay.recording import Recording, load_script
from penstock._replay.replaying import reproducer_of
from penstock._scenario.scenario import Scenario, load_scenario
from penstock.errors import PenstockError

NAME: Final = "sts_cases"
EXAMPLES: Final = Path(__file__).parents[1] / "examples" / "sts"
MOST_SECONDS: Final = 60.0
"""How long it may take to minimise a run on virtual time."""
LIVE_TRIES: Final = 2
"""How often a sequence is tried against real processes before it counts as one that does not reproduce."""


@dataclass(frozen=True, slots=True)
class Case:
    """A row of the paper's table: its bug, our scenario, and what STS made of it."""

    title: str
    inputs: int
    size: int
    seconds: float | None
    is_wide: bool = False
    """Whether any violation of the same invariant is the same: where its message names one packet of many."""


CASES: Final[Mapping[str, Case]] = {
    "loop_after_recovery": Case("Pyretic loop", 36, 2, 266.2),
    "premature_packet_in": Case("POX premature PacketIn", 102, 2, 249.1),
    "in_flight_black_hole": Case("POX in-flight blackhole", 46, 7, 641.1),
    "migration_black_hole": Case("POX migration blackhole", 29, 3, 1796.0),
    "discovery_loop": Case("NOX discovery loop", 150, 18, 4990.9),
    "failover": Case("Floodlight failover bug", 202, 2, None),
    "master_election": Case("ONOS master election", 30, 3, 6325.2),
    "balancer_errors": Case("POX load balancer error checking", 106, 24, 2396.7, is_wide=True),
    "rare_path": Case("Null pointer on rarely used codepath", 62, 2, 157.4),
    "overlapping_entries": Case("Overlapping flow entries", 27, 2, 115.4),
    "timer_interleaving": Case("Delicate timer interleaving", 39, 39, None),
    "wrong_algorithm": Case("Algorithm misimplementation", 40, 7, 525.2),
    "thread_race": Case("Multithreaded race condition", 1596, 2, 36967.5),
    "memory_leak": Case("Memory leak", 719, 30, 15022.6),
    "memory_corruption": Case("Memory corruption", 341, 2, 145.7),
}

LIVE: Final[Mapping[str, Mapping[str, Any]]] = {
    "loop_after_recovery": {},
    "migration_black_hole": {"rates": {"migration": 0.1}},
    "master_election": {"interval_ms": 100},
    "overlapping_entries": {"rates": {"broadcast": 1.0}},
    "memory_corruption": {"invariants": ["ControllerLiveness"]},
}
"""The cases that are also run against real processes, and what differs in their `[fuzz]` then.

Real time passes while they run, so what takes long on a clock of its own is made to come sooner.  Where a
handler raises in process, the process ends.

The in-flight black hole is not among them.  Where its run has a packet flooded over the link that nobody has
found, the copies come up in two sessions at once, and which of them the process takes last decides where a
host is believed to be.  Replays of the whole run lose that race differently.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A case as it was measured, beside the paper's figures."""

    case: str
    controller: str
    mode: str
    inputs: int
    size: int
    replays: int
    seconds: float
    cpu_seconds: float
    paper_inputs: int
    paper_size: int
    paper_seconds: float | None
    message: str
    sequence: tuple[str, ...]
    is_minimal: bool | None = None
    is_clean: bool | None = None
    is_confirmed: bool | None = None


VIRTUAL, OVER_TCP = "virtual", "live"
"""Whether controllers run in process on virtual time, or as processes of their own."""


def scenario_of(case: str, *, mended: bool = False) -> Scenario:
    """Return the scenario of a case, with its bug or without."""
    scenario = load_scenario(EXAMPLES / f"{case}.toml")
    if not mended:
        return scenario
    return _with_controllers(
        scenario, lambda _, table: {**table, "options": {**_options(table), "mended": True}}
    )


def live_scenario(case: str, first_port: int = 16653) -> Scenario:
    """Return the scenario of a case with each controller a process of its own."""

    def launched(number: int, table: Mapping[str, Any]) -> dict[str, Any]:
        options = [word for key, value in _options(table).items() for word in (f"--{key}", str(value))]
        apps = [str(app).partition(":")[0] for app in table["apps"]]
        words = [sys.executable, "-m", "penstock.launch", "--end-on-error", *apps, *options]
        return {"cmd": f"{shlex.join(words)} --port {{port}}", "port": first_port + number}

    scenario = _with_controllers(scenario_of(case), launched)
    changes = {**LIVE[case], "rates": {**scenario.fuzz["rates"], **LIVE[case].get("rates", {})}}
    return with_options(replace(scenario, name=f"{scenario.name}-live"), **changes)


def _with_controllers(scenario: Scenario, change: Callable[[int, Any], dict[str, Any]]) -> Scenario:
    """Return a scenario with each controller's table changed; the function gets its number too."""
    if scenario.controllers:
        tables = {name: change(n, table) for n, (name, table) in enumerate(scenario.controllers.items())}
        return replace(scenario, controllers=tables)
    return replace(scenario, controller=change(0, scenario.controller))


def _options(table: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = table.get("options", {})
    return found


def fuzzed(scenario: Scenario, folder: Path) -> Report:
    """Fuzz a scenario until the first violation that lasts."""

    def progress(fuzzing: Fuzzing) -> None:
        fuzzing.stopping = any(found.finding.persistent for found in fuzzing.outcome.violations)

    async def conduct(fuzzing: Fuzzing) -> None:
        await fuzzing.run(progress)

    return asyncio.run(fuzz(scenario, folder, invariants=invariants_of, conduct=conduct))


def given_inputs(script: Recording) -> int:
    """Return how many inputs of a run did something to the network."""
    return sum(not isinstance(cue.what, Wait | Check) for cue in script.inputs)


def minimised(case: str, report: Report, *, tries: int = 1) -> tuple[Recording, Minimal]:
    """Minimise a run of a case."""
    script = load_script(report.folder)
    reproducer = reproducer_of(script, wide=CASES[case].is_wide)
    return script, minimise(script, reproducer, tries=tries)


def is_minimal(case: str, minimal: Minimal) -> bool:
    """Tell whether all inputs lead to the violation, and none can be left out."""
    reproducer = reproducer_of(minimal.script, wide=CASES[case].is_wide)
    without = (minimal.inputs[:n] + minimal.inputs[n + 1 :] for n in range(minimal.size))
    return reproducer.run(minimal.inputs).reproduced and not any(
        reproducer.run(less).reproduced for less in without
    )


def is_clean(case: str, inputs: int, folder: Path) -> bool:
    """Tell whether the app without the bug is fuzzed by the same seed for as long and nothing is found."""
    report = fuzzed(with_options(scenario_of(case, mended=True), events=inputs), folder)
    return report.outcome.inputs >= inputs and not lasting(report)


def measure(case: str, *, tries: int | None = None) -> Row:
    """Fuzz a case, minimise what was found, and put it beside the paper's figures.

    With a number of tries, the controllers are real processes.
    """
    live = tries is not None
    scenario = live_scenario(case) if live else scenario_of(case)
    with TemporaryDirectory() as name:
        folder = Path(name)
        report = fuzzed(scenario, folder)
        began, worked = time.perf_counter(), time.process_time()
        script, minimal = minimised(case, report, tries=tries or 1)
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - worked
        paper = CASES[case]
        return Row(
            case,
            _apps(scenario_of(case)),
            OVER_TCP if live else VIRTUAL,
            given_inputs(script),
            minimal.size,
            minimal.replays,
            round(seconds, 2),
            round(cpu_seconds, 2),
            paper.inputs,
            paper.size,
            paper.seconds,
            minimal.message,
            tuple(map(str, minimal.inputs)),
            None if live else is_minimal(case, minimal),
            None if live else is_clean(case, report.outcome.inputs, folder),
            is_confirmed(minimal, reproducer_of(minimal.script, wide=paper.is_wide)) if live else None,
        )


def measured(cases: Sequence[str], tries: int | None) -> tuple[list[Row], list[str]]:
    """Measure cases, each in a process of its own; return their rows, and why there is none of others."""
    rows: list[Row] = []
    amiss: list[str] = []
    for case in cases:
        try:
            rows.append(separately(measure, case, tries=tries))
        except PenstockError as error:
            amiss.append(f"{case}: {error}")
    return rows, amiss


def _apps(scenario: Scenario) -> str:
    """Return what the controllers run."""
    tables: list[Any] = list(scenario.controllers.values()) or [scenario.controller]
    number = f"{len(tables)} × " if len(tables) > 1 else ""
    return number + " + ".join(map(str, tables[0]["apps"]))


def faults(rows: Sequence[Row]) -> Iterator[str]:
    """Say in sentences what is not as it must be."""
    for row in rows:
        told = f"{row.case} ({row.mode})"
        if row.size > row.paper_size:
            yield f"{told}: {row.size} inputs are more than the paper's {row.paper_size}."
        if row.inputs < row.paper_inputs:
            yield f"{told}: the run has {row.inputs} inputs, fewer than the paper's {row.paper_inputs}."
        if row.mode == OVER_TCP:
            if not row.is_confirmed:
                yield f"{told}: what is left does not lead to the violation when it is played once more."
            continue
        if row.seconds >= MOST_SECONDS:
            yield (
                f"{told}: it took {row.seconds} s to minimise ({row.cpu_seconds} s on the processor), "
                f"and {MOST_SECONDS:g} s is too long."
            )
        if not row.is_minimal:
            yield f"{told}: one of the inputs that are left can be left out too."
        if not row.is_clean:
            yield f"{told}: without the bug there is a violation all the same."


HEADINGS: Final = (
    "case",
    "mode",
    "inputs",
    "size",
    "replays",
    "seconds",
    "on the processor",
    "paper: inputs",
    "size",
    "seconds",
)


def table(rows: Sequence[Row]) -> Rows:
    """Return the figures as people read them."""
    return [
        HEADINGS,
        *(
            [
                CASES[row.case].title,
                row.mode,
                f"{row.inputs:,}",
                str(row.size),
                str(row.replays),
                f"{row.seconds:.2f}",
                f"{row.cpu_seconds:.2f}",
                f"{row.paper_inputs:,}",
                str(row.paper_size),
                "-" if row.paper_seconds is None else f"{row.paper_seconds:,.1f}",
            ]
            for row in rows
        ),
    ]


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = options_of(NAME, __doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(CASES), help="one case only")
    parser.add_argument("--live", action="store_true", help="five cases against real processes")
    parser.add_argument("--tries", type=int, default=LIVE_TRIES, help="replays of each sequence with --live")
    options = parser.parse_args(arguments)
    if options.tries < 1:
        parser.error("each sequence is tried at least once")
    if options.live and options.only and options.only not in LIVE:
        parser.error(f"{options.only} is not among the live cases: choose {', '.join(LIVE)}")
    cases = [options.only] if options.only else list(LIVE if options.live else CASES)
    rows, amiss = measured(cases, options.tries if options.live else None)
    figures = {"rows": [asdict(row) for row in rows]}
    return publish(
        options, NAME, figures, {"Bugs of Table 6.1, minimised:": table(rows)}, (*amiss, *faults(rows))
    )


if __name__ == "__main__":
    sys.exit(main())
