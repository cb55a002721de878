"""A controller that fails by chance: at the third recovery of a port, and only as often as the dice say."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.ofproto import ofproto_v1_3

RECOVERIES = 3


class Chancy(app_manager.OSKenApp):  # type: ignore[misc]
    """Counts how often ports recover."""

    OFP_VERSIONS: ClassVar = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.recoveries = 0

    @set_ev_cls(ofp_event.EventOFPPortStatus, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def port_changed(self, event: Any) -> None:
        """Count a recovery; the third may be one too many."""
        if event.msg.desc.state & ofproto_v1_3.OFPPS_LINK_DOWN:
            return
        self.recoveries += 1
        # Looked up at each use: what the app refers to would be put back with its state.
        if self.recoveries == RECOVERIES and import_module("bench.sts_dice").happens():
            raise RuntimeError("the third recovery")
