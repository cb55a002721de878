"""Where Open vSwitch departs from the specification, or the model from Open vSwitch on purpose.

Each deviation has a name and a reason, and says how to look at the two sides so that it no longer
shows.  It is used only where the two sides differ, and counted when it explains a difference.
`NOT_GENERATED` names what programs leave out altogether, because the two sides would part there
for good.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from itertools import zip_longest
from typing import Any, Final

from bench.ovs.programs import CARRIER_PORT
from penstock._world.switch.meters import BandType
from penstock.openflow.fields import BY_NUMBER, OPENFLOW_BASIC
from penstock.openflow.messages import (
    Error,
    Experimenter,
    FeaturesReply,
    FlowRemoved,
    FlowRemovedReason,
    Port,
    PortConfig,
    PortStatus,
    QueueGetConfigReply,
)
from penstock.openflow.stats import (
    BucketCounter,
    Desc,
    GroupCounters,
    GroupFeatures,
    MeterFeatures,
    PortDescs,
    Ports,
    Queues,
    StatsReply,
    TableFeaturesReply,
)

Seen = tuple[Any, ...]

_VENDOR_ERROR: Final = (0xB0C2, 0)
_VENDOR_CODE: Final = 8
"""How many bytes of a vendor's error say which it is, before the refused message is quoted."""

_EPERM: Final = (1, 5)
_FIELD_LISTS: Final = (8, 10, 12, 13, 14, 15)
_EXPERIMENTER_FIELD: Final = 0xFFFF
_ROLE_STATUS: Final = (0x4F4E4600, 1911)
_NOT_KEPT: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Deviation:
    """A known difference; `forgive` takes what model and OVS showed and returns it without."""

    name: str
    reason: str
    forgive: Callable[[Seen, Seen], tuple[Seen, Seen]]


def _on_both(change: Callable[[Any], Any]) -> Callable[[Seen, Seen], tuple[Seen, Seen]]:
    def forgive(model: Seen, ovs: Seen) -> tuple[Seen, Seen]:
        return tuple(map(change, model)), tuple(map(change, ovs))

    return forgive


_TIMEOUTS = (FlowRemovedReason.IDLE_TIMEOUT, FlowRemovedReason.HARD_TIMEOUT)


def _on_time(model: Seen, ovs: Seen) -> tuple[Seen, Seen]:
    return model, tuple(
        replace(message, duration_nsec=message.duration_nsec - 1_000_000)
        if isinstance(message, FlowRemoved)
        and message.reason in _TIMEOUTS
        and message.duration_nsec >= 1_000_000
        else message
        for message in ovs
    )


def _described(port: Port) -> Port:
    return replace(port, config=port.config & ~PortConfig.DOWN) if port.port_no == CARRIER_PORT else port


def _without_admin_state(message: Any) -> Any:
    match message:
        case PortStatus(desc=port):
            return replace(message, desc=_described(port))
        case FeaturesReply(ports=ports):
            return replace(message, ports=tuple(map(_described, ports)))
        case StatsReply(body=PortDescs(ports)):
            return replace(message, body=PortDescs(tuple(map(_described, ports))))
        case _:
            return message


def _last_status(model: Seen, ovs: Seen) -> tuple[Seen, Seen]:
    last = {message.desc.port_no: message for message in ovs if isinstance(message, PortStatus)}
    return model, tuple(m for m in ovs if not isinstance(m, PortStatus) or last[m.desc.port_no] is m)


def _unsigned(message: Any) -> Any:
    if isinstance(message, StatsReply) and isinstance(message.body, Desc):
        return replace(message, body=Desc("", "", "", "", ""))
    return message


def _plain_errors(model: Seen, ovs: Seen) -> tuple[Seen, Seen]:
    return model, tuple(
        replace(theirs, type=ours.type, code=ours.code, data=theirs.data[_VENDOR_CODE:])
        if isinstance(theirs, Error)
        and isinstance(ours, Error)
        and (theirs.type, theirs.code) == _VENDOR_ERROR
        and (ours.type, ours.code) == _EPERM
        else theirs
        for ours, theirs in zip_longest(model, ovs)
        if theirs is not None
    )


def _kept_counters(message: Any) -> Any:
    if not isinstance(message, StatsReply) or not isinstance(message.body, Ports):
        return message
    ports = []
    for port in message.body.ports:
        unknown = {field.name: 0 for field in fields(port) if getattr(port, field.name) == _NOT_KEPT}
        ports.append(replace(port, **unknown))
    return replace(message, body=Ports(tuple(ports)))


def _without_queues(message: Any) -> Any:
    match message:
        case QueueGetConfigReply():
            return replace(message, queues=())
        case StatsReply(body=Queues()):
            return replace(message, body=Queues(()))
        case _:
            return message


def _openflow_fields(message: Any) -> Any:
    if not isinstance(message, StatsReply) or not isinstance(message.body, TableFeaturesReply):
        return message
    tables = []
    for table in message.body.tables:
        properties = [
            replace(feature, body=_openflow_ids(feature.body)) if feature.type in _FIELD_LISTS else feature
            for feature in table.properties
        ]
        properties.sort(key=lambda feature: feature.type)
        tables.append(replace(table, properties=tuple(properties)))
    return replace(message, body=TableFeaturesReply(tuple(tables)))


def _openflow_ids(fields: bytes) -> bytes:
    """Return the numbers of OpenFlow 1.3's fields, sorted, from a list of OXM headers."""
    found, at = [], 0
    while at < len(fields):
        kind, number = int.from_bytes(fields[at : at + 2]), fields[at + 2] >> 1
        if kind == OPENFLOW_BASIC and number in BY_NUMBER:
            found.append(number)
        at += 8 if kind == _EXPERIMENTER_FIELD else 4
    return bytes(sorted(found))


def _without_role_status(model: Seen, ovs: Seen) -> tuple[Seen, Seen]:
    return model, tuple(
        message
        for message in ovs
        if not isinstance(message, Experimenter) or (message.experimenter, message.exp_type) != _ROLE_STATUS
    )


def _buckets_together(message: Any) -> Any:
    if not isinstance(message, StatsReply) or not isinstance(message.body, GroupCounters):
        return message
    groups = tuple(
        replace(
            group,
            buckets=(
                BucketCounter(
                    sum(bucket.packet_count for bucket in group.buckets),
                    sum(bucket.byte_count for bucket in group.buckets),
                ),
            ),
        )
        for group in message.body.groups
    )
    return replace(message, body=GroupCounters(groups))


def _without_room_for_groups(message: Any) -> Any:
    if not isinstance(message, StatsReply) or not isinstance(message.body, GroupFeatures):
        return message
    return replace(message, body=replace(message.body, max_groups=(0, 0, 0, 0)))


def _drop_bands(message: Any) -> Any:
    if not isinstance(message, StatsReply) or not isinstance(message.body, MeterFeatures):
        return message
    return replace(message, body=replace(message.body, band_types=1 << BandType.DROP))


DEVIATIONS: Final = (
    Deviation(
        "late-expiry",
        "OVS lets an entry go in the first millisecond after its timeout, the model at the timeout.",
        _on_time,
    ),
    Deviation(
        "carrier-by-admin-state",
        "A dummy port of OVS has no carrier, so a pulled cable is played by taking the port down.",
        _on_both(_without_admin_state),
    ),
    Deviation(
        "port-status-in-parts",
        "OVS tells of one change of a port in up to two port_status messages; the last one counts.",
        _last_status,
    ),
    Deviation(
        "vendor-error",
        "Where 1.0 has no number for a mistake OVS sends an error of its own, the model a plain EPERM.",
        _plain_errors,
    ),
    Deviation(
        "counters-not-kept",
        "A dummy port of OVS counts no errors and says so with all ones; the model counts none, too: 0.",
        _on_both(_kept_counters),
    ),
    Deviation(
        "default-queue",
        "A dummy port of OVS has a queue 0; the model's ports have no queues.",
        _on_both(_without_queues),
    ),
    Deviation(
        "own-fields",
        "OVS knows fields and masks beyond OpenFlow 1.3's; in table features only 1.3's are compared.",
        _on_both(_openflow_fields),
    ),
    Deviation(
        "role-status",
        "OVS tells a master that became a slave so, by an extension to 1.3; the model does not.",
        _without_role_status,
    ),
    Deviation(
        "band-types",
        "The userspace datapath of OVS has no DSCP remark bands, and says so in its meter features.",
        _on_both(_drop_bands),
    ),
    Deviation(
        "room-for-groups",
        "OVS says that it has room for as many groups as there are numbers; the model has a budget.",
        _on_both(_without_room_for_groups),
    ),
    Deviation(
        "own-words",
        "Description statistics name the maker, who is another.",
        _on_both(_unsigned),
    ),
    Deviation(
        "select-bucket",
        "Which bucket of a select group takes a packet is the switch's choice; the sum is compared.",
        _on_both(_buckets_together),
    ),
)

NOT_GENERATED: Final = {
    "overlaps": "Between overlapping entries of equal priority the choice is the switch's own.",
    "select-actions": "The buckets of a select group are alike, because the choice is the switch's own.",
    "remark-bands": "The userspace datapath of OVS refuses DSCP remark bands; the model has them.",
    "virtual-meters": "OVS can meter what goes to the controller; the model refuses such meters.",
    "own-table": "OVS shows entries of its own in table 254, and to whoever asks for all bits of cookie 0.",
    "group-twice": "OVS 3.1.0 dies of an assertion when a group goes that one entry refers to twice.",
    "afresh-with-set": "OVS 3.1.0 dies of an assertion when a packet with a long action set recirculates.",
    "labels-in-buckets": "After a bucket that puts an MPLS label on, OVS has lost the packet's headers.",
    "slave-misspells": "OVS refuses a slave before it reads the message, the model after.",
    "set-unknown-field": "To a set-field of a field it does not know OVS answers by accident of a hash.",
    "meaningless-match": "A 1.0 match of nothing but fields without their prerequisites: OVS remembers them.",
}
