"""A controller that keeps a record of each port that comes back, and ends when it has no more room.

The leak of `examples/sts/memory_leak.py` in a process that is out of memory at last, and therefore ends.  How
many recoveries that takes depends on nothing else: not on time, and not on what comes in between.
"""

from __future__ import annotations

import os
from typing import Any, ClassVar

from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.ofproto import ofproto_v1_3

RECORDS = 3
_OUT_OF_MEMORY = 1


class Leaking(app_manager.OSKenApp):  # type: ignore[misc]
    """Remembers which ports were down."""

    OFP_VERSIONS: ClassVar = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.records: list[tuple[int, int]] = []

    @set_ev_cls(ofp_event.EventOFPPortStatus, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def port_changed(self, event: Any) -> None:
        """Keep a record of a port that is up again."""
        port = event.msg.desc
        if port.state & ofproto_v1_3.OFPPS_LINK_DOWN:
            return
        if len(self.records) == RECORDS:
            os._exit(_OUT_OF_MEMORY)
        self.records.append((event.msg.datapath.id, port.port_no))
