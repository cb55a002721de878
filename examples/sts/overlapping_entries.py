"""A manager that shields servers from traffic, beside a learning switch whose rules override its own.

A server that is under attack asks for protection with a broadcast datagram.  The manager has every switch
drop what is sent to it.  The bug: those rules have a lower priority than the learning switch's, and whoever
has talked to the server goes on doing so.

Mended, the manager's rules have the highest priority.
"""

from __future__ import annotations

from typing import Any

from os_ken.lib.packet import ether_types, packet, udp
from shields import SHIELD
from switching import SwitchingApp

EVERYBODY = "ff:ff:ff:ff:ff:ff"
LOW, HIGH = 5, 100
"""Priorities below and above those of the learning switch."""


class CapabilityManager(SwitchingApp):
    """Has packets to servers that ask for it dropped as early as possible."""

    def packet_in(self, _switch: Any, _in_port: int, frame: Any, message: Any) -> None:
        """Grant a server its protection."""
        if frame.dst == EVERYBODY and packet.Packet(message.data).get_protocol(udp.udp) is not None:
            match = {"eth_type": ether_types.ETH_TYPE_IP, "eth_dst": frame.src}
            for _, each in sorted(self.switches.items()):
                self.install(each, HIGH if self.mended else LOW, match, [], cookie=SHIELD)
