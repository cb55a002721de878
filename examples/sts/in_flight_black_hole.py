"""A router that looks for a link after a while; a packet that crosses it sooner is taken for a host there.

Ports that come up are probed when they have settled.  Until a link that recovered is found its ports pass for
hosts' ports: packets are flooded there, and come up behind the link as if their sender were there.  The bug:
when the link is found at last, the host stays where it was seen, which is a port that leads to a switch.
Whatever is sent to it ends there.  (POX learned host locations from packets in flight in this way.)

Mended, no host stays at the ports of a link that is found.
"""

from __future__ import annotations

from patient import PatientRouter
from routing import Place


class CredulousRouter(PatientRouter):
    """Routes packets to where hosts were last seen, whatever was found there since."""

    def found_link(self, here: Place, there: Place) -> None:
        """Note a link."""
        if self.mended:
            super().found_link(here, there)
        else:
            self.links[here], self.links[there] = there, here
            self.reroute()
