"""A router that keeps the states of all ports in one list, and writes one entry too far.

The list has a row for each switch: an alarm, then a record for each port with how often it came and went.
The bug: rows are as long as there are ports, which forgets the alarm.  So the last record of a row is in
the place of the next row's alarm.  When a host's port goes down, its switch's alarm overwrites that record;
nobody looks at it until that last port changes, much later, and its record turns out to be none.

Mended, rows are one longer.
"""

from __future__ import annotations

from typing import Any

from routing import Router

PORTS = 4
"""How many ports a switch has."""
HOST_PORT = 1


class MonitoredRouter(Router):
    """Routes packets, and counts how often ports come and go."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.row = PORTS + 1 if self.mended else PORTS
        self.cells: list[Any] = []

    def joined(self, switch: Any) -> None:
        """Make room for the states of a new switch's ports."""
        super().joined(switch)
        self.cells += ([0, 0] for _ in range(switch.id * self.row + 1 - len(self.cells)))

    def port_up(self, switch: Any, port: int) -> None:
        """Count a port that came."""
        self.cells[self.row * (switch.id - 1) + port][0] += 1
        super().port_up(switch, port)

    def port_down(self, switch: Any, port: int) -> None:
        """Count a port that went, and give the alarm for a host."""
        begin = self.row * (switch.id - 1)
        self.cells[begin + port][1] += 1
        if port == HOST_PORT:
            self.cells[begin] = f"the host of switch {switch.id} is gone"
        super().port_down(switch, port)
