"""PKT-SEQ: hosts send short sequences of packets only (NICE, section 5.1).

Two bounds, the same for all hosts: how many packets each sends, and how many of them may be unanswered at
a time.  The hosts themselves keep count, so this changes a scenario before anything is searched.  Hosts
that do not send a number of packets (servers, a user's own without a `count`) stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from penstock._base.typed import Count, Positive, Table
from penstock._explore.strategies.base import Strategy
from penstock._world.hosts import Host, HostMaker
from penstock._world.network import Network


@dataclass(frozen=True, slots=True)
class PacketSequences(Strategy):
    """Has hosts send at most `count` packets, at most `burst` of them unanswered (None: any number)."""

    name: ClassVar[str] = "pkt-seq"

    count: Count = 2
    burst: Positive | None = 1

    @property
    def remark(self) -> str:
        """What the strategy may have missed."""
        burst = "" if self.burst is None else f", with at most {self.burst} of them unanswered"
        return (
            f"pkt-seq: each host that sends a number of packets sent up to {self.count}{burst}, so what "
            f"needs longer sequences may have been missed."
        )

    def bounded(
        self, hosts: Mapping[str, Table | HostMaker], network: Network
    ) -> dict[str, Table | HostMaker]:
        """Return the hosts of a scenario with the bounds set, given the network that was made of it."""
        found = dict(hosts)
        for made in network.components:
            bounds = {key: getattr(self, key) for key in ("count", "burst") if hasattr(made, key)}
            if isinstance(made, Host) and bounds:
                given = hosts.get(made.name, {})
                found[made.name] = (
                    {**given, **bounds} if isinstance(given, Mapping) else partial(given, **bounds)
                )
        return found
