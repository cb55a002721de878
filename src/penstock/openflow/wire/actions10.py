"""The actions of 1.0: its setters are set-fields where 1.3 has the same, its lists one `ApplyActions`."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.errors import PenstockError
from penstock.openflow.actions import (
    Action,
    ApplyActions,
    Enqueue,
    ExperimenterAction,
    Instruction,
    Output,
    PopVlan,
    SetField,
    SetTransportDst,
    SetTransportSrc,
    SetVlanPcp,
    SetVlanVid,
)
from penstock.openflow.error_codes import ErrorCode, OpenFlowError
from penstock.openflow.wire.ports import port_from10, port_to10
from penstock.openflow.wire.typed import Form, Forms, plain, vendor

_OUTPUT = Struct("!HHHH")
_ENQUEUE = Struct("!HHH6xI")
_MAC = Struct("!HH6s6x")
_ADDRESS = Struct("!HHI")
_TOS = Struct("!HHB3x")

_OUTPUT_TYPE, _TOS_TYPE, _ENQUEUE_TYPE = 0, 8, 11
_MAC_TYPES = {"eth_src": 4, "eth_dst": 5}
_ADDRESS_TYPES = {"ipv4_src": 6, "ipv4_dst": 7}


def _write_output(action: Output) -> bytes:
    return _OUTPUT.pack(_OUTPUT_TYPE, _OUTPUT.size, port_to10(action.port), action.max_len)


def _read_output(data: bytes, at: int, _end: int) -> Output:
    _, _, port, max_len = _OUTPUT.unpack_from(data, at)
    return Output(port_from10(port), max_len)


def _write_enqueue(action: Enqueue) -> bytes:
    return _ENQUEUE.pack(_ENQUEUE_TYPE, _ENQUEUE.size, port_to10(action.port), action.queue_id)


def _read_enqueue(data: bytes, at: int, _end: int) -> Enqueue:
    _, _, port, queue_id = _ENQUEUE.unpack_from(data, at)
    return Enqueue(port_from10(port), queue_id)


def _write_set_field(action: SetField) -> bytes:
    field, value = action.field, action.value
    if field in _MAC_TYPES:
        return _MAC.pack(_MAC_TYPES[field], _MAC.size, value.to_bytes(6))
    if field in _ADDRESS_TYPES:
        return _ADDRESS.pack(_ADDRESS_TYPES[field], _ADDRESS.size, value)
    if field == "ip_dscp":
        return _TOS.pack(_TOS_TYPE, _TOS.size, value << 2)
    raise PenstockError(f"OpenFlow 1.0 cannot set {field}: use another action or speak 1.3.")


def _setter(number: int, struct: Struct, field: str) -> Form:
    """Return the form of a setter whose value is a whole number of bytes."""
    size = 6 if struct is _MAC else 4

    def read(data: bytes, at: int, _end: int) -> SetField:
        return SetField(field, int.from_bytes(data[at + 4 : at + 4 + size]))

    return Form(number, struct.size, SetField, _write_set_field, read)


def _read_tos(data: bytes, at: int, _end: int) -> SetField:
    tos = data[at + 4]
    if tos & 3:
        # The two low bits belong to congestion notification; a set-field of DSCP has no place for them.
        raise OpenFlowError(
            ErrorCode.ACTION_BAD_ARGUMENT, f"An IP type of service cannot be set to {tos:#04x}."
        )
    return SetField("ip_dscp", tos >> 2)


ACTIONS10: Final = Forms[Action](
    "action of OpenFlow 1.0",
    ErrorCode.ACTION_BAD_TYPE,
    ErrorCode.ACTION_BAD_LEN,
    Form(_OUTPUT_TYPE, _OUTPUT.size, Output, _write_output, _read_output),
    plain(1, SetVlanVid, "H2x", "vid"),
    plain(2, SetVlanPcp, "B3x", "pcp"),
    plain(3, PopVlan),
    *(_setter(number, _MAC, field) for field, number in _MAC_TYPES.items()),
    *(_setter(number, _ADDRESS, field) for field, number in _ADDRESS_TYPES.items()),
    Form(_TOS_TYPE, _TOS.size, SetField, _write_set_field, _read_tos),
    plain(9, SetTransportSrc, "H2x", "port"),
    plain(10, SetTransportDst, "H2x", "port"),
    Form(_ENQUEUE_TYPE, _ENQUEUE.size, Enqueue, _write_enqueue, _read_enqueue),
    vendor(ExperimenterAction),
)


def write_instructions10(instructions: tuple[Instruction, ...]) -> bytes:
    """Return the actions of a flow, which are all the instructions 1.0 has."""
    if not instructions:
        return b""
    first, *more = instructions
    if more or not isinstance(first, ApplyActions):
        names = ", ".join(type(instruction).__name__ for instruction in instructions)
        raise PenstockError(f"OpenFlow 1.0 cannot be told {names}: give one ApplyActions.")
    return ACTIONS10.write(first.actions)


def read_instructions10(data: bytes, at: int, end: int) -> tuple[Instruction, ...]:
    """Return the actions that fill these bytes as instructions; no actions are no instructions."""
    actions = ACTIONS10.read(data, at, end)
    return (ApplyActions(actions),) if actions else ()
