"""What a switch is made of: its options, fixed for a run, and its state, an immutable value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Final, Literal

from msgspec import Meta

from penstock._base.frozen import FrozenMap
from penstock._base.typed import Checked, Count
from penstock._world.frame import Frame
from penstock._world.switch.budgets import MOST_ENTRIES, MOST_GROUPS
from penstock._world.switch.flow_table import FlowTable
from penstock._world.switch.mac_learning import Addresses
from penstock.errors import PenstockError
from penstock.openflow.match import Match
from penstock.openflow.messages import (
    DEFAULT_MISS_LEN,
    V10,
    V13,
    Band,
    Bucket,
    Masks,
    OpenFlowMessage,
    PortConfig,
    Role,
)

MOST_TABLES: Final = 254
OWN_TABLE: Final = 254
"""The table after the last, which a switch keeps to itself."""


@dataclass(frozen=True, slots=True)
class PortSpec:
    """A port as it is built into the switch."""

    number: int
    name: str
    hw_addr: int


@dataclass(frozen=True, slots=True)
class SwitchOptions(Checked):
    """How a switch behaves, the same for a whole run."""

    SECTION: ClassVar[str] = "[switches]"

    version: int = V13
    """The version of OpenFlow, as it is on the wire."""
    tables: Annotated[int, Meta(ge=1, le=MOST_TABLES)] = MOST_TABLES
    """How many flow tables a switch has."""
    table_size: Count = MOST_ENTRIES
    """How many entries each flow table holds."""
    groups: Count = MOST_GROUPS
    """How many groups a switch holds."""
    buffers: Count = 0
    """How many packets the switch keeps for the controller; Open vSwitch keeps none."""
    reorder: Literal["none", "between-barriers"] = "none"
    """Whether messages between two barriers may take effect in any order."""
    counters: bool = True
    """Count packets; off by default in a scenario, since every packet would make a new state of a search."""
    expiries: Count = 0
    """How many entries with a timeout may vanish at a moment of the search's choosing."""
    meters: Literal["limit", "pass"] = "limit"
    """Whether meters limit, or let every packet pass as within its rate, which is a search's default."""
    overruns: Count = 0
    """How many packets may exceed a meter's rate at a moment of the search's choosing."""
    overlaps: Count = 0
    """How often a switch may come to use another of several entries of one priority that a packet meets, at a
    moment of the search's choosing."""
    services: tuple[str, ...] = ()
    """Those of its controllers who call on it as tools do (see `Session`)."""

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        if self.version not in (V10, V13):
            raise PenstockError(
                f"OpenFlow version {self.version} is not modelled: use 1 (OpenFlow 1.0) or 4 (OpenFlow 1.3)."
            )


_DOWN: Final = int(PortConfig.DOWN)
"""As a plain number, because this is looked at for every packet."""


@dataclass(frozen=True, slots=True)
class PortStatus:
    """What changes about a port."""

    config: int = 0
    link: bool = True

    @property
    def usable(self) -> bool:
        """Tell whether frames get through at all."""
        return self.link and not self.config & _DOWN


@dataclass(frozen=True, slots=True)
class Usage:
    """How often something was used, and when last."""

    packets: int = 0
    octets: int = 0
    used: int = 0

    def plus(self, size: int, now: int) -> Usage:
        """Return this usage after one more packet."""
        return Usage(self.packets + 1, self.octets + size, now)


@dataclass(frozen=True, slots=True)
class PortUsage:
    """What a port has counted."""

    rx_packets: int = 0
    rx_bytes: int = 0
    rx_dropped: int = 0
    tx_packets: int = 0
    tx_bytes: int = 0
    tx_dropped: int = 0

    def received(self, size: int) -> PortUsage:
        """Return this usage after one more packet that came in."""
        return PortUsage(
            self.rx_packets + 1,
            self.rx_bytes + size,
            self.rx_dropped,
            self.tx_packets,
            self.tx_bytes,
            self.tx_dropped,
        )

    def sent(self, size: int) -> PortUsage:
        """Return this usage after one more packet that went out."""
        return PortUsage(
            self.rx_packets,
            self.rx_bytes,
            self.rx_dropped,
            self.tx_packets + 1,
            self.tx_bytes + size,
            self.tx_dropped,
        )


@dataclass(frozen=True, slots=True)
class TableUsage:
    """How many packets were looked up in a table, and how many met an entry."""

    lookups: int = 0
    matches: int = 0


@dataclass(frozen=True, slots=True)
class GroupEntry:
    """A group as it stands."""

    type: int
    buckets: tuple[Bucket, ...]
    created: int = 0


@dataclass(frozen=True, slots=True)
class MeterEntry:
    """A meter as it stands."""

    flags: int
    bands: tuple[Band, ...]
    created: int = 0


@dataclass(frozen=True, slots=True)
class BucketLevels:
    """How many tokens were left in the buckets of a meter's bands at a moment."""

    at: int
    levels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Buffered:
    """A packet kept for the controller."""

    frame: Frame
    in_port: int


DEFAULT_PACKET_IN: Final[Masks] = (0b011, 0)
DEFAULT_PORT_STATUS: Final[Masks] = (0b111, 0b111)
DEFAULT_FLOW_REMOVED: Final[Masks] = (0b1111, 0)


@dataclass(frozen=True, slots=True)
class Session:
    """A control session with one controller.

    A `service` is the session of a tool that called on the switch: as with Open vSwitch it begins with a
    `miss_send_len` of 0, and is told of nothing it did not ask for until it sets another.
    """

    up: bool = True
    role: int = Role.EQUAL
    miss_send_len: int = DEFAULT_MISS_LEN
    invalid_ttl: bool = False
    packet_in: Masks = DEFAULT_PACKET_IN
    port_status: Masks = DEFAULT_PORT_STATUS
    flow_removed: Masks = DEFAULT_FLOW_REMOVED
    service: bool = False

    def wants(self, masks: Masks, reason: int) -> bool:
        """Tell whether this controller is told of an event that happened for a reason."""
        if not self.up or (self.service and not self.miss_send_len):
            return False
        return bool(masks[self.role == Role.SLAVE] >> reason & 1)


@dataclass(frozen=True, slots=True)
class TableFaults:
    """What is wrong with the flow tables: how many entries they take, how many flow-mods come to nothing."""

    limit: int | None = None
    ignoring: int = 0


SOUND_TABLES: Final = TableFaults()

RuleKey = tuple[int, int, Match]
"""Table, priority and match: what tells one flow entry from another."""


@dataclass(frozen=True, slots=True)
class SwitchState:
    """Everything a switch knows.

    The counters are apart from what they count, so that a table with busy rules is still the
    same table.
    """

    powered: bool = True
    now: int = 0
    tables: FrozenMap[int, FlowTable] = field(default_factory=FrozenMap)
    groups: FrozenMap[int, GroupEntry] = field(default_factory=FrozenMap)
    meters: FrozenMap[int, MeterEntry] = field(default_factory=FrozenMap)
    ports: FrozenMap[int, PortStatus] = field(default_factory=FrozenMap)
    sessions: FrozenMap[str, Session] = field(default_factory=FrozenMap)
    buffers: FrozenMap[int, Buffered] = field(default_factory=FrozenMap)
    addresses: Addresses = field(default_factory=FrozenMap)
    """What was learned of packets that went to `OFPP_NORMAL`."""
    fragments: int = 0
    generation: int | None = None
    table_config: FrozenMap[int, int] = field(default_factory=FrozenMap)
    pending: tuple[tuple[str, OpenFlowMessage], ...] = ()
    expiries: int = 0
    overruns: int = 0
    overrun: frozenset[int] = frozenset()
    """The meters whose rate the next packet exceeds, whatever is in their buckets."""
    overlaps: int = 0
    table_faults: TableFaults = SOUND_TABLES
    rule_usage: FrozenMap[RuleKey, Usage] = field(default_factory=FrozenMap)
    port_usage: FrozenMap[int, PortUsage] = field(default_factory=FrozenMap)
    table_usage: FrozenMap[int, TableUsage] = field(default_factory=FrozenMap)
    group_usage: FrozenMap[int, Usage] = field(default_factory=FrozenMap)
    bucket_usage: FrozenMap[tuple[int, int], Usage] = field(default_factory=FrozenMap)
    meter_usage: FrozenMap[int, Usage] = field(default_factory=FrozenMap)
    band_usage: FrozenMap[tuple[int, int], Usage] = field(default_factory=FrozenMap)
    bucket_levels: FrozenMap[int, BucketLevels] = field(default_factory=FrozenMap)
    """Of the meters that packets went through; the buckets of others are full."""
