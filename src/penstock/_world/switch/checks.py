"""What a switch refuses to install: matches, actions and instructions that cannot be meant.

The checks and their order are those of Open vSwitch; version 1.0 leaves out the ones on
consistency, since a 1.0 switch does what an action says where the packet allows it.
"""

from __future__ import annotations

from copy import copy
from typing import Final

from penstock._world.switch.budgets import MOST_ACTIONS
from penstock._world.switch.headers import ETH_RARP, VLAN_TYPES
from penstock._world.switch.rewriting import WRITABLE
from penstock._world.switch.state import MOST_TABLES
from penstock._world.switch.turn import Turn
from penstock.openflow.actions import (
    Action,
    ApplyActions,
    CopyTtlIn,
    CopyTtlOut,
    DecMplsTtl,
    DecNwTtl,
    Enqueue,
    ExperimenterAction,
    ExperimenterInstruction,
    GotoTable,
    Group,
    Instruction,
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
    SetVlanPcp,
    SetVlanVid,
    UseMeter,
    WriteActions,
)
from penstock.openflow.error_codes import ErrorCode, OpenFlowError
from penstock.openflow.fields import (
    BY_NAME,
    ETH_ARP,
    ETH_IPV4,
    ETH_IPV6,
    ETH_MPLS,
    ETH_MPLS_MULTICAST,
    VID_PRESENT,
    Field,
)
from penstock.openflow.match import Match, value_text
from penstock.openflow.messages import MAX_METER, V10, PortNo

UNSUPPORTED_FIELDS: Final = frozenset({"in_phy_port", "pbb_isid", "ipv6_exthdr"})
_MPLS_TYPES: Final = (ETH_MPLS, ETH_MPLS_MULTICAST)
_MOST_TAGS: Final = 2
_LAST_PHYSICAL: Final = 0xFF00
_RESERVED: Final = frozenset(
    {PortNo.IN_PORT, PortNo.TABLE, PortNo.NORMAL, PortNo.FLOOD, PortNo.ALL, PortNo.CONTROLLER, PortNo.LOCAL}
)
_QUEUED: Final = frozenset({PortNo.IN_PORT, PortNo.LOCAL})


def check_match(match: Match, version: int) -> None:
    """Refuse a match on a field that is unknown, impossible or without its prerequisite."""
    for term in match.terms:
        field = BY_NAME[term.field]
        if field.name in UNSUPPORTED_FIELDS:
            raise OpenFlowError(ErrorCode.MATCH_BAD_FIELD, f"{field.name} cannot be matched on")
        if version != V10 and (term.value > field.full or term.mask > field.full):
            raise OpenFlowError(ErrorCode.MATCH_BAD_VALUE, f"{term.value:#x} is too large for {field.name}")
        if version != V10 and (lacking := _lacking(field, match)):
            raise OpenFlowError(ErrorCode.MATCH_BAD_PREREQ, f"{field.name} needs {lacking} in the match")


def _lacking(field: Field, match: Match) -> str:
    """Return the first prerequisite of a field that a match does not have, as it would be written."""
    for needed, values in field.needs:
        term = match.get(needed)
        if needed == "vlan_vid":
            if term is None or not term.value & term.mask & VID_PRESENT:
                return "a vlan_vid"
        elif term is None or (
            values and (term.mask != BY_NAME[needed].full or not _suffices(term.value, values))
        ):
            return " or ".join(f"{needed}={value_text(BY_NAME[needed], value)}" for value in values) or needed
    return ""


def _suffices(value: int, values: tuple[int, ...]) -> bool:
    """Tell whether a value is among those a field needs; reverse ARP has the fields of ARP."""
    return value in values or (value == ETH_RARP and ETH_ARP in values)


def check_forms(instructions: tuple[Instruction, ...]) -> None:
    """Refuse instructions that are wrong in themselves."""
    if len({type(instruction) for instruction in instructions}) < len(instructions):
        raise OpenFlowError(ErrorCode.INSTRUCTION_UNSUPPORTED, "an entry has one instruction of each kind")
    for instruction in instructions:
        if isinstance(instruction, ExperimenterInstruction):
            raise OpenFlowError(ErrorCode.INSTRUCTION_BAD_EXPERIMENTER)
        if isinstance(instruction, ApplyActions | WriteActions):
            check_action_forms(instruction.actions)


def check_instructions(turn: Turn, instructions: tuple[Instruction, ...], match: Match, table: int) -> None:
    """Refuse instructions, in order, that this switch could not carry out for packets of the match."""
    consistency = _Consistency(match, turn.version != V10)
    for instruction in instructions:
        match instruction:
            case ApplyActions(actions):
                consistency.check(actions)
            case WriteActions(actions):
                copy(consistency).check(actions)
            case GotoTable(goto):
                reachable = goto < turn.options.tables or turn.options.tables == MOST_TABLES
                if goto <= table or not reachable:
                    raise OpenFlowError(
                        ErrorCode.INSTRUCTION_BAD_TABLE_ID, f"no way from table {table} to {goto}"
                    )
            case UseMeter(meter):
                if not 0 < meter <= MAX_METER:
                    raise OpenFlowError(ErrorCode.METER_INVALID, f"{meter:#x} is no meter's number")
            case _:
                pass
    consistency.settle()


def check_references(turn: Turn, instructions: tuple[Instruction, ...]) -> None:
    """Refuse instructions that name a group or meter which does not exist."""
    for instruction in instructions:
        if isinstance(instruction, ApplyActions | WriteActions):
            check_groups(turn, instruction.actions)
        elif isinstance(instruction, UseMeter) and instruction.meter_id not in turn.state.meters:
            raise OpenFlowError(ErrorCode.METER_INVALID, f"there is no meter {instruction.meter_id}")


def check_groups(turn: Turn, actions: tuple[Action, ...]) -> None:
    """Refuse actions that name a group which does not exist."""
    for action in actions:
        if isinstance(action, Group) and action.group_id not in turn.state.groups:
            raise OpenFlowError(ErrorCode.ACTION_BAD_OUT_GROUP, f"there is no group {action.group_id}")


def check_actions(turn: Turn, actions: tuple[Action, ...], match: Match) -> None:
    """Refuse a plain list of actions, as a packet-out has one, for what does not fit the packet."""
    consistency = _Consistency(match, turn.version != V10)
    consistency.check(actions)
    consistency.settle()
    check_groups(turn, actions)


def check_action_forms(actions: tuple[Action, ...]) -> None:
    """Refuse actions that are wrong in themselves, whatever the packet, or more than fit into a message."""
    if len(actions) > MOST_ACTIONS:
        raise OpenFlowError(ErrorCode.ACTION_TOO_MANY, f"a list has at most {MOST_ACTIONS} actions")
    for action in actions:
        match action:
            case ExperimenterAction(vendor, _):
                raise OpenFlowError(ErrorCode.ACTION_BAD_VENDOR, f"vendor {vendor:#x} is unknown")
            case PushPbb() | PopPbb() | CopyTtlIn() | CopyTtlOut():
                raise OpenFlowError(ErrorCode.ACTION_BAD_TYPE, f"{action} is not supported")
            case PushVlan(ethertype) if ethertype not in VLAN_TYPES:
                raise OpenFlowError(ErrorCode.ACTION_BAD_ARGUMENT, f"{ethertype:#06x} is no VLAN's type")
            case PushMpls(ethertype) if ethertype not in _MPLS_TYPES:
                raise OpenFlowError(ErrorCode.ACTION_BAD_ARGUMENT, f"{ethertype:#06x} is no MPLS type")
            case SetVlanVid(vid) if vid > 0xFFF:
                raise OpenFlowError(ErrorCode.ACTION_BAD_ARGUMENT, f"{vid} is no VLAN id")
            case SetVlanPcp(pcp) if pcp > 7:
                raise OpenFlowError(ErrorCode.ACTION_BAD_ARGUMENT, f"{pcp} is no VLAN priority")
            case SetField(name, value):
                absent = name == "vlan_vid" and not value & VID_PRESENT
                if name in UNSUPPORTED_FIELDS:
                    raise OpenFlowError(ErrorCode.ACTION_BAD_SET_TYPE, f"{name} is not supported")
                if name not in WRITABLE or value > BY_NAME[name].full or absent:
                    raise OpenFlowError(
                        ErrorCode.ACTION_BAD_SET_ARGUMENT, f"{name} cannot be set to {value:#x}"
                    )
            case Output(port, _) if port >= _LAST_PHYSICAL and port not in _RESERVED:
                raise OpenFlowError(ErrorCode.ACTION_BAD_OUT_PORT, f"{action} goes nowhere")
            case Enqueue(port, _) if port >= _LAST_PHYSICAL and port not in _QUEUED:
                raise OpenFlowError(ErrorCode.ACTION_BAD_OUT_PORT, f"{action} goes nowhere")
            case _:
                pass


class _Consistency:
    """What is known of the packets an action list meets, action by action.

    Some actions that do not fit the match are refused only when nothing else is wrong: `settle`.
    """

    def __init__(self, match: Match, strict: bool) -> None:
        self.strict = strict
        self.ethertype = match.value("eth_type") or 0
        self.protocol = match.value("ip_proto") or 0
        self.icmpv6 = match.value("icmpv6_type") or 0
        vlan = match.get("vlan_vid")
        self.tags = int(vlan is not None and bool(vlan.value & VID_PRESENT))
        self._unfit: Action | None = None

    def _require(self, holds: bool, action: Action) -> None:
        if self.strict and not holds:
            self._unfit = action

    def settle(self) -> None:
        """Refuse the actions checked so far if one does not fit."""
        if self._unfit is not None:
            raise OpenFlowError(
                ErrorCode.ACTION_MATCH_INCONSISTENT, f"{self._unfit} does not fit what is matched"
            )

    def check(self, actions: tuple[Action, ...]) -> None:
        """Refuse an action that cannot act on the packets in question."""
        for action in actions:
            match action:
                case SetField(name, _):
                    if not self._has(name):
                        raise OpenFlowError(
                            ErrorCode.ACTION_MATCH_INCONSISTENT, f"{action} does not fit the match"
                        )
                case SetVlanVid() | SetVlanPcp():
                    self.tags = max(self.tags, 1)
                case PushVlan():
                    if self.tags >= _MOST_TAGS:
                        raise OpenFlowError(ErrorCode.ACTION_BAD_TAG, "a packet has at most two tags")
                    self.tags += 1
                case PopVlan():
                    self._require(self.tags > 0, action)
                    self.tags = max(self.tags - 1, 0)
                case SetNwTtl() | DecNwTtl():
                    self._require(self.ethertype in (ETH_IPV4, ETH_IPV6), action)
                case SetMplsTtl() | DecMplsTtl():
                    self._require(self.ethertype in _MPLS_TYPES, action)
                case PushMpls(ethertype):
                    self.ethertype, self.protocol = ethertype, 0
                case PopMpls(ethertype):
                    self._require(self.ethertype in _MPLS_TYPES, action)
                    self.ethertype = ethertype
                case _:
                    pass

    def _has(self, name: str) -> bool:
        """Tell whether packets in question have a field (1.0's setters do not ask)."""
        if not self.strict and name in ("eth_src", "eth_dst", "ipv4_src", "ipv4_dst", "ip_dscp"):
            return True
        if name == "vlan_vid":
            return self.tags > 0
        known = {"eth_type": self.ethertype, "ip_proto": self.protocol, "icmpv6_type": self.icmpv6}
        return all(
            self.tags > 0 if needed == "vlan_vid" else _suffices(known[needed], values)
            for needed, values in BY_NAME[name].needs
        )
