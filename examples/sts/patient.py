"""A router that lets a port that comes up settle before it looks where the port leads.

Until it has looked, the port passes for a host's.
"""

from __future__ import annotations

from typing import Any, ClassVar

from os_ken.lib import hub
from routing import Router


class PatientRouter(Router):
    """Routes packets along links that it finds some time after they are there."""

    seconds_to_settle: ClassVar = 1.5

    def port_up(self, switch: Any, port: int) -> None:
        """Note that a port is there; where it leads will be found out."""
        self.ports[switch.id].add(port)
        self.reroute()
        hub.spawn_after(self.seconds_to_settle, self.look, switch, port)

    def look(self, switch: Any, port: int) -> None:
        """Look where a port leads, if it is still there."""
        if port in self.ports.get(switch.id, ()):
            self.probe(switch, {port})
