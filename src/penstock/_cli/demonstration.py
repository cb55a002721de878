"""`penstock demo`: three bugs of a learning switch.

They are bugs I, II and III of the NICE paper, in Ryu's `simple_switch_13` as it was published, or without the
sources of Ryu in a learning switch of our own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import click

from penstock._base.terminal import complain, say, say_lines
from penstock._cli.options import traces_option
from penstock._cli.output import Live
from penstock._cli.reporting import write_report
from penstock._demo import OWN_APP, RYU_APP, demo_app, demo_scenario
from penstock._story.story import ending, tell
from penstock._verdict.verdict import sentence, told
from penstock._worker.engines import check


class Example(NamedTuple):
    """A bug to be shown: the scenario that has it, and what it is."""

    scenario: str
    title: str
    words: str


EXAMPLES: Final = (
    Example(
        "host-moved",
        "I. A host that moves becomes unreachable",
        "The rule towards its old place stays as long as somebody sends to it.",
    ),
    Example(
        "delayed-path",
        "II. The direct path is installed too late",
        "Both hosts are known after one packet and its answer; the next packet still goes to the controller.",
    ),
    Example(
        "loop",
        "III. A flooded packet loops forever",
        "In a network with a cycle every flooded packet is flooded again.",
    ),
)


INTRODUCTIONS: Final = {
    RYU_APP: "Checking Ryu's simple_switch_13, as it was published, for three bugs of the NICE paper.",
    OWN_APP: "Checking Penstock's own little learning switch for three bugs of the NICE paper.\n"
    "Ryu's simple_switch_13 has them too: penstock fetch-ryu fetches it, and this demo then checks it.",
}
"""Which learning switch is checked, in words."""


def demonstrate(output: Path) -> int:
    """Find the three bugs and tell them; 0 if all three were found, else 1."""
    app = demo_app()
    say_lines([*INTRODUCTIONS[app].splitlines(), ""])
    reports: list[Path] = []
    for example in EXAMPLES:
        with Live(quiet=False) as live:
            report = check(demo_scenario(example.scenario, app), output=output, progress=live.show)
        say_lines([example.title, example.words, ""])
        if not report.findings:
            complain(told(report.verdict.result, list(map(sentence, report.verdict.reasons))))
        for finding in report.findings:
            cause = finding.explanation.lines(finding.property)
            for line in (*tell(finding.records), *ending(finding.property, finding.message, cause)):
                say(f"  {line}")
            say()
            say(
                f"  {len(finding.records)} steps, the fewest possible; found in "
                f"{report.outcome.seconds:.2f} s among {report.outcome.states:,} states."
            )
            if finding.trace is None:
                complain(report.unwritten)
                continue
            with Live(quiet=False, doing="writing the report …"):
                reports.append(write_report(finding.trace))
            say(f"  Written to {finding.trace}; penstock replay runs it again.")
            say_lines([f"  The report is in {reports[-1]}", ""])
    say(f"{len(reports)} of {len(EXAMPLES)} bugs found.")
    if reports:
        say(f"Open {reports[0]} in a browser to see the first one step by step.")
    return 0 if len(reports) == len(EXAMPLES) else 1


@click.command()
@traces_option
def demo(output: Path) -> int:
    """Find three bugs in a learning switch: Ryu's own if its sources are here, else one of ours."""
    return demonstrate(output)
