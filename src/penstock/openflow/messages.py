"""OpenFlow messages as values, one set for versions 1.0 and 1.3.

The codec of a version turns them into bytes and back.  What only one version has is left at its
default in the other.  Port numbers are 1.3's 32-bit ones; a 1.0 match is written with 1.3's
fields, a 1.0 action list as one `ApplyActions`.  Bit sets (port configuration, features) keep
the bits of the session's version.  Statistics are in `stats`.

`tag` is the model's name for the packet inside (see `_world.frame`); no codec writes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Final

from penstock.addresses import mac_text
from penstock.openflow.actions import Action, Instruction, actions_text, instructions_text
from penstock.openflow.error_codes import name_of
from penstock.openflow.match import ANYTHING, Match, port_text

V10: Final = 1
V13: Final = 4
VERSIONS: Final = {"1.0": V10, "1.3": V13}
"""The versions that are modelled, by name."""


NO_BUFFER: Final = 0xFFFFFFFF
ALL_TABLES: Final = 0xFF
ANY_GROUP: Final = 0xFFFFFFFF
ALL_GROUPS: Final = 0xFFFFFFFC
MAX_GROUP: Final = 0xFFFFFF00
ALL_METERS: Final = 0xFFFFFFFF
MAX_METER: Final = 0xFFFF0000
NO_MAX_LEN: Final = 0xFFFF
DEFAULT_MISS_LEN: Final = 128


class PortNo(IntEnum):
    """Reserved port numbers."""

    MAX = 0xFFFFFF00
    IN_PORT = 0xFFFFFFF8
    TABLE = 0xFFFFFFF9
    NORMAL = 0xFFFFFFFA
    FLOOD = 0xFFFFFFFB
    ALL = 0xFFFFFFFC
    CONTROLLER = 0xFFFFFFFD
    LOCAL = 0xFFFFFFFE
    ANY = 0xFFFFFFFF


class FlowCommand(IntEnum):
    """What a flow-mod does."""

    ADD = 0
    MODIFY = 1
    MODIFY_STRICT = 2
    DELETE = 3
    DELETE_STRICT = 4


class FlowFlag(IntFlag):
    """Flags of a flow-mod; EMERG is 1.0's meaning of bit 2, RESET_COUNTS 1.3's."""

    SEND_FLOW_REM = 1
    CHECK_OVERLAP = 2
    RESET_COUNTS = 4
    EMERG = 4
    NO_PKT_COUNTS = 8
    NO_BYT_COUNTS = 16


class PacketInReason(IntEnum):
    """Why a packet was sent to the controller."""

    NO_MATCH = 0
    ACTION = 1
    INVALID_TTL = 2


class FlowRemovedReason(IntEnum):
    """Why a flow entry went away."""

    IDLE_TIMEOUT = 0
    HARD_TIMEOUT = 1
    DELETE = 2
    GROUP_DELETE = 3


class PortReason(IntEnum):
    """What happened to a port."""

    ADD = 0
    DELETE = 1
    MODIFY = 2


class PortConfig(IntFlag):
    """How a port is configured; the odd ones are 1.0's."""

    DOWN = 1
    NO_STP = 2
    NO_RECV = 4
    NO_RECV_STP = 8
    NO_FLOOD = 16
    NO_FWD = 32
    NO_PACKET_IN = 64


class PortState(IntFlag):
    """What a port reports of itself."""

    LINK_DOWN = 1
    BLOCKED = 2
    LIVE = 4


class GroupCommand(IntEnum):
    """What a group-mod does."""

    ADD = 0
    MODIFY = 1
    DELETE = 2


class GroupType(IntEnum):
    """How a group treats its buckets."""

    ALL = 0
    SELECT = 1
    INDIRECT = 2
    FAST_FAILOVER = 3


class MeterCommand(IntEnum):
    """What a meter-mod does."""

    ADD = 0
    MODIFY = 1
    DELETE = 2


class Role(IntEnum):
    """A controller's standing at a switch."""

    NOCHANGE = 0
    EQUAL = 1
    MASTER = 2
    SLAVE = 3


def _called(names: type[IntEnum], number: int) -> str:
    """Return the name of a number that came over a wire, or the number if it has none."""
    try:
        return names(number).name.lower()
    except ValueError:
        return f"#{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFlowMessage:
    """What every message has."""

    xid: int = 0

    def __str__(self) -> str:
        return type(self).__name__


@dataclass(frozen=True, slots=True)
class Hello(OpenFlowMessage):
    """The greeting; `versions` is 1.3's bitmap of spoken versions, None where none was sent."""

    versions: frozenset[int] | None = None
    version: int = 0
    """The version in the header of a received greeting; ignored when sending."""

    def offers(self, version: int) -> bool:
        """Tell whether a peer that greets so speaks a version: without a bitmap, any up to its own."""
        if self.versions is not None:
            return version in self.versions
        return self.version == 0 or self.version >= version


def greeting(version: int) -> Hello:
    """Return the greeting of a peer that speaks one version.

    The bitmap of versions is 1.3's: peers of 1.0 need not expect it, and old POX hangs up on it.
    """
    return Hello() if version == V10 else Hello(frozenset({version}))


@dataclass(frozen=True, slots=True)
class Error(OpenFlowMessage):
    """A refusal: numbers of the session's version, and the refused message as far as it fits."""

    type: int
    code: int
    data: bytes = b""

    def __str__(self) -> str:
        return f"Error({self.type},{self.code})"

    def name(self, version: int) -> str:
        """Return what the numbers mean in a version."""
        return name_of(version, self.type, self.code)


@dataclass(frozen=True, slots=True)
class EchoRequest(OpenFlowMessage):
    """Are you there?"""

    data: bytes = b""


@dataclass(frozen=True, slots=True)
class EchoReply(OpenFlowMessage):
    """I am here."""

    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Experimenter(OpenFlowMessage):
    """A vendor's message, kept as the bytes after the vendor's number (1.0: VENDOR, no type)."""

    experimenter: int
    exp_type: int = 0
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class FeaturesRequest(OpenFlowMessage):
    """Who are you and what can you do?"""


@dataclass(frozen=True, slots=True)
class Port:
    """A switch port as it is described to controllers; the speeds are 1.3's."""

    port_no: int
    hw_addr: int
    name: str
    config: int = 0
    state: int = 0
    curr: int = 0
    advertised: int = 0
    supported: int = 0
    peer: int = 0
    curr_speed: int = 0
    max_speed: int = 0

    def __str__(self) -> str:
        marks = ("down " if self.config & 1 else "") + ("no-link " if self.state & 1 else "")
        return f"{self.name} (port {port_text(self.port_no)}, {marks}{mac_text(self.hw_addr)})"


@dataclass(frozen=True, slots=True)
class FeaturesReply(OpenFlowMessage):
    """The switch introduces itself; `actions` and `ports` are 1.0's."""

    datapath_id: int
    n_buffers: int
    n_tables: int
    capabilities: int
    actions: int = 0
    ports: tuple[Port, ...] = ()
    auxiliary_id: int = 0

    def __str__(self) -> str:
        return f"FeaturesReply(dpid={self.datapath_id:#x})"


@dataclass(frozen=True, slots=True)
class GetConfigRequest(OpenFlowMessage):
    """How are you configured?"""


@dataclass(frozen=True, slots=True)
class GetConfigReply(OpenFlowMessage):
    """Fragment handling, and how much of a missed packet is sent to the controller."""

    flags: int = 0
    miss_send_len: int = DEFAULT_MISS_LEN


@dataclass(frozen=True, slots=True)
class SetConfig(OpenFlowMessage):
    """Sets what `GetConfigReply` tells."""

    flags: int = 0
    miss_send_len: int = DEFAULT_MISS_LEN


@dataclass(frozen=True, slots=True)
class PacketIn(OpenFlowMessage):
    """A packet that a switch hands to the controller; `match` holds the input port."""

    buffer_id: int
    total_len: int
    reason: int
    match: Match
    data: bytes
    table_id: int = 0
    cookie: int = 0
    tag: str = ""

    @property
    def in_port(self) -> int:
        """The port the packet came in by."""
        return self.match.value("in_port") or 0

    def __str__(self) -> str:
        return f"PacketIn(port={port_text(self.in_port)}, {_called(PacketInReason, self.reason)})"


@dataclass(frozen=True, slots=True)
class FlowRemoved(OpenFlowMessage):
    """A flow entry went away."""

    match: Match
    cookie: int
    priority: int
    reason: int
    table_id: int
    duration_sec: int
    duration_nsec: int
    idle_timeout: int
    hard_timeout: int
    packet_count: int
    byte_count: int

    def __str__(self) -> str:
        return f"FlowRemoved({self.match}, {_called(FlowRemovedReason, self.reason)})"


@dataclass(frozen=True, slots=True)
class PortStatus(OpenFlowMessage):
    """A port appeared, vanished or changed."""

    reason: int
    desc: Port

    def __str__(self) -> str:
        return f"PortStatus({_called(PortReason, self.reason)} {self.desc})"


@dataclass(frozen=True, slots=True)
class PacketOut(OpenFlowMessage):
    """The controller has the switch send a packet."""

    buffer_id: int
    in_port: int
    actions: tuple[Action, ...]
    data: bytes = b""
    tag: str = ""

    def __str__(self) -> str:
        what = f"buffer {self.buffer_id}" if self.buffer_id != NO_BUFFER else f"{len(self.data)} bytes"
        return f"PacketOut({what}, {actions_text(self.actions)})"


@dataclass(frozen=True, slots=True)
class FlowMod(OpenFlowMessage):
    """The controller changes a flow table."""

    command: int
    match: Match = ANYTHING
    instructions: tuple[Instruction, ...] = ()
    priority: int = 0x8000
    table_id: int = 0
    idle_timeout: int = 0
    hard_timeout: int = 0
    cookie: int = 0
    cookie_mask: int = 0
    buffer_id: int = NO_BUFFER
    out_port: int = PortNo.ANY
    out_group: int = ANY_GROUP
    flags: int = 0

    def __str__(self) -> str:
        command = _called(FlowCommand, self.command)
        table = f"table={self.table_id} " if self.table_id else ""
        does = f" -> {instructions_text(self.instructions)}"
        if self.command >= FlowCommand.DELETE:
            does = "" if self.out_port == PortNo.ANY else f" out_port={port_text(self.out_port)}"
        # Whoever deletes all that a match covers does so whatever the priority (1.3 §6.4).
        priority = "" if self.command == FlowCommand.DELETE else f"priority={self.priority} "
        return f"FlowMod({command} {table}{priority}{self.match}{does})"


@dataclass(frozen=True, slots=True)
class Bucket:
    """One list of actions of a group."""

    actions: tuple[Action, ...]
    weight: int = 0
    watch_port: int = PortNo.ANY
    watch_group: int = ANY_GROUP

    def __str__(self) -> str:
        port = "" if self.watch_port == PortNo.ANY else f"watch_port:{port_text(self.watch_port)},"
        group = "" if self.watch_group == ANY_GROUP else f"watch_group:{self.watch_group},"
        return f"{port}{group}{actions_text(self.actions)}"


@dataclass(frozen=True, slots=True)
class GroupMod(OpenFlowMessage):
    """The controller changes a group."""

    command: int
    type: int
    group_id: int
    buckets: tuple[Bucket, ...] = ()

    def __str__(self) -> str:
        command, kind = _called(GroupCommand, self.command), _called(GroupType, self.type)
        does = f" {kind} {' | '.join(map(str, self.buckets))}" if self.command != GroupCommand.DELETE else ""
        return f"GroupMod({command} group={self.group_id}{does})"


@dataclass(frozen=True, slots=True)
class PortMod(OpenFlowMessage):
    """The controller configures a port."""

    port_no: int
    hw_addr: int
    config: int
    mask: int
    advertise: int = 0

    def __str__(self) -> str:
        return f"PortMod(port={port_text(self.port_no)} config={self.config:#x}/{self.mask:#x})"


@dataclass(frozen=True, slots=True)
class TableMod(OpenFlowMessage):
    """The controller configures a table."""

    table_id: int
    config: int = 0


@dataclass(frozen=True, slots=True)
class BarrierRequest(OpenFlowMessage):
    """Finish everything sent before this first."""


@dataclass(frozen=True, slots=True)
class BarrierReply(OpenFlowMessage):
    """Everything sent before is finished."""


@dataclass(frozen=True, slots=True)
class QueueProperty:
    """One property of a queue, as the bytes of its value."""

    property: int
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class PacketQueue:
    """A queue of a port; the port is 1.3's."""

    queue_id: int
    port: int = 0
    properties: tuple[QueueProperty, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueGetConfigRequest(OpenFlowMessage):
    """Which queues has this port?"""

    port: int


@dataclass(frozen=True, slots=True)
class QueueGetConfigReply(OpenFlowMessage):
    """The queues of a port."""

    port: int
    queues: tuple[PacketQueue, ...] = ()


@dataclass(frozen=True, slots=True)
class RoleRequest(OpenFlowMessage):
    """The controller asks for a standing (1.3)."""

    role: int
    generation_id: int = 0


@dataclass(frozen=True, slots=True)
class RoleReply(OpenFlowMessage):
    """The controller's standing (1.3)."""

    role: int
    generation_id: int = 0


Masks = tuple[int, int]
"""A bit per reason: first for a master or equal, second for a slave."""


@dataclass(frozen=True, slots=True)
class GetAsyncRequest(OpenFlowMessage):
    """Which asynchronous messages do I get (1.3)?"""


@dataclass(frozen=True, slots=True)
class GetAsyncReply(OpenFlowMessage):
    """The asynchronous messages a controller gets (1.3)."""

    packet_in: Masks
    port_status: Masks
    flow_removed: Masks


@dataclass(frozen=True, slots=True)
class SetAsync(OpenFlowMessage):
    """The controller chooses which asynchronous messages it gets (1.3)."""

    packet_in: Masks
    port_status: Masks
    flow_removed: Masks


@dataclass(frozen=True, slots=True)
class Band:
    """One band of a meter; `body` is what follows rate and burst."""

    type: int
    rate: int
    burst_size: int
    body: bytes = b"\0\0\0\0"


@dataclass(frozen=True, slots=True)
class MeterMod(OpenFlowMessage):
    """The controller changes a meter (1.3)."""

    command: int
    flags: int
    meter_id: int
    bands: tuple[Band, ...] = ()
