"""A router that counts packets by host; two of its timers, at the wrong moment, end in a KeyError.

A host that has been silent for 350 milliseconds is struck off the list.  When a port goes down, the
packets so far are summed up 145 milliseconds later, in peace: ten milliseconds for each host on the list.
The bug: who was on the list when the sum began may be struck off before its turn comes.

Mended, who is no longer on the list counts nothing.
"""

from __future__ import annotations

from typing import Any

from os_ken.lib import hub
from routing import Router

SILENCE, DELAY, EACH = 0.350, 0.145, 0.010
"""When a host is struck off, when a sum begins, and how long it takes for each host, in seconds."""


class CountingRouter(Router):
    """Routes packets, and counts them by host."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.packets: dict[str, int] = {}
        self.heard: dict[str, int] = {}

    def packet_in(self, switch: Any, in_port: int, frame: Any, message: Any) -> None:
        """Count a packet, and wait for silence."""
        super().packet_in(switch, in_port, frame, message)
        host = frame.src
        self.packets[host] = self.packets.get(host, 0) + 1
        self.heard[host] = self.heard.get(host, 0) + 1
        hub.spawn_after(SILENCE, self.strike_off, host, self.heard[host])

    def strike_off(self, host: str, heard: int) -> None:
        """Forget a host that was not heard of since."""
        if self.heard[host] == heard:
            del self.packets[host]

    def port_down(self, switch: Any, port: int) -> None:
        """Have the packets summed up."""
        super().port_down(switch, port)
        hub.spawn_after(DELAY, self.sum_up)

    def sum_up(self) -> None:
        """Sum up all packets without keeping others waiting."""
        total = 0
        for host in sorted(self.packets):
            hub.sleep(EACH)
            total += self.packets.get(host, 0) if self.mended else self.packets[host]
        self.logger.info("%d packets so far", total)
