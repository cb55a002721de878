"""Actions and instructions, one set for both versions.

Version 1.0's setters are `SetField`s where 1.3 has the same; the four that mean something else
there (they create a tag, or serve TCP and UDP alike) are classes of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Final

from penstock.openflow.fields import BY_NAME
from penstock.openflow.match import port_text, value_text


@dataclass(frozen=True, slots=True)
class Output:
    """Send the packet out of a port; `max_len` bounds what a controller is sent."""

    port: int
    max_len: int = 0xFFFF

    def __str__(self) -> str:
        return f"output:{port_text(self.port)}"


@dataclass(frozen=True, slots=True)
class Group:
    """Process the packet through a group."""

    group_id: int

    def __str__(self) -> str:
        return f"group:{self.group_id}"


@dataclass(frozen=True, slots=True)
class SetQueue:
    """Choose the queue of the port the packet leaves by."""

    queue_id: int

    def __str__(self) -> str:
        return f"set_queue:{self.queue_id}"


@dataclass(frozen=True, slots=True)
class Enqueue:
    """Send the packet out of a port through one of its queues (1.0)."""

    port: int
    queue_id: int

    def __str__(self) -> str:
        return f"enqueue:{port_text(self.port)}:{self.queue_id}"


@dataclass(frozen=True, slots=True)
class SetField:
    """Write a header field."""

    field: str
    value: int

    def __str__(self) -> str:
        return f"set_{self.field}:{value_text(BY_NAME[self.field], self.value)}"


@dataclass(frozen=True, slots=True)
class SetVlanVid:
    """Write the VLAN id, adding a tag where there is none (1.0)."""

    vid: int

    def __str__(self) -> str:
        return f"set_vlan_vid:{self.vid}"


@dataclass(frozen=True, slots=True)
class SetVlanPcp:
    """Write the VLAN priority, adding a tag where there is none (1.0)."""

    pcp: int

    def __str__(self) -> str:
        return f"set_vlan_pcp:{self.pcp}"


@dataclass(frozen=True, slots=True)
class SetTransportSrc:
    """Write the source port of TCP, UDP or SCTP (1.0)."""

    port: int

    def __str__(self) -> str:
        return f"set_tp_src:{self.port}"


@dataclass(frozen=True, slots=True)
class SetTransportDst:
    """Write the destination port of TCP, UDP or SCTP (1.0)."""

    port: int

    def __str__(self) -> str:
        return f"set_tp_dst:{self.port}"


@dataclass(frozen=True, slots=True)
class PushVlan:
    """Put a new outermost VLAN tag of this Ethernet type on the packet."""

    ethertype: int

    def __str__(self) -> str:
        return f"push_vlan:0x{self.ethertype:04x}"


@dataclass(frozen=True, slots=True)
class PopVlan:
    """Take the outermost VLAN tag off the packet (1.0's STRIP_VLAN)."""

    def __str__(self) -> str:
        return "pop_vlan"


@dataclass(frozen=True, slots=True)
class PushMpls:
    """Put a new outermost MPLS label on the packet."""

    ethertype: int

    def __str__(self) -> str:
        return f"push_mpls:0x{self.ethertype:04x}"


@dataclass(frozen=True, slots=True)
class PopMpls:
    """Take the outermost MPLS label off; what lies below has this Ethernet type."""

    ethertype: int

    def __str__(self) -> str:
        return f"pop_mpls:0x{self.ethertype:04x}"


@dataclass(frozen=True, slots=True)
class PushPbb:
    """Put a PBB service tag on the packet."""

    ethertype: int

    def __str__(self) -> str:
        return f"push_pbb:0x{self.ethertype:04x}"


@dataclass(frozen=True, slots=True)
class PopPbb:
    """Take the PBB service tag off the packet."""

    def __str__(self) -> str:
        return "pop_pbb"


@dataclass(frozen=True, slots=True)
class SetNwTtl:
    """Write the IP time to live."""

    ttl: int

    def __str__(self) -> str:
        return f"set_nw_ttl:{self.ttl}"


@dataclass(frozen=True, slots=True)
class DecNwTtl:
    """Count the IP time to live down; at the end the packet goes to the controller."""

    def __str__(self) -> str:
        return "dec_nw_ttl"


@dataclass(frozen=True, slots=True)
class SetMplsTtl:
    """Write the MPLS time to live."""

    ttl: int

    def __str__(self) -> str:
        return f"set_mpls_ttl:{self.ttl}"


@dataclass(frozen=True, slots=True)
class DecMplsTtl:
    """Count the MPLS time to live down."""

    def __str__(self) -> str:
        return "dec_mpls_ttl"


@dataclass(frozen=True, slots=True)
class CopyTtlOut:
    """Copy the time to live outwards."""

    def __str__(self) -> str:
        return "copy_ttl_out"


@dataclass(frozen=True, slots=True)
class CopyTtlIn:
    """Copy the time to live inwards."""

    def __str__(self) -> str:
        return "copy_ttl_in"


@dataclass(frozen=True, slots=True)
class ExperimenterAction:
    """A vendor's action, kept as the bytes after the vendor's number."""

    experimenter: int
    body: bytes

    def __str__(self) -> str:
        return f"experimenter:0x{self.experimenter:x}"


@dataclass(frozen=True, slots=True)
class UnknownAction:
    """An action that is known by its text alone, as a flow dump has it; no message carries one."""

    text: str

    def __str__(self) -> str:
        return self.text


Action = (
    Output
    | Group
    | SetQueue
    | Enqueue
    | SetField
    | SetVlanVid
    | SetVlanPcp
    | SetTransportSrc
    | SetTransportDst
    | PushVlan
    | PopVlan
    | PushMpls
    | PopMpls
    | PushPbb
    | PopPbb
    | SetNwTtl
    | DecNwTtl
    | SetMplsTtl
    | DecMplsTtl
    | CopyTtlOut
    | CopyTtlIn
    | ExperimenterAction
    | UnknownAction
)


_MANY: Final = 4
"""How often an action must come in a row to be told with a number."""


def actions_text(actions: tuple[Action, ...]) -> str:
    """Return a list of actions as one readable word; no action means the packet is dropped.

    An action that comes many times in a row is told once, with how often.
    """
    if len(actions) < _MANY:
        return ",".join(map(str, actions)) or "drop"
    runs = ((str(action), sum(1 for _ in run)) for action, run in groupby(actions))
    return ",".join(f"{text}×{often}" if often >= _MANY else ",".join([text] * often) for text, often in runs)


@dataclass(frozen=True, slots=True)
class GotoTable:
    """Go on in a later table."""

    table_id: int

    def __str__(self) -> str:
        return f"goto:{self.table_id}"


@dataclass(frozen=True, slots=True)
class WriteMetadata:
    """Write some bits of the metadata that travels between tables."""

    value: int
    mask: int = 0xFFFFFFFFFFFFFFFF

    def __str__(self) -> str:
        return f"metadata:0x{self.value:x}/0x{self.mask:x}"


@dataclass(frozen=True, slots=True)
class WriteActions:
    """Merge actions into the action set."""

    actions: tuple[Action, ...]

    def __str__(self) -> str:
        return f"write({actions_text(self.actions)})"


@dataclass(frozen=True, slots=True)
class ApplyActions:
    """Perform actions at once, in order."""

    actions: tuple[Action, ...]

    def __str__(self) -> str:
        return actions_text(self.actions)


@dataclass(frozen=True, slots=True)
class ClearActions:
    """Empty the action set."""

    def __str__(self) -> str:
        return "clear"


@dataclass(frozen=True, slots=True)
class UseMeter:
    """Count the packet in a meter."""

    meter_id: int

    def __str__(self) -> str:
        return f"meter:{self.meter_id}"


@dataclass(frozen=True, slots=True)
class ExperimenterInstruction:
    """A vendor's instruction, kept as the bytes after the vendor's number."""

    experimenter: int
    body: bytes

    def __str__(self) -> str:
        return f"experimenter:0x{self.experimenter:x}"


Instruction = (
    GotoTable
    | WriteMetadata
    | WriteActions
    | ApplyActions
    | ClearActions
    | UseMeter
    | ExperimenterInstruction
)


def instructions_text(instructions: tuple[Instruction, ...]) -> str:
    """Return instructions as one readable word."""
    return " ".join(map(str, instructions)) or "drop"
