"""Knowing a packet again that a controller sends back.

The model gives packets names, which no message on a wire carries.  A packet_out with the very bytes of
a packet that the controller was handed lately is that packet, so it gets its name back; what a buffer
holds keeps its name by itself.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Final

from penstock.openflow.messages import OpenFlowMessage, PacketIn, PacketOut

_REMEMBERED: Final = 1000


class Tags:
    """The names of the packets that a controller was handed last."""

    def __init__(self) -> None:
        self._names: OrderedDict[bytes, str] = OrderedDict()

    def hand_over(self, message: OpenFlowMessage) -> None:
        """Remember a packet that the controller is given."""
        if isinstance(message, PacketIn) and message.tag:
            self._names[message.data] = message.tag
            self._names.move_to_end(message.data)
            if len(self._names) > _REMEMBERED:
                self._names.popitem(last=False)

    def take_back(self, message: OpenFlowMessage) -> OpenFlowMessage:
        """Return a message of the controller's with the name of the packet in it, where that is known."""
        if isinstance(message, PacketOut) and message.data in self._names:
            return replace(message, tag=self._names[message.data])
        return message
