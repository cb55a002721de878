"""`penstock export`: a run in the format of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from penstock._base.terminal import say
from penstock._cli.consenting import consent_to_look, run_option
from penstock._cli.options import A_PATH, OneOf, output_option
from penstock._report.export.formats import FORMATS, PICTURES, STDOUT, export
from penstock._worker.commands import contained
from penstock.errors import PenstockError

_LIST: Final = "\n".join(f"  {name:<9}{form.title}" for name, form in FORMATS.items())


@click.command(
    name="export",
    help=f"""Write a run in the format of another tool.

\b
{_LIST}

PATH is a trace, or the folder of a run; junit and sarif take several.  Nothing is run: for pcap and itf the
run is taken again with what the trace says that controllers sent.  With --run they are run instead, if they
run in process; processes are not started.
""",
)
@click.argument("name", metavar="FORMAT", type=OneOf(list(FORMATS)))
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=A_PATH)
@output_option("The file; - for the standard output; by default named after the trace, in this folder.")
@click.option("--picture", type=OneOf(PICTURES), help="What dot (the network) and mermaid (the run) draw.")
@run_option
@contained
def export_command(
    name: str, paths: tuple[Path, ...], output: Path | None, picture: str | None, run: bool
) -> int:
    """Write a run in the format of another tool."""
    if run and not FORMATS[name].retakes:
        raise PenstockError(f"Nothing has to be run for {name}: leave --run out.")
    consent = consent_to_look(paths[0], run=run)
    target = output if output is not None else Path(_named_after(paths[0]) + FORMATS[name].suffix)
    remark = export(name, paths, target, picture or "", consent)
    if remark:
        say(remark, err=True)
    if target != STDOUT:
        say(f"Written to {target}.")
    return 0


def _named_after(path: Path) -> str:
    return (path.resolve().name if path.is_dir() else path.stem) or "penstock"
