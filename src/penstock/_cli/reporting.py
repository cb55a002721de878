"""`penstock report`: a run as one HTML file, or served to a browser while it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from penstock._base.files import make_folder, write_whole
from penstock._base.terminal import say
from penstock._cli.consenting import consent_to_look, run_option
from penstock._cli.options import A_PATH, output_option
from penstock._trace.consent import Consent, consent_given
from penstock._trace.trace import read_header
from penstock._worker.commands import contained
from penstock.errors import PenstockError

_REPORT: Final = "The report"
"""What is written here, in a sentence that says that it cannot be."""


@click.command(name="report")
@click.argument("path", type=A_PATH)
@output_option("The file; by default beside the trace.")
@click.option("--serve", is_flag=True, help="Serve it on this machine, and follow a run that goes on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="With --serve, on which port; by default any."
)
@run_option
@click.option("--no-states", is_flag=True, help="Leave out the states between the steps.")
@click.option("--no-open", is_flag=True, help="With --serve, do not open a browser.")
@click.option("--json", "as_json", is_flag=True, help="The report as data: print it, or write it to -o.")
@contained
def report_command(
    path: Path,
    output: Path | None,
    serve: bool,
    port: int,
    run: bool,
    no_states: bool,
    no_open: bool,
    as_json: bool,
) -> int:
    """Show a run: the network, every step, what it changed, and the story.

    PATH is a trace, or the folder of a run or a minimisation.  The report is one HTML file that needs nothing
    else.  Nothing is run for it: what switches and hosts know after each step is worked out from the trace.
    What the controller knows takes the controller; --run runs it.
    """
    if run and no_states:
        raise PenstockError("--run and --no-states exclude each other: give one of them.")
    consent = consent_to_look(path, run=run)
    if serve:
        if as_json or output is not None:
            raise PenstockError("--serve writes no file: leave out --json and -o.")
        return _serve(path, port, consent, browse=not no_open)
    from penstock._cli.output import Live
    from penstock._report.document import report_on
    from penstock._trace.trace import trace_file

    with Live(quiet=as_json, doing="reading the trace …"):
        document = report_on(path, consent, states=not no_states)
    if as_json and output is None:
        say(document.as_text())
        return 0
    from penstock._report.page import render

    into = output if output is not None else default_file(trace_file(path))
    _write(into, document.as_text() if as_json else render(document.as_json()))
    say(f"The report is in {into}")
    return 0


def write_report(trace: Path) -> Path:
    """Write the report of a trace beside it, right after the run that it is of; return where it is."""
    from penstock._report.document import report_on
    from penstock._report.page import render

    into = default_file(trace)
    consent = consent_given(read_header(trace))
    _write(into, render(report_on(trace, consent).as_json()))
    return into


def default_file(trace: Path) -> Path:
    """Return where a trace's report is written if nobody says: beside it."""
    return trace.with_name("report.html") if trace.name == "trace.jsonl" else trace.with_suffix(".html")


def _write(path: Path, text: str) -> None:
    make_folder(path.parent, _REPORT)
    write_whole(path, text, _REPORT)


def _serve(path: Path, port: int, consent: Consent | None, *, browse: bool) -> int:
    """Serve a report until Ctrl-C."""
    import webbrowser

    from penstock._report.serving import serving

    with serving(path, consent, port=port) as (address, ending):
        say(f"The report is at {address} until Ctrl-C.")
        if browse:
            webbrowser.open(address)
        try:
            ending.wait()
        except KeyboardInterrupt:
            say()
    return 0
