"""The actions of 1.3."""

from __future__ import annotations

from typing import Final

from penstock.openflow.actions import (
    Action,
    CopyTtlIn,
    CopyTtlOut,
    DecMplsTtl,
    DecNwTtl,
    ExperimenterAction,
    Group,
    Output,
    PopMpls,
    PopPbb,
    PopVlan,
    PushMpls,
    PushPbb,
    PushVlan,
    SetField,
    SetMplsTtl,
    SetNwTtl,
    SetQueue,
)
from penstock.openflow.error_codes import ErrorCode
from penstock.openflow.wire.oxm import SET_FIELD, read_set_field, write_set_field
from penstock.openflow.wire.typed import Form, Forms, plain, vendor

ACTIONS13: Final = Forms[Action](
    "action of OpenFlow 1.3",
    ErrorCode.ACTION_BAD_TYPE,
    ErrorCode.ACTION_BAD_LEN,
    plain(0, Output, "IH6x", "port", "max_len"),
    plain(11, CopyTtlOut),
    plain(12, CopyTtlIn),
    plain(15, SetMplsTtl, "B3x", "ttl"),
    plain(16, DecMplsTtl),
    plain(17, PushVlan, "H2x", "ethertype"),
    plain(18, PopVlan),
    plain(19, PushMpls, "H2x", "ethertype"),
    plain(20, PopMpls, "H2x", "ethertype"),
    plain(21, SetQueue, "I", "queue_id"),
    plain(22, Group, "I", "group_id"),
    plain(23, SetNwTtl, "B3x", "ttl"),
    plain(24, DecNwTtl),
    Form(SET_FIELD, 0, SetField, write_set_field, read_set_field),
    plain(26, PushPbb, "H2x", "ethertype"),
    plain(27, PopPbb),
    vendor(ExperimenterAction),
)
