"""`penstock audit`: what is wrong with the tables of a network that already runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import click

from penstock._audit.audit import KINDS, Finding, NetworkAudit, Report, told_step
from penstock._audit.dumps import read_match
from penstock._audit.gathering import Drawn, drawn, gathered
from penstock._base.terminal import say, say_lines
from penstock._base.text import json_text
from penstock._cli.options import json_option
from penstock.errors import PenstockError

_TITLES: Final = {
    "loop": "Loops",
    "black hole": "Black holes",
    "ambiguous rules": "Rules of one priority that do different things with a packet",
    "shadowed rule": "Rules that no packet meets",
}
_MARKS: Final = {"reached": "yes", "unreached": "no", "undecided": "?"}
_MOST_TOLD: Final = 20
_MOST_HOSTS: Final = 16


@click.command(name="audit")
@click.argument("topology")
@click.argument("sources", nargs=-1, metavar="[SWITCH=SOURCE]...")
@click.option("--from", "host", metavar="HOST", help="Tell what becomes of packets that this host sends.")
@click.option(
    "--packet", metavar="MATCH", help="Which ones, as for ovs-ofctl: tcp,nw_dst=10.0.0.2,tp_dst=80."
)
@click.option(
    "--misses",
    type=click.Choice(["drop", "controller"]),
    default="drop",
    show_default=True,
    help="What switches do with packets that no rule matches.",
)
@click.option(
    "--watch",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    help="Look again and again, and tell changes.",
)
@json_option
def audit_command(
    topology: str,
    sources: Sequence[str],
    host: str | None,
    packet: str | None,
    misses: str,
    watch: float | None,
    as_json: bool,
) -> int:
    """Find what is wrong with the tables of a network that runs, without its controller.

    TOPOLOGY is a shape (ring,3) or a TOML file with links; SOURCE is a file with what ovs-ofctl dump-flows
    prints (and dump-groups, dump-ports-desc), or a switch: tcp:ADDRESS:PORT, unix:PATH.

    Exit status 0: nothing is wrong and nothing was left out; 1: findings; 2: bad input; 3: nothing was
    found, but something was left out.
    """
    if (host is None) != (packet is None):
        raise PenstockError("Give --from and --packet together: a host, and which of its packets.")
    network = drawn(topology, sources)
    audit = NetworkAudit(network.network, hands_over_misses=misses == "controller")
    _take_all(audit, network)
    if host is not None and packet is not None:
        return _tell_why(audit, host, packet, as_json)
    report = audit.report()
    say_lines([json_text(report.as_json())] if as_json else _lines(report))
    if watch is not None:
        _watch(audit, network, report, watch, as_json)
    return report.status


def _take_all(audit: NetworkAudit, network: Drawn) -> None:
    for switch, place in network.flows.items():
        audit.take(switch, gathered(place, partial(audit.port_number, switch)))


def _tell_why(audit: NetworkAudit, host: str, packet: str, as_json: bool) -> int:
    match = read_match(packet)
    if match.get("in_port") is not None:
        raise PenstockError(f"{host} sends by its own port: leave in_port out of --packet.")
    outcomes, reasons = audit.why(host, match), audit.left_out()
    if as_json:
        found = [
            {
                "fate": one.fate,
                "node": one.node,
                "why": one.why,
                "packets": str(one.packets),
                "frame": one.frame.hex(),
                "perhaps": one.perhaps,
                "path": [str(step) for step in one.path],
            }
            for one in outcomes
        ]
        say(json_text({"from": host, "outcomes": found, "reasons": reasons}))
    elif outcomes:
        say_lines(line for one in outcomes for line in told_step(one))
    else:
        say(f"There are no such packets that {host} could send.")
    if not as_json:
        say_lines(f"Left out: {reason}" for reason in reasons)
    return 3 if reasons or any(one.fate == "unfollowed" for one in outcomes) else 0


def _watch(audit: NetworkAudit, network: Drawn, report: Report, seconds: float, as_json: bool) -> None:
    """Look again until Ctrl-C, and tell what has come and what has gone; as JSON, the whole report."""
    trouble = ""
    while True:
        time.sleep(seconds)
        try:
            _take_all(audit, network)
        except PenstockError as error:  # A switch that restarts, a file that is being written.
            if str(error) != trouble:
                trouble = str(error)
                say(json_text({"error": trouble}) if as_json else f"? {trouble}")
            continue
        trouble, now = "", audit.report()
        told = [*changes(report, now)]
        say_lines([json_text(now.as_json())] if as_json and told else told)
        report = now


def changes(before: Report, now: Report) -> Iterator[str]:
    """Yield what has come to be wrong or left out, and what is so no more, a line each."""
    were = {(one.kind, one.key): one for one in before.findings}
    are = {(one.kind, one.key): one for one in now.findings}
    yield from (f"+ {one.kind}: {one.message}" for key, one in are.items() if key not in were)
    yield from (f"- {one.kind}: {one.message}" for key, one in were.items() if key not in are)
    yield from (f"+ left out: {reason}" for reason in now.reasons if reason not in before.reasons)
    yield from (f"- left out: {reason}" for reason in before.reasons if reason not in now.reasons)


def _lines(report: Report) -> Iterator[str]:
    yield f"{report.switches} switches with {report.rules:,} rules."
    for kind in KINDS:
        yield from _of_kind(_TITLES[kind], [one for one in report.findings if one.kind == kind])
    names = list(report.reachability)
    if 1 < len(names) <= _MOST_HOSTS:
        width = max(map(len, (*names, "yes"))) + 2
        yield ""
        yield "Who reaches whom"
        yield " " * width + "".join(f"{name:>{width}}" for name in names)
        for a in names:
            cells = ("-" if a == b else _MARKS[report.reachability[a][b]] for b in names)
            yield f"{a:>{width}}" + "".join(f"{cell:>{width}}" for cell in cells)
    elif names:
        pairs = [answer for row in report.reachability.values() for answer in row.values()]
        yield ""
        yield f"Of {len(pairs):,} pairs of hosts {pairs.count('reached'):,} reach each other."
    for one in report.unread:
        yield f"Not read: line {one['line']} of {one['switch']}, {one['why']}: {one['text']}"
    for one in report.unknown:
        yield f"Not followed: {one['action']} in line {one['line']} of {one['switch']}"
    yield ""
    yield from (f"Left out: {reason}" for reason in report.reasons)
    count = len(report.findings)
    if count:
        told = f"{count} finding{'s' if count > 1 else ''}"
        yield f"{told}; there may be more, since something was left out." if report.reasons else f"{told}."
    elif report.reasons:
        yield "Nothing was found, but the audit is partial: something was left out."
    else:
        yield "Nothing is wrong, and nothing was left out."


def _of_kind(title: str, findings: list[Finding]) -> Iterator[str]:
    if findings:
        yield ""
        yield title
    yield from (f"  {one.message}" for one in findings[:_MOST_TOLD])
    if len(findings) > _MOST_TOLD:
        yield f"  and {len(findings) - _MOST_TOLD:,} more (--json has all)"
