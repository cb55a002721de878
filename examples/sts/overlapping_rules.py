"""What must hold of servers that are protected: no rule hands them packets at a switch that shields them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from shields import SHIELD

from penstock import Network, Property, Switch, Violated


class ShieldsHold(Property):
    """No rule with a higher priority than a shield lets packets to the same receiver pass."""

    sentence = "What a shield drops is not forwarded by another rule."
    needs = "a server that asks for protection"

    def __init__(self) -> None:
        self._switches: tuple[str, ...] = ()

    def start(self, network: Network, /) -> None:
        """Learn which components are switches."""
        self._switches = tuple(made.name for made in network.components if isinstance(made, Switch))

    @property
    def reads(self) -> tuple[str, ...]:
        """The tables of all switches are looked at."""
        return self._switches

    def check(self, states: Mapping[str, Any], /) -> bool:
        """Look for rules over each shield."""
        shields = [(name, entry) for name in self._switches for entry in _entries(states[name])]
        shields = [(name, entry) for name, entry in shields if entry.cookie == SHIELD]
        for name, shield in shields:
            for entry in _entries(states[name]):
                over = entry.priority > shield.priority and entry.instructions
                if over and _receiver(entry) == _receiver(shield):
                    raise Violated(f"{name} forwards what it is to drop: {entry} is over {shield}.")
        return bool(shields)


def _entries(state: Any) -> Iterator[Any]:
    for table in state.tables.values():
        yield from table


def _receiver(entry: Any) -> Any:
    return {term.field: term for term in entry.match.terms}.get("eth_dst")
