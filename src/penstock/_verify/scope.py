"""Whether a run that breaks a property is one that the scenario allows.

A proof has hosts send any number of packets.  Where the scenario itself says how many each host sends
(`count` in its table), a run that takes more of them is outside of what was asked: it is told, but it is no
violation of that scenario.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from penstock._scenario.scenario import Scenario
from penstock._verdict.verdict import Bound, Why
from penstock._verify.abstract_switch import MATCH, NOMATCH
from penstock._world.component import Endpoint
from penstock._world.hosts import Host
from penstock._world.network import Network
from penstock._world.transition import Record


def beyond(scenario: Scenario, network: Network, property_: str, records: Iterable[Record]) -> Bound | None:
    """Return in what way a run goes beyond a scenario, if it does.

    A host may send as many packets as all hosts together have of their own: they get answers too.
    """
    hosts = [made.name for made in network.components if isinstance(made, Host)]
    counts = {name: _count(scenario.hosts.get(name)) for name in hosts}
    if any(count is None for count in counts.values()):
        return None
    allowed = sum(count or 0 for count in counts.values())
    for host, sent in _sent(network, records).items():
        if sent > allowed:
            return Bound(
                f"{property_} is violated by a run in which {host} sends {sent} packets, while the "
                f"scenario's hosts send {allowed} in all and answer them (count in [hosts.{host}])",
                Why.SCOPE,
            )
    return None


def _count(table: Any) -> int | None:
    count = table.get("count") if isinstance(table, Mapping) else None
    return count if isinstance(count, int) else None


def _sent(network: Network, records: Iterable[Record]) -> Counter[str]:
    """Return how many packets come in from each host in a run."""
    at = {place: end.node for end, place in network.fabric.attachments}
    found: Counter[str] = Counter()
    for record in records:
        kind, _, rest = str(record.transition.what).partition(" ")
        port = rest.partition(" ")[0]
        if kind in (MATCH, NOMATCH) and port.isdecimal():
            sender = at.get(Endpoint(record.node, int(port)))
            found.update([sender] if sender else [])
    return found
