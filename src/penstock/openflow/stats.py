"""Statistics (1.0) and multipart (1.3) messages: what a controller can ask a switch about itself.

A request or reply holds one body; the body's class says which kind of statistics it is.  A reply
in several parts is several `StatsReply`s, all but the last with `more` set.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.openflow.actions import Instruction
from penstock.openflow.match import ANYTHING, Match
from penstock.openflow.messages import (
    ALL_METERS,
    ALL_TABLES,
    ANY_GROUP,
    Band,
    Bucket,
    OpenFlowMessage,
    Port,
    PortNo,
)

ALL_QUEUES = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class DescRequest:
    """Who made this switch?"""


@dataclass(frozen=True, slots=True)
class Desc:
    """Who made the switch, in words."""

    manufacturer: str
    hardware: str
    software: str
    serial: str
    datapath: str


@dataclass(frozen=True, slots=True)
class FlowRequest:
    """Which flow entries are there?  (In 1.0 `out_group` and cookies are not asked for.)"""

    match: Match = ANYTHING
    table_id: int = ALL_TABLES
    out_port: int = PortNo.ANY
    out_group: int = ANY_GROUP
    cookie: int = 0
    cookie_mask: int = 0


@dataclass(frozen=True, slots=True)
class FlowStats:
    """One flow entry with its counters."""

    table_id: int
    match: Match
    instructions: tuple[Instruction, ...]
    priority: int
    cookie: int = 0
    idle_timeout: int = 0
    hard_timeout: int = 0
    flags: int = 0
    duration_sec: int = 0
    duration_nsec: int = 0
    packet_count: int = 0
    byte_count: int = 0


@dataclass(frozen=True, slots=True)
class Flows:
    """The flow entries asked for."""

    flows: tuple[FlowStats, ...]


@dataclass(frozen=True, slots=True)
class AggregateRequest:
    """How much do these flow entries count together?"""

    match: Match = ANYTHING
    table_id: int = ALL_TABLES
    out_port: int = PortNo.ANY
    out_group: int = ANY_GROUP
    cookie: int = 0
    cookie_mask: int = 0


@dataclass(frozen=True, slots=True)
class Aggregate:
    """What the flow entries asked for count together."""

    packet_count: int
    byte_count: int
    flow_count: int


@dataclass(frozen=True, slots=True)
class TableRequest:
    """How full is each table?"""


@dataclass(frozen=True, slots=True)
class TableStats:
    """How full a table is; name, wildcards and max_entries are 1.0's."""

    table_id: int
    active_count: int
    lookup_count: int
    matched_count: int
    name: str = ""
    wildcards: int = 0
    max_entries: int = 0


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables."""

    tables: tuple[TableStats, ...]


@dataclass(frozen=True, slots=True)
class PortStatsRequest:
    """What has this port counted?"""

    port_no: int = PortNo.ANY


@dataclass(frozen=True, slots=True)
class PortStats:
    """What a port has counted; the duration is 1.3's."""

    port_no: int
    rx_packets: int = 0
    tx_packets: int = 0
    rx_bytes: int = 0
    tx_bytes: int = 0
    rx_dropped: int = 0
    tx_dropped: int = 0
    rx_errors: int = 0
    tx_errors: int = 0
    rx_frame_err: int = 0
    rx_over_err: int = 0
    rx_crc_err: int = 0
    collisions: int = 0
    duration_sec: int = 0
    duration_nsec: int = 0


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports asked for."""

    ports: tuple[PortStats, ...]


@dataclass(frozen=True, slots=True)
class QueueRequest:
    """What has this queue counted?"""

    port_no: int = PortNo.ANY
    queue_id: int = ALL_QUEUES


@dataclass(frozen=True, slots=True)
class QueueStats:
    """What a queue has counted; the duration is 1.3's."""

    port_no: int
    queue_id: int
    tx_bytes: int = 0
    tx_packets: int = 0
    tx_errors: int = 0
    duration_sec: int = 0
    duration_nsec: int = 0


@dataclass(frozen=True, slots=True)
class Queues:
    """The queues asked for."""

    queues: tuple[QueueStats, ...]


@dataclass(frozen=True, slots=True)
class GroupStatsRequest:
    """What has this group counted?"""

    group_id: int


@dataclass(frozen=True, slots=True)
class BucketCounter:
    """What one bucket has counted."""

    packet_count: int
    byte_count: int


@dataclass(frozen=True, slots=True)
class GroupStats:
    """What a group has counted."""

    group_id: int
    ref_count: int
    packet_count: int
    byte_count: int
    duration_sec: int
    duration_nsec: int
    buckets: tuple[BucketCounter, ...]


@dataclass(frozen=True, slots=True)
class GroupCounters:
    """The groups asked for."""

    groups: tuple[GroupStats, ...]


@dataclass(frozen=True, slots=True)
class GroupDescRequest:
    """Which groups are there?"""


@dataclass(frozen=True, slots=True)
class GroupDesc:
    """One group as it was made."""

    type: int
    group_id: int
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, slots=True)
class GroupDescs:
    """All groups."""

    groups: tuple[GroupDesc, ...]


@dataclass(frozen=True, slots=True)
class GroupFeaturesRequest:
    """Which kinds of group are there?"""


@dataclass(frozen=True, slots=True)
class GroupFeatures:
    """The kinds of group there are; limits and actions per kind."""

    types: int
    capabilities: int
    max_groups: tuple[int, int, int, int]
    actions: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class MeterRequest:
    """What has this meter counted?"""

    meter_id: int = ALL_METERS


@dataclass(frozen=True, slots=True)
class MeterStats:
    """What a meter has counted."""

    meter_id: int
    flow_count: int
    packet_in_count: int
    byte_in_count: int
    duration_sec: int
    duration_nsec: int
    bands: tuple[BucketCounter, ...]


@dataclass(frozen=True, slots=True)
class Meters:
    """The meters asked for."""

    meters: tuple[MeterStats, ...]


@dataclass(frozen=True, slots=True)
class MeterConfigRequest:
    """How is this meter configured?"""

    meter_id: int = ALL_METERS


@dataclass(frozen=True, slots=True)
class MeterConfig:
    """One meter as it was made."""

    meter_id: int
    flags: int
    bands: tuple[Band, ...]


@dataclass(frozen=True, slots=True)
class MeterConfigs:
    """The meters asked for."""

    meters: tuple[MeterConfig, ...]


@dataclass(frozen=True, slots=True)
class MeterFeaturesRequest:
    """Which kinds of meter are there?"""


@dataclass(frozen=True, slots=True)
class MeterFeatures:
    """The kinds of meter there are."""

    max_meter: int
    band_types: int
    capabilities: int
    max_bands: int
    max_color: int


@dataclass(frozen=True, slots=True)
class TableFeature:
    """One property of a table: the property's number and the bytes of its value."""

    type: int
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class TableFeatures:
    """What a table can do."""

    table_id: int
    name: str
    metadata_match: int
    metadata_write: int
    config: int
    max_entries: int
    properties: tuple[TableFeature, ...] = ()


@dataclass(frozen=True, slots=True)
class TableFeaturesRequest:
    """What can the tables do?  With tables in it, a wish to change that."""

    tables: tuple[TableFeatures, ...] = ()


@dataclass(frozen=True, slots=True)
class TableFeaturesReply:
    """What the tables can do."""

    tables: tuple[TableFeatures, ...]


@dataclass(frozen=True, slots=True)
class PortDescRequest:
    """Which ports are there?"""


@dataclass(frozen=True, slots=True)
class PortDescs:
    """All ports."""

    ports: tuple[Port, ...]


@dataclass(frozen=True, slots=True)
class ExperimenterStats:
    """A vendor's statistics, asked for or answered, as bytes (1.0 has no type)."""

    experimenter: int
    exp_type: int = 0
    body: bytes = b""


StatsRequestBody = (
    DescRequest
    | FlowRequest
    | AggregateRequest
    | TableRequest
    | PortStatsRequest
    | QueueRequest
    | GroupStatsRequest
    | GroupDescRequest
    | GroupFeaturesRequest
    | MeterRequest
    | MeterConfigRequest
    | MeterFeaturesRequest
    | TableFeaturesRequest
    | PortDescRequest
    | ExperimenterStats
)

StatsReplyBody = (
    Desc
    | Flows
    | Aggregate
    | Tables
    | Ports
    | Queues
    | GroupCounters
    | GroupDescs
    | GroupFeatures
    | Meters
    | MeterConfigs
    | MeterFeatures
    | TableFeaturesReply
    | PortDescs
    | ExperimenterStats
)


@dataclass(frozen=True, slots=True)
class StatsRequest(OpenFlowMessage):
    """A question about the switch."""

    body: StatsRequestBody
    more: bool = False

    def __str__(self) -> str:
        return f"StatsRequest({type(self.body).__name__.removesuffix('Request')})"


@dataclass(frozen=True, slots=True)
class StatsReply(OpenFlowMessage):
    """An answer, or one part of it."""

    body: StatsReplyBody
    more: bool = False

    def __str__(self) -> str:
        return f"StatsReply({type(self.body).__name__})"
