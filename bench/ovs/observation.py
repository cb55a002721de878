"""What a program's step made visible: frames per port, messages per controller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock.openflow.messages import OpenFlowMessage
from penstock.openflow.stats import FlowRequest, StatsRequest

Frames = dict[int, tuple[bytes, ...]]
Messages = dict[str, tuple[OpenFlowMessage, ...]]

PROBE: Final = StatsRequest(FlowRequest(), xid=0xFACE)
"""Asked by the first controller after every step, so that each counter is seen as it changes."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What one step made visible, in order per port and per controller."""

    frames: Frames
    messages: Messages
