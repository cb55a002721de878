"""A router that takes a minute to find a link; what crosses the link sooner makes a loop.

A link that recovered is not known until its ports have settled and are probed. A packet that is flooded
meanwhile crosses it and comes up behind it, and its sender is believed to be there. The bug: nobody
waits for the links before believing that. The switch at that end now sends the host's packets over the
link; the one at the other end, which knows nothing of the link, sends them the long way round, back to
the first. (NOX ended in a loop between three switches when it confused a host's place before it knew the
links.)

Mended, a port that comes up is probed at once.
"""

from __future__ import annotations

from typing import Any, ClassVar

from patient import PatientRouter


class HastyRouter(PatientRouter):
    """Routes packets by the links that are known so far."""

    seconds_to_settle: ClassVar = 60

    def port_up(self, switch: Any, port: int) -> None:
        """Note that a port is there, or look where it leads."""
        super().port_up(switch, port)
        if self.mended:
            self.probe(switch, {port})
