"""A learning switch that never gives back what a handshake takes; after enough of them it runs out.

All records are kept in a pool of thirty.  Each handshake takes one for the session and one for each port.
The bug: the session's end gives back nothing, so after a number of handshakes that has nothing to do with
how many switches there are the pool is empty, and a MemoryError follows.

Mended, a session that ends gives back its records.
"""

from __future__ import annotations

from typing import Any

from switching import LearningApp

CAPACITY = 30


class PooledSwitch(LearningApp):
    """Learns where hosts are, with as many records as a small machine has."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.pool: list[tuple[int, str]] = []

    def allocate(self, switch: Any, what: str) -> None:
        """Take a record from the pool."""
        if len(self.pool) == CAPACITY:
            raise MemoryError(f"all {CAPACITY} records are taken")
        self.pool.append((switch.id, what))

    def joined(self, switch: Any) -> None:
        """Make records of a new session."""
        self.allocate(switch, "session")
        for port in sorted(number for number in switch.ports if number <= switch.ofproto.OFPP_MAX):
            self.allocate(switch, f"port {port}")
        super().joined(switch)

    def left(self, switch: Any) -> None:
        """Clear away after a session."""
        super().left(switch)
        if self.mended:
            self.pool = [(owner, what) for owner, what in self.pool if owner != switch.id]
