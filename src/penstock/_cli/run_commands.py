"""`penstock fuzz`, `replay`, `minimize`: the commands that run a controller on what happens to a network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from penstock._base.files import RUNS
from penstock._cli.consenting import trust_option
from penstock._cli.options import (
    A_PATH,
    ci_options,
    json_option,
    output_option,
    trace_argument,
    with_options,
)
from penstock._cli.scenarios import scenario_from, scenario_options
from penstock._replay import EPSILON_MS
from penstock._scenario.scenario import Scenario
from penstock._worker.commands import run_contained
from penstock._worker.containment import Terminal
from penstock._worker.supervision import OutOfTime, Tell

_live_options: Final = with_options(
    click.option(
        "--tries",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        help=("With processes, how many times."),
    ),
    click.option(
        "--careful", is_flag=True, help="With processes, keep all recorded intervals and full time-outs."
    ),
    click.option(
        "--epsilon",
        type=click.IntRange(1),
        default=EPSILON_MS,
        show_default=True,
        metavar="MS",
        help="With processes, how much later than recorded an event may come.",
    ),
    click.option(
        "--wait-for",
        type=click.Choice(["data", "logs"]),
        multiple=True,
        help="With processes, wait for data packets or log lines too.",
    ),
    click.option(
        "--barriers",
        is_flag=True,
        help=("Stop a process that logs something earlier than recorded, until it is due."),
    ),
    click.option("--faketime", is_flag=True, help="Set the clocks of processes to the recorded time."),
)
"""The options of commands that replay real processes: what is waited for, and how long."""


@click.command(name="fuzz")
@scenario_options("fuzz")
@click.option("--all", "to_end", is_flag=True, help="Go on after a persistent violation.")
@click.option("--interactive", is_flag=True, help="Give the inputs from a console; Ctrl-C returns to it.")
@output_option("Where the run's folder is made.", RUNS)
@json_option
@ci_options
def fuzz_command(
    scenario: Path,
    output: Path,
    as_json: bool,
    junit: Path | None,
    sarif: Path | None,
    interactive: bool,
    to_end: bool,
    **options: Any,
) -> int:
    """Run a controller on a network in which things go wrong.

    SCENARIO is a .toml file, or an app: its .py file or module name.  With cmd in [controller] the
    controller is a real process, in whatever language.
    """
    from penstock._fuzz.fuzzing import has_processes

    chosen = scenario_from(scenario, "fuzz", **options)
    command = _Fuzz(chosen, output, as_json, junit, sarif, interactive, to_end)
    if has_processes(command.scenario):
        # The controller is in a process of its own already, and is watched there.
        return command.run()
    if interactive:
        # Nobody knows how long a person takes.
        return run_contained(command.run, terminal=Terminal.WHOLE)
    return run_contained(command.run, seconds=command.scenario.fuzzing().seconds)


@dataclass(frozen=True, slots=True)
class _Fuzz:
    """What `penstock fuzz` is to do."""

    scenario: Scenario
    output: Path
    as_json: bool
    junit: Path | None
    sarif: Path | None
    interactive: bool
    to_end: bool

    def run(self, tell: Tell = lambda _: None) -> int:
        """Fuzz, print what came of it, write what CI wants, and return the exit status."""
        from penstock._cli.fuzzing import run_fuzz
        from penstock._cli.output import conclude
        from penstock._engine.conclusion import conclusion_of
        from penstock._fuzz.invariants import invariant_names
        from penstock._fuzz.summary import lasting, next_steps_of, run_verdict
        from penstock._report.export.formats import held_by, write_ci_files

        report = run_fuzz(
            self.scenario,
            self.output,
            as_json=self.as_json,
            interactive=self.interactive,
            to_end=self.to_end,
            begun=tell,
            over=lambda: tell(OutOfTime()),
        )
        verdict, broken = run_verdict(report), [found.finding.invariant for found in lasting(report)]
        write_ci = partial(
            write_ci_files,
            junit=self.junit,
            sarif=self.sarif,
            name=self.scenario.name,
            traces=[report.trace] if broken else [],
            held=held_by(dict.fromkeys(invariant_names(report.scenario), int(verdict.judged)), broken),
            conclusion=conclusion_of(verdict, next_steps_of(report)),
            covered=report.trace,
            seconds=report.outcome.seconds,
        )
        return conclude(verdict, report.outcome.unwritten, write_ci)


@click.command()
@trace_argument
@_live_options
@trust_option
@json_option
def replay(trace: Path, tries: int, trust: bool, as_json: bool, **live: Any) -> int:
    """Run a trace again and compare, step by step.

    This runs the controller that the trace names, if it is the one that the trace was recorded with here;
    otherwise you are asked.  TRACE may be the folder of a run.
    """
    from penstock._cli.minimizing import run_replay

    return run_replay(trace, trust=trust, tries=tries, as_json=as_json, **live)


@click.command()
@trace_argument
@output_option("Where it is written; by default with the trace.")
@click.option("--shortest", is_flag=True, help="Search exhaustively for the shortest sequence.")
@click.option(
    "--invariant",
    "-i",
    help=("Which violation of the trace, by its line; by default the first persistent one."),
)
@click.option("--wide", is_flag=True, help="Accept any violation of the same invariant as the same.")
@click.option(
    "--workers", type=click.IntRange(1), default=1, show_default=True, help="How many replays at once."
)
@click.option(
    "--scheduler", metavar="ADDRESS", help="Replay on the Dask cluster that has its scheduler there."
)
@click.option("--peek", is_flag=True, help="Look ahead at each input for the events that will come of it.")
@_live_options
@trust_option
@json_option
def minimize(trace: Path, output: Path | None, as_json: bool, **options: Any) -> int:
    """Find the few inputs of a trace that lead to its violation.

    This runs the controller that the trace names, again and again, if it is the one that the trace was
    recorded with here; otherwise you are asked.  TRACE may be the folder of a run.  A minimisation that was
    stopped goes on where it was.
    """
    from penstock._cli.minimizing import run_minimize

    return run_minimize(trace, output, as_json=as_json, **options)


@click.command()
@click.argument("runs", nargs=-1, type=A_PATH)
@json_option
def bugs(runs: tuple[Path, ...], as_json: bool) -> int:
    """Tell which minimised runs show one bug: those whose minimal sequences are equal but for names.

    RUNS are folders of runs, or folders that have such in them; by default penstock-runs.
    """
    from penstock._cli.minimizing import run_bugs

    return run_bugs(runs or (RUNS,), as_json=as_json)
