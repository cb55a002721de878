"""`penstock show`, `trace-packet`, `openflow`, `diff`, `plot`: the commands that look into traces."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from penstock._cli.consenting import run_option
from penstock._cli.options import A_PATH, json_option, output_option, trace_argument
from penstock._worker.commands import contained

_at_option: Final = click.option(
    "--at", type=click.IntRange(0), metavar="N", help="After which line; by default the violation."
)


@click.command()
@trace_argument
@click.option("--whole", is_flag=True, help="Tell all of a fuzzing run, not only what led to a violation.")
@click.option("--from", "first", type=click.IntRange(0), metavar="N", help="Begin with the line number N.")
@click.option("--to", "last", type=click.IntRange(0), metavar="N", help="End with the line number N.")
@click.option("--picture", is_flag=True, help="Also draw it: a lane for each component, time going down.")
def show(trace: Path, whole: bool, first: int | None, last: int | None, picture: bool) -> int:
    """Tell a trace; nothing is run.

    Of a fuzzing run, what led to the first violation that lasted is told, unless you choose otherwise.
    TRACE may be the run's folder.
    """
    from penstock._cli.output import print_trace
    from penstock._report.run_story import Choice
    from penstock._trace.trace import read_trace, trace_file

    print_trace(read_trace(trace_file(trace), warn=False), Choice(whole, first, last), drawn=picture)
    return 0


@click.command(name="trace-packet")
@trace_argument
@click.argument("packet", required=False)
@click.option("--from", "host", metavar="HOST", help="Send a packet that is not in the trace from here.")
@click.option("--to", metavar="HOST", help="Where that packet is meant to go.")
@click.option("--as", "protocol", default="ping", show_default=True, help="What it is: ping, arp, tcp, udp.")
@_at_option
@run_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@contained
def trace_packet(host: str | None, to: str | None, trace: Path, **options: Any) -> int:
    """Follow a packet of a trace, hop by hop, with the rules that it met.

    PACKET is its name (h1#3) or the number of a line that sends it; without, all are listed.  With --from and
    --to, find out where a packet would have gone after line N.  Nothing is run, unless an older trace does
    not have what its controller sent and you give --run.
    """
    from penstock._cli.rootcausing import run_trace_packet

    return run_trace_packet(trace, ends=(host, to), **options)


@click.command()
@trace_argument
@_at_option
@click.option("--interactive", is_flag=True, help="Go through it from a console.")
@click.option("--reduce", is_flag=True, help="List the commands that made the tables, and no others.")
@run_option
@json_option
@contained
def openflow(trace: Path, **options: Any) -> int:
    """Replay a trace's OpenFlow messages to the switches alone, and look at these.

    Nothing is run, unless an older trace does not have what its controller sent and you give --run.
    """
    from penstock._cli.rootcausing import run_openflow

    return run_openflow(trace, **options)


@click.command()
@click.argument("first", type=A_PATH)
@click.argument("second", type=A_PATH)
@click.option("--most", type=click.IntRange(0), default=20, show_default=True, help="How many of each.")
@json_option
def diff(first: Path, second: Path, most: int, as_json: bool) -> int:
    """Tell what happens in one trace and not in another, and what in another order.

    The exit status is 1 if they differ.
    """
    from penstock._cli.rootcausing import run_diff

    return run_diff(first, second, most=most, as_json=as_json)


@click.command()
@click.argument("folder", type=A_PATH)
@output_option("The SVG; by default in the folder.")
def plot(folder: Path, output: Path | None) -> int:
    """Draw how a minimisation went: the size of the sequence over the replays."""
    from penstock._cli.rootcausing import run_plot

    return run_plot(folder, output)
