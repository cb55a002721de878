"""`penstock`: the commands.

Exit status: 0 nothing found and the search was exhaustive; 1 a violation; 2 bad input, said in one
sentence; 3 stopped by a bound with nothing found.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from penstock import __version__
from penstock.cli.output import Live, print_report, report_as_json
from penstock.cli.stepping import step_through
from penstock.cli.verifying import verify_command
from penstock.errors import PenstockError
from penstock.explore.reductions import NONE, REDUCTIONS
from penstock.properties.base import PropertyFault
from penstock.scenario import Scenario, load_scenario
from penstock.world.network import ComponentRaised

FOUND, BAD_INPUT, STOPPED = 1, 2, 3
STATUS = {"exhausted": 0, "violation": FOUND, "bounded": STOPPED}


def main() -> None:
    """Run the command line; errors of the user's are one sentence, never a traceback."""
    try:
        sys.exit(commands(standalone_mode=False))
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        _say(error.format_message())
    except PropertyFault as fault:
        click.echo(fault.traceback, err=True)
        _say(str(fault))
    except (PenstockError, ComponentRaised) as error:
        _say(str(error))
    except (KeyboardInterrupt, click.Abort):
        click.echo("penstock: stopped.", err=True)
        sys.exit(STOPPED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


def _say(sentence: str) -> None:
    click.echo(f"penstock: {sentence}", err=True)
    sys.exit(BAD_INPUT)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="penstock")
def commands() -> None:
    """Find, prove, shrink and explain bugs in SDN controllers."""


def _scenario_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command what it takes to name a scenario."""
    options = [
        click.argument("scenario", type=click.Path(path_type=Path)),
        click.option("--topo", metavar="SHAPE", help="The topology, as for Mininet: linear,3 or tree,2,2."),
        click.option("--custom", metavar="FILE[:NAME]", help="A file with a Mininet Topo, as the topology."),
        click.option(
            "--property", "-p", "properties", multiple=True, help="A property to check; repeatable."
        ),
        click.option(
            "--ping",
            metavar="A,B",
            multiple=True,
            help="Have A ping B; replaces the scenario's hosts.",
        ),
        click.option("--openflow", type=click.Choice(["1.0", "1.3"]), help="The OpenFlow version."),
        click.option("--order", type=click.Choice(["breadth-first", "depth-first"]), help="Order of search."),
        click.option(
            "--strategy",
            "strategies",
            metavar="NAME[:OPTION=VALUE,…]",
            multiple=True,
            help="A way to search less or likelier places first, as no-delay; repeatable.",
        ),
        click.option(
            "--reduction",
            "reductions",
            type=click.Choice((*REDUCTIONS, NONE)),
            multiple=True,
            help="Beside sleep sets, a way to search less without missing anything; repeatable. "
            "With none, not even sleep sets.",
        ),
        click.option("--states", type=click.IntRange(1), help="Stop after this many states."),
        click.option("--depth", type=click.IntRange(1), help="Go no deeper than this many steps."),
        click.option("--seconds", type=click.FloatRange(0, min_open=True), help="Stop after this time."),
        click.option("--memory", type=click.IntRange(1), metavar="MB", help="Stop at this much memory."),
        click.option("--all", "all_violations", is_flag=True, help="Go on after a violation, elsewhere."),
        click.option("--compact", is_flag=True, help="Remember states by 64-bit fingerprints."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _output_options(command: Callable[..., Any]) -> Callable[..., Any]:
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


DEFAULT_PROPERTIES = ("NoForwardingLoops", "NoBlackHoles", "ControllerCrash", "ControllerHang")


def scenario_from(path: Path, **options: Any) -> Scenario:
    """Return the scenario of a file: a TOML scenario, or an app to be put into a small network."""
    if path.suffix == ".toml":
        scenario = load_scenario(path)
    elif path.suffix == ".py" or (not path.exists() and "." in path.name and path.name == str(path)):
        scenario = _around(path)
    else:
        raise PenstockError(
            f"{path} is no scenario: give a .toml file, an app's .py file or its module's name."
        )
    chosen = _changed(scenario, **options)
    # Commands that do not search refuse what no search could go by, too.
    chosen.plan()
    return chosen


def _around(app: Path) -> Scenario:
    """Return a scenario around an app: two switches, and hosts that send whatever makes a difference."""
    if app.suffix == ".py" and not app.is_file():
        raise PenstockError(f"There is no file {app}: give the path of an app.")
    file = app.suffix == ".py"
    return Scenario(
        name=app.stem if file else app.name.rpartition(".")[2],
        controller={"apps": [app.name if file else str(app)]},
        topology="linear,2",
        properties=DEFAULT_PROPERTIES,
        folder=app.parent if file else Path(),
    )


def _changed(scenario: Scenario, **options: Any) -> Scenario:
    """Return a scenario with what the command line says in place of what the file says."""
    from dataclasses import replace

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
    if not comma or not sender or not receiver:
        raise PenstockError(f"--ping {text!r} names no two hosts: write it as h1,h2.")
    return sender, {"kind": "ping", "to": receiver}


@commands.command()
@_scenario_options
@_output_options
def check(scenario: Path, output: Path, as_json: bool, **options: Any) -> int:
    """Search every ordering of a scenario's events.

    SCENARIO is a .toml file, or an app: its .py file or module name.
    """
    from penstock.check import check as run

    chosen = scenario_from(scenario, **options)
    with Live(quiet=as_json) as live:
        report = run(chosen, output=output, progress=live.show)
    click.echo(report_as_json(report)) if as_json else print_report(report)
    return STATUS[report.outcome.result]


@commands.command()
@_scenario_options
@_output_options
@click.option("--seed", type=int, default=1, show_default=True, help="What decides every choice.")
@click.option("--walks", type=click.IntRange(1), default=100, show_default=True, help="How many walks.")
@click.option("--longest", type=click.IntRange(1), default=1000, show_default=True, help="Steps per walk.")
def walk(
    scenario: Path, output: Path, as_json: bool, seed: int, walks: int, longest: int, **options: Any
) -> int:
    """Walk at random through a scenario, again and again."""
    from penstock.check import walk as run

    chosen = scenario_from(scenario, **options)
    with Live(quiet=as_json) as live:
        report = run(chosen, seed, walks=walks, longest=longest, output=output, progress=live.show)
    click.echo(report_as_json(report)) if as_json else print_report(report)
    return STATUS[report.outcome.result]


@commands.command(name="fuzz")
@click.argument("scenario", type=click.Path(path_type=Path))
@click.option("--topo", metavar="SHAPE", help="The topology, as for Mininet: linear,3 or tree,2,2.")
@click.option("--openflow", type=click.Choice(["1.0", "1.3"]), help="The OpenFlow version.")
@click.option("--seed", type=int, help="What decides every choice.")
@click.option("--events", type=click.IntRange(1), help="Stop after this many inputs.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="Stop after this time.")
@click.option("--profile", help="What happens how often: everything, traffic, links, control, …")
@click.option("--invariant", "-i", "invariants", multiple=True, help="What must hold; repeatable.")
@click.option("--all", "to_end", is_flag=True, help="Go on after a violation that lasts.")
@click.option("--interactive", is_flag=True, help="Take over from the console; Ctrl-C comes back to it.")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    default=Path("penstock-runs"),
    show_default=True,
    help="Where the run's folder is made.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def fuzz_command(
    scenario: Path,
    topo: str | None,
    openflow: str | None,
    output: Path,
    as_json: bool,
    interactive: bool,
    to_end: bool,
    **options: Any,
) -> int:
    """Run a controller on a network in which things go wrong.

    SCENARIO is a .toml file, or an app: its .py file or module name.  With cmd in [controller] the
    controller is a real process, in whatever language.
    """
    from penstock.cli.fuzzing import run_fuzz
    from penstock.fuzz.fuzzing import with_options
    from penstock.fuzz.summary import lasting

    chosen = _fuzzed(scenario_from(scenario, topo=topo, openflow=openflow))
    given = {key: value for key, value in options.items() if value not in (None, ())}
    if "invariants" in given:
        given["invariants"] = list(given["invariants"])
    if "seconds" in given and "events" not in given:
        given["events"] = None
    report = run_fuzz(
        with_options(chosen, **given), output, as_json=as_json, interactive=interactive, to_end=to_end
    )
    return FOUND if lasting(report) else STOPPED


def _fuzzed(scenario: Scenario) -> Scenario:
    """Return a scenario without the properties that an app alone is given for a search."""
    from dataclasses import replace

    return replace(scenario, properties=()) if scenario.properties is DEFAULT_PROPERTIES else scenario


@commands.command()
@_scenario_options
@click.option("--after", "trace", type=click.Path(path_type=Path), help="Take the steps of this trace first.")
@click.option("--steps", type=click.IntRange(0), help="How many of them; by default all.")
@click.option("--host", metavar="NAME", help="Only what this host could send.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def packets(
    scenario: Path, trace: Path | None, steps: int | None, host: str | None, as_json: bool, **options: Any
) -> int:
    """List the packets that the controller tells apart.

    Each class comes with its condition, one packet of it, and the branches that it takes in the
    controller's code.
    """
    from penstock.packets import list_packets
    from penstock.report.classes import classes_as_json, classes_as_text

    chosen = scenario_from(scenario, **options)
    with Live(quiet=as_json):
        found, discovery = list_packets(chosen, trace=trace, steps=steps, host=host)
    if as_json:
        click.echo(classes_as_json(found, discovery))
    else:
        for text in classes_as_text(found, discovery):
            click.echo(text)
    return 0


@commands.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--tries", type=click.IntRange(1), default=1, show_default=True, help="With processes, how often."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def replay(trace: Path, tries: int, as_json: bool) -> int:
    """Run a trace again and compare, step by step.

    This runs the controller that the trace names.  TRACE may be the folder of a run.
    """
    from penstock.cli.minimizing import run_replay

    return run_replay(trace, tries=tries, as_json=as_json)


@commands.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="Where it is written; by default with the trace."
)
@click.option(
    "--tries", type=click.IntRange(1), default=1, show_default=True, help="With processes, how often."
)
@click.option("--shortest", is_flag=True, help="Search for a sequence that is proved to be the shortest.")
@click.option("--invariant", "-i", help="Which violation of the trace; by default the first that lasts.")
@click.option("--wide", is_flag=True, help="Take any violation of the same invariant for the same.")
@click.option(
    "--workers", type=click.IntRange(1), default=1, show_default=True, help="How many replays at once."
)
@click.option(
    "--scheduler", metavar="ADDRESS", help="Replay on the Dask cluster that has its scheduler there."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def minimize(trace: Path, output: Path | None, as_json: bool, **options: Any) -> int:
    """Find the few inputs of a trace that lead to its violation.

    This runs the controller that the trace names, again and again.  TRACE may be the folder of a run.  A
    minimisation that was stopped goes on where it was.
    """
    from penstock.cli.minimizing import run_minimize

    return run_minimize(trace, output, as_json=as_json, **options)


@commands.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--whole", is_flag=True, help="Tell all of a fuzzing run, not only what led to a violation.")
@click.option("--from", "first", type=click.IntRange(0), metavar="N", help="Begin with the line number N.")
@click.option("--to", "last", type=click.IntRange(0), metavar="N", help="End with the line number N.")
def show(trace: Path, whole: bool, first: int | None, last: int | None) -> int:
    """Tell a trace; nothing is run.

    Of a fuzzing run, what led to the first violation that lasted is told, unless you choose otherwise.
    TRACE may be the run's folder.
    """
    from penstock.cli.output import print_trace
    from penstock.report.run_story import Choice
    from penstock.trace import read_trace

    file = trace / "trace.jsonl" if trace.is_dir() else trace
    print_trace(read_trace(file), Choice(whole, first, last))
    return 0


@commands.command(name="trace-packet")
@click.argument("trace", type=click.Path(path_type=Path))
@click.argument("packet", required=False)
@click.option("--from", "host", metavar="HOST", help="Send a packet that is not in the trace from here.")
@click.option("--to", metavar="HOST", help="Where that packet is meant to go.")
@click.option("--as", "protocol", default="ping", show_default=True, help="What it is: ping, arp, tcp, udp.")
@click.option("--at", type=click.IntRange(0), metavar="N", help="After which line; by default the violation.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def trace_packet(host: str | None, to: str | None, trace: Path, **options: Any) -> int:
    """Follow a packet of a trace, hop by hop, with the rules that it met.

    PACKET is its name (h1#3) or the number of a line that sends it; without, all are listed.  With --from
    and --to, find out where a packet would have gone after line N.
    """
    from penstock.cli.rootcausing import run_trace_packet

    return run_trace_packet(trace, ends=(host, to), **options)


@commands.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--at", type=click.IntRange(0), metavar="N", help="After which line; by default the violation.")
@click.option("--interactive", is_flag=True, help="Go through it from a console.")
@click.option("--reduce", is_flag=True, help="List the commands that made the tables, and no others.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def openflow(trace: Path, **options: Any) -> int:
    """Replay a trace's OpenFlow messages to the switches alone, and look at these.

    Controllers that are processes are not started; one that runs in process is, to know what it sent.
    """
    from penstock.cli.rootcausing import run_openflow

    return run_openflow(trace, **options)


@commands.command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("--most", type=click.IntRange(0), default=20, show_default=True, help="How many of each.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def diff(first: Path, second: Path, most: int, as_json: bool) -> int:
    """Tell what happens in one trace and not in another, and what in another order.

    The exit status is 1 if they differ.
    """
    from penstock.cli.rootcausing import run_diff

    return run_diff(first, second, most=most, as_json=as_json)


@commands.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The SVG; by default in the folder.")
def plot(folder: Path, output: Path | None) -> int:
    """Draw how a minimisation went: the size of the sequence over the replays."""
    from penstock.cli.rootcausing import run_plot

    return run_plot(folder, output)


@commands.command()
@_scenario_options
def step(scenario: Path, **options: Any) -> int:
    """Choose each step yourself, look around, go back."""
    return step_through(scenario_from(scenario, **options))


@commands.command()
@click.option("--output", "-o", type=click.Path(path_type=Path), default=Path("penstock-traces"))
def demo(output: Path) -> int:
    """Find three bugs in Ryu's own learning switch, as it was published."""
    from penstock.cli.demonstration import demonstrate

    return demonstrate(output)


commands.add_command(verify_command)
