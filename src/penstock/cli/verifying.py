"""`penstock verify`: the command, and what it prints.

Exit status: 0 proved; 1 violated; 2 bad input, said in one sentence; 3 bounded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, get_args

import click

from penstock.cli.output import Live, ending_lines
from penstock.cli.scenarios import ci_options, output_options, scenario_from
from penstock.report.story import tell
from penstock.verify.options import VerifyOptions
from penstock.verify.proof import Proof, Refutation, prove
from penstock.verify.verification import Method

STATUS: Final = {"proved": 0, "violated": 1, "bounded": 3}


@click.command(name="verify")
@click.argument("scenario", type=click.Path(path_type=Path))
@click.option("--topo", metavar="SHAPE", help="The topology, as for Mininet: linear,3 or tree,2,2.")
@click.option("--custom", metavar="FILE[:NAME]", help="A file with a Mininet Topo, as the topology.")
@click.option("--openflow", type=click.Choice(["1.0", "1.3"]), help="The OpenFlow version.")
@click.option(
    "--property", "-p", "claims", multiple=True, metavar="FORMULA", help="What is to be proved; repeatable."
)
@click.option("--mode", type=click.Choice(get_args(Method)), help="By which reductions.")
@click.option("--fair", is_flag=True, help="What can be done for ever is done again and again.")
@click.option("--timeouts", is_flag=True, help="Rules that have a timeout may vanish at any moment.")
@click.option("--states", type=click.IntRange(1), help="Stop after this many states.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="Stop after this time.")
@click.option("--memory", type=click.IntRange(1), metavar="MB", help="Stop at this much memory.")
@output_options
@ci_options
def verify_command(
    scenario: Path,
    claims: tuple[str, ...],
    mode: Method | None,
    fair: bool,
    timeouts: bool,
    output: Path,
    as_json: bool,
    junit: Path | None,
    sarif: Path | None,
    **options: Any,
) -> int:
    """Prove properties for any number of packets.

    SCENARIO is a .toml file, or an app: its .py file or module name.  A FORMULA is temporal logic, as in
    "G forall p in h2.rcvq: not p.ssh"; NoLoops, ControllerCrash and ControllerHang have names.
    """
    chosen = scenario_from(scenario, **options)
    table = dict(chosen.verify)
    given = {"properties": list(claims), "mode": mode, "fair": fair, "timeouts": timeouts}
    table.update({key: value for key, value in given.items() if value})
    with Live(quiet=as_json) as live:
        proof = prove(replace(chosen, verify=table), output=output, progress=live.show)
    from penstock.report.export.ci import write_ci_files

    broken = {finding.property for finding in proof.findings}
    bound = "; ".join(proof.bounds) if proof.result == "bounded" else ""
    write_ci_files(
        junit=junit,
        sarif=sarif,
        name=chosen.name,
        traces=[finding.trace for finding in proof.findings],
        held={text: bound for text in proof.methods if text not in broken},
        seconds=proof.seconds,
    )
    click.echo(proof_as_json(proof) if as_json else "\n".join(proof_lines(proof)))
    return STATUS[proof.result]


def proof_lines(proof: Proof) -> Iterator[str]:
    """Yield what a proof came to, as text."""
    for number, finding in enumerate(proof.findings, 1):
        yield from _refutation_lines(number, finding)
    packets = sum(proof.classes.values())
    if packets:
        each = ", ".join(f"{count} of {host}" for host, count in proof.classes.items())
        rounds = f"{proof.rounds} round{'s' if proof.rounds > 1 else ''}"
        yield f"{packets} classes of packets ({each}), found in {rounds}."
    yield (
        f"{proof.states:,} states, {proof.transitions:,} transitions, {proof.seconds:.2f} s, "
        f"{proof.peak_rss_mb} MB."
    )
    for text, method in proof.methods.items():
        yield f"  {text}: {method}"
    yield from _listed("Reductions, and why each was allowed:", proof.reasons)
    yield from _listed("Taken for granted:", proof.assumptions)
    yield from proof.remarks
    match proof.result:
        case "proved":
            yield "Proved, for any number of packets."
        case "violated":
            yield f"{len(proof.findings)} violation{'s' if len(proof.findings) > 1 else ''} found."
        case "bounded":
            yield from _listed("Nothing found, but this is no proof:", tuple(proof.bounds))


def _listed(title: str, sentences: tuple[str, ...]) -> Iterator[str]:
    if sentences:
        yield title
        yield from (f"  {sentence}" for sentence in sentences)


def _refutation_lines(number: int, finding: Refutation) -> Iterator[str]:
    yield f"Violation {number}: {finding.property}"
    yield ""
    split = len(finding.records) - finding.loop
    yield from tell(finding.records[:split])
    if finding.loop:
        yield "  and then again and again:"
        yield from tell(finding.records[split:], first=split + 1)
    yield from ending_lines(finding)


def proof_as_json(proof: Proof) -> str:
    """Return what a proof came to as one JSON object."""
    options: VerifyOptions = proof.options
    found: dict[str, Any] = {
        "result": proof.result,
        "mode": options.mode,
        "fair": options.fair,
        "timeouts": options.timeouts,
        "properties": proof.methods,
        "bounded_by": proof.bounds,
        "assumptions": proof.assumptions,
        "reductions": proof.reasons,
        "remarks": proof.remarks,
        "covered": None if proof.covered is None else str(proof.covered),
        "classes": sum(proof.classes.values()),
        "classes_by_host": proof.classes,
        "rounds": proof.rounds,
        "states": proof.states,
        "transitions": proof.transitions,
        "seconds": round(proof.seconds, 3),
        "peak_rss_mb": proof.peak_rss_mb,
        "violations": [
            {
                "property": finding.property,
                "message": finding.message,
                "steps": len(finding.records),
                "loop": finding.loop,
                "confirmed": finding.confirmed,
                "trace": None if finding.trace is None else str(finding.trace),
            }
            for finding in proof.findings
        ],
    }
    return json.dumps(found)
