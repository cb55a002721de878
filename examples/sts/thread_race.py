"""A router with a thread for each change of a port; two of them at once end in a KeyError.

Ports are damped: their state is settled a while after they change, sooner when they come up than when they
go down, each in a thread of its own.  Who waits is on a list.  The bug: both threads take the port off the
list, and nothing keeps them apart; when a port comes up while the thread of its going down still waits, the
first takes away what the second needs.

Mended, a thread that comes second waits until the first is done.
"""

from __future__ import annotations

from typing import Any

from os_ken.lib import hub
from routing import Place, Router

DAMPING = {True: 0.001, False: 0.005}
"""How many seconds it takes until a port that is up, or down, is believed to be."""


class DampingRouter(Router):
    """Routes packets, and settles the states of ports at leisure."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.unsettled: dict[Place, bool] = {}
        self.states: dict[Place, bool] = {}
        self.turn = hub.BoundedSemaphore(1)

    def port_up(self, switch: Any, port: int) -> None:
        """Look where a port leads."""
        super().port_up(switch, port)
        hub.spawn(self.change, (switch.id, port), True)

    def port_down(self, switch: Any, port: int) -> None:
        """Do without whatever a port led to."""
        super().port_down(switch, port)
        hub.spawn(self.change, (switch.id, port), False)

    def change(self, place: Place, is_up: bool) -> None:
        """Settle a port's state, one after the other or not."""
        if not self.mended:
            self.settle(place, is_up)
            return
        with self.turn:
            self.settle(place, is_up)

    def settle(self, place: Place, is_up: bool) -> None:
        """Settle a port's state after a while."""
        self.unsettled[place] = is_up
        hub.sleep(DAMPING[is_up])
        self.states[place] = self.unsettled.pop(place)
