"""Routers that run side by side, of which one is in charge of the network at a time.

All of them hear of links and ports; only who is in charge touches the switches.  Where hosts are is planned:
the host with the number of a switch is at its port 1.  Members know each other by their rank.
"""

from __future__ import annotations

from typing import Any

from os_ken import cfg
from routing import Router

cfg.CONF.register_cli_opts([cfg.IntOpt("rank", default=0, help="the member's place in the cluster, from 0")])

HOST_PORT = 1


class Member(Router):
    """A router that leaves the switches alone unless it is in charge."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rank: int = self.CONF.rank

    def joined(self, switch: Any) -> None:
        """Take a new switch in, and the host that is planned there."""
        super().joined(switch)
        if HOST_PORT in self.ports[switch.id]:
            self.found_host(planned_host(switch.id), (switch.id, HOST_PORT))

    def port_up(self, switch: Any, port: int) -> None:
        """Look where a port leads, unless it is planned."""
        super().port_up(switch, port)
        if port == HOST_PORT:
            self.found_host(planned_host(switch.id), (switch.id, HOST_PORT))

    def take_over(self) -> None:
        """Take charge of the network, whatever its state is."""
        self.rules.clear()
        for _, switch in sorted(self.switches.items()):
            self.prepare(switch)
        self.reroute()


def planned_host(switch: int) -> str:
    """Return the address of the host at a switch."""
    return f"00:00:00:00:00:{switch:02x}"
