"""`penstock demo`: three bugs of Ryu's learning switch, found in the app as it was published.

They are bugs I, II and III of the NICE paper (section 9.1), in today's `simple_switch_13`.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import click

from penstock.check import check
from penstock.cli.output import Live
from penstock.report.story import last_line, tell
from penstock.scenario import Scenario
from penstock.world.topology import Topology, TopologyBuilder, topology

APP = "ryu.app.simple_switch_13"


class Example(NamedTuple):
    """A bug to be shown: what it is, and the scenario that has it."""

    title: str
    words: str
    scenario: Scenario


def two_places() -> Topology:
    """Return two switches with a host each, and a free port for the second host to move to."""
    builder = TopologyBuilder()
    builder.add_switch("s1", ports=(1, 2, 3))
    builder.add_switch("s2")
    builder.add_host("h1")
    builder.add_host("h2")
    builder.add_link("s1", "h1", port1=1)
    builder.add_link("s2", "h2", port1=1)
    builder.add_link("s1", "s2", port1=2, port2=2)
    return builder.build()


def examples() -> list[Example]:
    """Return the three bugs."""
    client = {"kind": "client", "to": "h2"}
    return [
        Example(
            "I. A host that moves cannot be reached any more",
            "The rule towards its old place stays as long as somebody sends to it.",
            Scenario(
                name="demo-host-moved",
                controller={"apps": [APP]},
                topology=two_places(),
                hosts={
                    "h1": {**client, "count": 3},
                    "h2": {"kind": "server", "mobility": {"places": ["s1:3"]}},
                },
                properties=["NoBlackHoles"],
            ),
        ),
        Example(
            "II. The direct path comes late",
            "Both hosts are known after one packet and its answer, but the next packet still goes to the "
            "controller.",
            Scenario(
                name="demo-delayed-path",
                controller={"apps": [APP]},
                topology=topology("linear,2"),
                hosts={"h1": {**client, "count": 2}, "h2": {"kind": "server"}},
                properties=["StrictDirectPaths"],
            ),
        ),
        Example(
            "III. A flooded packet goes round for ever",
            "In a network with a cycle the switch floods and floods again.",
            Scenario(
                name="demo-loop",
                controller={"apps": [APP]},
                topology=topology("ring,3"),
                hosts={"h1": {**client, "count": 1}},
                properties=["NoForwardingLoops"],
            ),
        ),
    ]


def demonstrate(output: Path) -> int:
    """Find the three bugs and tell them; 0 if all three were found, else 1."""
    click.echo(f"Checking {APP}, as it was published, for three bugs of the NICE paper.\n")
    found = 0
    for example in examples():
        with Live(quiet=False) as live:
            report = check(example.scenario, output=output, progress=live.show)
        click.echo(f"{example.title}\n{example.words}\n")
        for finding in report.findings:
            for line in tell(finding.records):
                click.echo(f"  {line}")
            click.echo(f"  {last_line(finding.property, finding.message)}\n")
            click.echo(f"  {len(finding.records)} steps, the fewest there are; found in ", nl=False)
            click.echo(f"{report.outcome.seconds:.2f} s among {report.outcome.states:,} states.")
            click.echo(f"  Written to {finding.trace}\n")
            found += 1
    click.echo(f"{found} of 3 bugs found.")
    return 0 if found == len(examples()) else 1
