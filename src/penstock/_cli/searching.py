"""`penstock check`, `walk`, `packets`, `step`: the commands that search a scenario, or have it searched."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from penstock._base.terminal import say, say_lines
from penstock._check.check import Report
from penstock._cli.consenting import consent_to_replay, trust_option
from penstock._cli.options import A_PATH, ci_options, json_option, traces_option, with_options
from penstock._cli.output import Live, conclude, print_report, report_as_json
from penstock._cli.scenarios import is_given, options_for, scenario_from, scenario_options
from penstock._engine.conclusion import conclusion_of
from penstock._explore.strategies.random_walks import RandomWalks
from penstock._worker.commands import contained, run_contained
from penstock._worker.containment import Terminal
from penstock.errors import PenstockError


@click.command()
@scenario_options("check")
@traces_option
@json_option
@ci_options
def check(
    scenario: Path, output: Path, as_json: bool, junit: Path | None, sarif: Path | None, **options: Any
) -> int:
    """Search every ordering of a scenario's events.

    SCENARIO is a .toml file, or an app: its .py file or module name.
    """
    from penstock._worker.engines import check as run

    chosen = scenario_from(scenario, **options)
    chosen.require_properties()
    with Live(quiet=as_json) as live:
        report = run(chosen, output=output, progress=live.show)
    return _conclude(report, as_json, junit, sarif)


@click.command()
@scenario_options("walk")
@traces_option
@json_option
@ci_options
@with_options(*options_for("walk", RandomWalks, defaults=True))
def walk(
    scenario: Path,
    output: Path,
    as_json: bool,
    junit: Path | None,
    sarif: Path | None,
    seed: int,
    walks: int,
    longest: int,
    **options: Any,
) -> int:
    """Walk at random through a scenario, again and again."""
    from penstock._worker.engines import walk as run

    chosen = scenario_from(scenario, "walk", **options)
    chosen.require_properties()
    with Live(quiet=as_json) as live:
        report = run(chosen, seed, walks=walks, longest=longest, output=output, progress=live.show)
    return _conclude(report, as_json, junit, sarif)


def _conclude(report: Report, as_json: bool, junit: Path | None, sarif: Path | None) -> int:
    """Print what a search came to, write what CI wants, and return the exit status."""
    from penstock._report.export.formats import held_by, write_ci_files

    say(report_as_json(report)) if as_json else print_report(report)
    write_ci = partial(
        write_ci_files,
        junit=junit,
        sarif=sarif,
        name=report.scenario.name,
        traces=[finding.trace for finding in report.findings],
        held=held_by(report.outcome.exercised, [finding.property for finding in report.findings]),
        conclusion=conclusion_of(report.verdict, report.next_steps),
        covered=report.covered,
        seconds=report.outcome.seconds,
    )
    return conclude(report.verdict, report.unwritten, write_ci)


@click.command()
@scenario_options("packets")
@click.option("--after", "trace", type=A_PATH, help="Take the steps of this trace first.")
@click.option("--steps", type=click.IntRange(0), help="How many of them; by default all.")
@click.option("--host", metavar="NAME", help="Only what this host could send.")
@json_option
@contained
def packets(
    scenario: Path, trace: Path | None, steps: int | None, host: str | None, as_json: bool, **options: Any
) -> int:
    """List the packets that the controller tells apart.

    Each class comes with its condition, one packet of it, and the branches that it takes in the
    controller's code.
    """
    from penstock._check.packet_listing import classes_as_json, classes_as_text
    from penstock._check.packets import list_packets

    chosen = scenario_from(scenario, "packets", **options)
    with Live(quiet=as_json):
        found, discovery = list_packets(chosen, trace=trace, steps=steps, host=host)
    if as_json:
        say(classes_as_json(found, discovery))
    else:
        say_lines(classes_as_text(found, discovery))
    return 0


@click.command()
@scenario_options("step")
@click.option("--at", type=click.IntRange(0), metavar="N", help="Of a trace, where to begin: after step N.")
@with_options(*options_for("step", RandomWalks, defaults=True))
@click.option("--plain", is_flag=True, help="Line by line, as it is done without a terminal.")
@trust_option
def step(scenario: Path, at: int | None, seed: int, plain: bool, trust: bool, **options: Any) -> int:
    """Choose each step yourself, look around, go back.

    SCENARIO may also be a trace of a search or of an earlier run by hand: it is opened at its end, and can be
    left for other steps anywhere.  This runs the controller that the trace names, if it is the one that the
    trace was recorded with here; otherwise you are asked.
    """
    return run_contained(
        lambda _: _step(scenario, at, seed, options, plain=plain, trust=trust), terminal=Terminal.WHOLE
    )


def _step(
    scenario: Path, at: int | None, seed: int, options: dict[str, Any], *, plain: bool, trust: bool
) -> int:
    from penstock._cli.stepper.model import Run, is_trace, run_of_trace
    from penstock._cli.stepping import step_through

    if trust and not is_trace(scenario):
        raise PenstockError(f"{scenario} is not a trace, so there is nothing to trust: leave out --trust.")
    if not is_trace(scenario):
        run = Run(scenario_from(scenario, "step", **options))
    elif any(map(is_given, options.values())):
        raise PenstockError(f"{scenario} is a trace and includes its scenario: leave out the options.")
    else:
        run = run_of_trace(scenario, consent_to_replay(scenario, trust=trust))
    if at is not None:
        run.go_to(at)
    return step_through(run, plain=plain, seed=seed)
