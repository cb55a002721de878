"""A router that watches how switches answer; when a slow one is quick again it calls what is not there.

Every two seconds each core switch is asked for an echo.  One that has not answered when the next is due
counts as congested.  The bug: when such a switch answers at last, a reporter is to be told, and there
never was one.  Control channels are hardly ever congested, so nobody has been on this path.

Mended, nobody is told where there is no reporter.
"""

from __future__ import annotations

from typing import Any

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub
from routing import Router

SECONDS_BETWEEN_ECHOES = 2
CORE = range(1, 5)
"""The switches at the core of the network, whose control channels are the longest."""


class WatchfulRouter(Router):
    """Routes packets, and knows which control channels are congested."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.asked: set[int] = set()
        self.congested: set[int] = set()
        self.reporter: Any = None
        self.threads.append(hub.spawn(self.watch))

    def watch(self) -> None:
        """Ask all switches for an echo, for ever."""
        while True:
            hub.sleep(SECONDS_BETWEEN_ECHOES)
            for number in sorted(self.switches.keys() & CORE):
                switch = self.switches[number]
                if number in self.asked:
                    self.congested.add(number)
                self.asked.add(number)
                switch.send_msg(switch.ofproto_parser.OFPEchoRequest(switch, b"watch"))

    def left(self, switch: Any) -> None:
        """Wait no longer for a switch."""
        super().left(switch)
        self.asked.discard(switch.id)
        self.congested.discard(switch.id)

    @set_ev_cls(ofp_event.EventOFPEchoReply, MAIN_DISPATCHER)
    def echoed(self, event: Any) -> None:
        """Note that a switch answers."""
        number = event.msg.datapath.id
        self.asked.discard(number)
        if number in self.congested:
            self.congested.discard(number)
            if self.reporter is not None or not self.mended:
                self.reporter.relieved(number)
