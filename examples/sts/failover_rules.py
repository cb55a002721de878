"""What must hold of a network that somebody leads: no rule sends packets to a port that is down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from leases import LEASE, RANKS

from penstock import FABRIC, Network, Property, Switch, Violated


class LedRulesLeadSomewhere(Property):
    """While a living controller holds the lease, no rule leads to a dead port."""

    sentence = "While somebody leads the network, no rule sends packets to a port that is down."
    needs = "a lease on a switch"

    def __init__(self) -> None:
        self._switches: tuple[str, ...] = ()

    def start(self, network: Network, /) -> None:
        """Learn which components are switches."""
        self._switches = tuple(made.name for made in network.components if isinstance(made, Switch))

    def at_rest(self, _state: None, states: Mapping[str, Any], /) -> bool:
        """Judge the tables of every switch with a lease."""
        judged = False
        for name in self._switches:
            entries = [entry for table in states[name].tables.values() for entry in table]
            holders = [entry.cookie & RANKS for entry in entries if entry.cookie & ~RANKS == LEASE]
            if not holders or f"c{holders[0]}" in states[FABRIC].wiring.off:
                continue
            judged = True
            for entry in entries:
                for port in _outputs(entry):
                    if port in states[name].ports and not states[name].ports[port].usable:
                        broken = "The network is led but sends packets to a dead port"
                        raise Violated(f"{broken}: {name} has {entry}.")
        return judged


def _outputs(entry: Any) -> Iterator[int]:
    """Yield the ports that an entry sends packets to."""
    for instruction in entry.instructions:
        for action in getattr(instruction, "actions", ()):
            if hasattr(action, "port"):
                yield action.port
