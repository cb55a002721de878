"""`penstock verify`: the command, and what it prints.

Exit status: 0 proved; 1 violated; 2 bad input, said in one sentence; 3 bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click

from penstock._base.terminal import say_lines
from penstock._base.text import json_text
from penstock._cli.options import ci_options, json_option, traces_option
from penstock._cli.output import Live, conclude, ending_lines, titled_lines, verdict_lines
from penstock._cli.scenarios import scenario_from, scenario_options
from penstock._engine.conclusion import conclusion_of
from penstock._engine.next_steps import advice
from penstock._scenario.options import VerifyOptions
from penstock._story.story import tell
from penstock._verdict.verdict import Result
from penstock._verify.proof import Proof, Refutation


@click.command(name="verify")
@scenario_options("verify")
@traces_option
@json_option
@ci_options
def verify_command(
    scenario: Path, output: Path, as_json: bool, junit: Path | None, sarif: Path | None, **options: Any
) -> int:
    """Prove properties for any number of packets.

    SCENARIO is a .toml file, or an app: its .py file or module name.  A FORMULA is temporal logic, as in
    "G forall p in h2.rcvq: not p.ssh"; NoForwardingLoops, ControllerCrash and ControllerHang have names.
    """
    chosen = scenario_from(scenario, "verify", **options)
    from penstock._worker.engines import prove

    with Live(quiet=as_json) as live:
        proof = prove(chosen, output=output, progress=live.show)
    from penstock._report.export.formats import held_by, write_ci_files

    say_lines([proof_as_json(proof)] if as_json else proof_lines(proof))
    tested = {text: int(text not in proof.untested) for text in proof.methods}
    write_ci = partial(
        write_ci_files,
        junit=junit,
        sarif=sarif,
        name=chosen.name,
        traces=[finding.trace for finding in proof.findings],
        held=held_by(tested, [finding.property for finding in proof.findings]),
        conclusion=conclusion_of(proof.verdict, proof.next_steps),
        covered=proof.covered,
        seconds=proof.seconds,
    )
    return conclude(proof.verdict, proof.unwritten, write_ci)


def proof_lines(proof: Proof) -> Iterator[str]:
    """Yield what a proof came to, as text."""
    for number, finding in enumerate(proof.findings, 1):
        yield from _refutation_lines(f"Violation {number}", finding)
    for finding in proof.beyond:
        yield from _refutation_lines("Beyond the scenario", finding)
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
    yield from titled_lines("Reductions, and why each is sound here:", proof.reasons)
    yield from titled_lines("Assumptions:", proof.assumptions)
    yield from proof.remarks
    if proof.verdict.result is Result.BOUNDED:
        found = "No violation found in the scenario's scope" if proof.beyond else "No violation found"
        yield from titled_lines(f"{found}, but this is not a proof:", tuple(proof.bounds))
    else:
        yield from verdict_lines(proof.verdict, len(proof.findings))
    yield from advice(proof.next_steps)


def _refutation_lines(title: str, finding: Refutation) -> Iterator[str]:
    yield f"{title}: {finding.property}"
    yield ""
    split = len(finding.records) - finding.loop
    yield from tell(finding.records[:split])
    if finding.loop:
        yield "  and then again and again:"
        yield from tell(finding.records[split:], first=split + 1)
    yield from ending_lines(finding)


def _refutation_as_json(finding: Refutation) -> dict[str, Any]:
    return {
        "property": finding.property,
        "message": finding.message,
        "steps": len(finding.records),
        "loop": finding.loop,
        "confirmed": finding.confirmed,
        "trace": None if finding.trace is None else str(finding.trace),
        "explanation": finding.explanation.as_json(),
    }


def proof_as_json(proof: Proof) -> str:
    """Return what a proof came to as one JSON object."""
    options: VerifyOptions = proof.options
    found: dict[str, Any] = {
        "result": proof.result,
        "verdict": proof.verdict.as_json(),
        "mode": options.mode,
        "fair": options.fair,
        "timeouts": options.timeouts,
        "properties": proof.methods,
        "bounded_by": proof.bounds,
        "assumptions": proof.assumptions,
        "reductions": proof.reasons,
        "remarks": proof.remarks,
        "next_steps": [step.plain() for step in proof.next_steps],
        "unwritten": proof.unwritten or None,
        "covered": None if proof.covered is None else str(proof.covered),
        "classes": sum(proof.classes.values()),
        "classes_by_host": proof.classes,
        "rounds": proof.rounds,
        "states": proof.states,
        "transitions": proof.transitions,
        "seconds": round(proof.seconds, 3),
        "peak_rss_mb": proof.peak_rss_mb,
        "violations": [_refutation_as_json(finding) for finding in proof.findings],
        "beyond_the_scenario": [_refutation_as_json(finding) for finding in proof.beyond],
    }
    return json_text(found)
