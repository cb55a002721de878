"""What a switch does without a controller: `OFPP_NORMAL`, as Open vSwitch has it.

A packet that is output to `OFPP_NORMAL` teaches the switch, for its VLAN, that its sender is at the port by
which it came in.  It leaves by the port where its receiver was learned to be; where none was, or if it is for
a group, by all others that take part in flooding.  A packet without a tag is in VLAN 0.  Nothing is learned
of a packet that a controller sends as its own.  Frames that bridges send each other go no further.  What was
learned lasts five minutes, if time passes, and neither ends with a link nor leaves room for others.

There is no spanning tree: in a network with a cycle, a flood goes round.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock._base.frozen import FrozenMap
from penstock.openflow.messages import PortNo

AGING_MS: Final = 300_000
"""After how long without a packet from it a host is forgotten, as by Open vSwitch's default."""

OF_BRIDGES: Final = (0x0180C2000000, 0xFFFFFFFFFFF0)
"""Addresses of what bridges tell each other (IEEE 802.1D), and which of their bits count."""

OF_VENDORS: Final = (
    *(0x00E02B000000, 0x00E02B000004, 0x00E02B000006),
    *(0x01000C000000, 0x01000CCCCCCC, 0x01000CCCCCCD, 0x01000CCDCDCD, *range(0x01000CCCCCC0, 0x01000CCCCCC8)),
)
"""Such addresses of protocols of Extreme and Cisco, which Open vSwitch knows too."""

VID: Final = 0xFFF
"""The bits of a tag that name the VLAN."""

GROUP: Final = 1 << 40
"""The bit of an address that tells a group's from a host's."""

_NOWHERE: Final = (PortNo.ANY, PortNo.CONTROLLER)


class Learned(NamedTuple):
    """The port that packets of a host last came in by, and when."""

    port: int
    at: int = 0


Addresses = FrozenMap[tuple[int, int], Learned]
"""Where hosts are, by VLAN and MAC address."""


def vlan_of(tag: int) -> int:
    """Return a packet's VLAN, by its tag."""
    return tag & VID


def is_reserved(address: int) -> bool:
    """Tell whether frames to an address are between bridges."""
    prefix, mask = OF_BRIDGES
    return address & mask == prefix or address in OF_VENDORS


def with_sender(addresses: Addresses, vlan: int, sender: int, port: int, now: int) -> Addresses:
    """Return what a switch knows once it has seen a packet."""
    if sender & GROUP or port in _NOWHERE:
        return addresses
    known = Learned(port, now)
    return addresses if addresses.get((vlan, sender)) == known else addresses.set((vlan, sender), known)


def port_of(addresses: Addresses, vlan: int, receiver: int, now: int) -> int | None:
    """Return the port where a receiver is; None if that is not known, or it is a group."""
    known = None if receiver & GROUP else addresses.get((vlan, receiver))
    return known.port if known is not None and now - known.at < AGING_MS else None
