"""What one flow entry does with a class of packets: `_world.switch.pipeline`, over cubes.

Actions are carried out in order on the class as a whole, as if it were one packet.  Where an action
needs to know something that is true of some packets of the class only (whether there is a tag to pop,
say), the class is divided by that question and each part begins anew.  So a part is exact, and there are
no more parts than there are answers.

What a packet may cost a switch (`_world.switch.budgets`) is counted table by table: nothing is sent of
packets that are over a budget.

Three things are not followed: what lies below an MPLS label that is pushed or popped, a second VLAN tag,
and what changes the meaning of other fields (the type of an ICMPv6 message).  Such packets end in an
`Unfollowed` exit that says why.  A select group's choice is the switch's own: what any of its live buckets
sends is marked `perhaps`.  The time to live is followed as the number it is, from `kinds.TTL` on.  A port
that does not receive takes nothing here, not even the frames between bridges that it would.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from typing import Final, NamedTuple, assert_never

from penstock._forwarding.header_space import (
    EVERYTHING,
    Cube,
    field_mask,
    header_of,
    is_within,
    meet,
    overlap,
    packed,
    pulled_back,
)
from penstock._world.switch import budgets, drops
from penstock._world.switch.groups import live_buckets
from penstock._world.switch.labels import MPLS_TYPES
from penstock._world.switch.pipeline import SENDERS, in_order
from penstock._world.switch.state import SwitchState
from penstock._world.switch.turn import Chassis, Turn
from penstock.openflow.actions import (
    Action,
    ApplyActions,
    ClearActions,
    CopyTtlIn,
    CopyTtlOut,
    DecMplsTtl,
    DecNwTtl,
    Enqueue,
    ExperimenterAction,
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
    SetQueue,
    SetTransportDst,
    SetTransportSrc,
    SetVlanPcp,
    SetVlanVid,
    UnknownAction,
    WriteActions,
    WriteMetadata,
)
from penstock.openflow.fields import BY_NAME, ETH_IPV4, ETH_IPV6, VID_PRESENT, Prerequisite
from penstock.openflow.messages import V10, Bucket, GroupType, PortConfig, PortNo

_ASIDE: Final = ("metadata", "tunnel_id")
_PLAIN: Final = ("eth_dst", "eth_src", "vlan_vid", *_ASIDE)
"""The fields that any packet has, or gets when they are written."""

UNCLEAR: Final = ("icmpv6_type", "icmpv6_code", "ipv6_nd_sll", "ipv6_nd_tll")
_TRANSPORTS: Final = ("tcp", "udp", "sctp")
_OF_ICMP: Final = {"src": "type", "dst": "code"}


class Writes(NamedTuple):
    """What was written into the header on the way, the values under the bits written; and the TTL."""

    written: int
    values: int
    ttl: int

    def set(self, field: str, value: int) -> Writes:
        """Return these writes and one more."""
        mask = field_mask(field)
        return Writes(self.written | mask, self.values & ~mask | packed(field, value), self.ttl)


class Leaves(NamedTuple):
    """The packets leave by a port."""

    port: int
    writes: Writes
    perhaps: bool = False


class GoesOn(NamedTuple):
    """The packets go on in a later table."""

    table: int
    writes: Writes
    action_set: tuple[Action, ...]


class ToController(NamedTuple):
    """The packets are handed to the controller."""

    writes: Writes
    perhaps: bool = False


class Unfollowed(NamedTuple):
    """Nobody knows where the packets go from here."""

    why: str


Exit = Leaves | GoesOn | ToController | Unfollowed


class Part(NamedTuple):
    """Packets that an entry treats alike: those of a cube outside of some others, and their exits.

    `failed` tells why nothing was sent although the entry has the packets sent somewhere; `idle` the same
    where that may be as it should: they are sent out of the port that they came in by, or flooded where
    there is no other.  `ways` is how many copies of a packet there are from here on; of all that a select
    group may choose, one.
    """

    cube: Cube
    outside: tuple[Cube, ...]
    exits: tuple[Exit, ...]
    ways: int
    failed: str = ""
    idle: str = ""


def _ways(exits: tuple[Exit, ...]) -> int:
    perhaps = sum(isinstance(one, Leaves | ToController) and one.perhaps for one in exits)
    return len(exits) - perhaps + min(perhaps, 1)


class _Undecided(Exception):
    """Some packets of the class answer a question one way and some the other."""

    def __init__(self, cubes: list[Cube]) -> None:
        super().__init__()
        self.cubes = cubes


class _NotFollowed(Exception):
    """What becomes of the packets is not known."""


class _OverBudget(Exception):
    """Nothing at all is sent of the packets, for a reason."""


class _Ended(Exception):
    """Nothing more is done for the packets, or for a group's copies; what was sent is sent."""


class _Cut(Exception):
    """The rest of this list of actions, and of its rule, is not carried out."""


def _alternatives(needs: tuple[Prerequisite, ...]) -> tuple[Cube, ...]:
    """Return the cubes of packets that satisfy all prerequisites."""
    names = [name for name, _ in needs]
    found = product(*(values for _, values in needs))
    return tuple((header_of(dict(zip(names, one, strict=True))), field_mask(*names)) for one in found)


_IS_IP: Final = _alternatives((("eth_type", (ETH_IPV4, ETH_IPV6)),))
_IS_MPLS: Final = _alternatives((("eth_type", MPLS_TYPES),))
_PRESENT: Final = packed("vlan_vid", VID_PRESENT)
_TAGGED: Final[tuple[Cube, ...]] = ((_PRESENT, _PRESENT),)
_HAS: Final = {
    name: _alternatives((*field.needs, *((("icmpv6_code", (0,)),) if name == "ipv6_nd_target" else ())))
    for name, field in BY_NAME.items()
    if name not in _PLAIN and all(values for _, values in field.needs)
}


class Site:
    """A switch where it stands: what it is built of, its ports, groups and sessions now."""

    __slots__ = ("chassis", "flooded", "hands_over_misses", "refusals", "sending", "state")

    def __init__(self, chassis: Chassis, state: SwitchState) -> None:
        self.chassis = chassis
        self.state = state
        self.hands_over_misses = chassis.options.version == V10
        """What no rule matches goes to the controller, as in 1.0."""
        usable = {number: status.config for number, status in state.ports.items() if status.usable}
        self.sending = frozenset(n for n, config in usable.items() if not config & PortConfig.NO_FWD)
        """The ports that frames can leave by."""
        self.flooded = tuple(n for n, s in state.ports.items() if not s.config & PortConfig.NO_FLOOD)
        """The ports that a flood goes out of."""
        self.refusals = {n: self._refusal(n) for n in state.ports}
        """Why what arrives at a port is not taken, or nothing."""

    def _refusal(self, port: int) -> str:
        status, name = self.state.ports[port], self.chassis.name
        if not self.state.powered:
            return f"{name} is off"
        if not status.usable:
            return f"port {port} of {name} is down"
        return f"port {port} of {name} does not receive" if status.config & PortConfig.NO_RECV else ""


def parts(
    site: Site,
    instructions: tuple[Instruction, ...] | None,
    in_port: int,
    writes: Writes,
    action_set: tuple[Action, ...],
) -> list[Part]:
    """Return what becomes of packets that meet an entry with some instructions, or none, part by part."""
    found: list[Part] = []
    ahead: list[tuple[Cube, tuple[Cube, ...]]] = [(EVERYTHING, ())]
    while ahead:
        inside, outside = ahead.pop()
        run = _Run(site, inside, outside, in_port, writes, action_set)
        try:
            found.append(run.meet(instructions))
        except _Undecided as question:
            ahead.append((inside, (*outside, *question.cubes)))
            ahead += ((both, outside) for one in question.cubes if (both := meet(inside, one)) is not None)
    return found


class _Run:
    """One class of packets on its way through an entry."""

    def __init__(
        self,
        site: Site,
        cube: Cube,
        outside: tuple[Cube, ...],
        in_port: int,
        writes: Writes,
        action_set: tuple[Action, ...],
    ) -> None:
        self._site = site
        self._cube, self._outside = cube, outside
        self._in_port = in_port
        self._writes = writes
        self._action_set = action_set
        self._exits: list[Exit] = []
        self._failed = ""
        self._idle = ""
        self._changed = False
        self._perhaps = False
        self._depth = 0
        self._buckets = 0

    def meet(self, instructions: tuple[Instruction, ...] | None) -> Part:
        """Carry out an entry's instructions, and the action set if no table follows."""
        try:
            if instructions is not None:
                self._follow(instructions)
            elif self._site.hands_over_misses:
                self._exits.append(ToController(self._writes))
            else:
                self._run_action_set()
        except _NotFollowed as reason:
            self._exits.append(Unfollowed(str(reason)))
        except _OverBudget as reason:
            return Part(self._cube, self._outside, (), 0, str(reason))
        except _Ended:
            pass
        # Two copies of the same packet by the same port are told as one.
        exits = tuple(dict.fromkeys(self._exits) if len(self._exits) > 1 else self._exits)
        if exits:
            return Part(self._cube, self._outside, exits, _ways(exits))
        if self._changed and not self._idle:
            self._failed = self._failed or drops.ONLY_CHANGED
        return Part(self._cube, self._outside, (), 0, self._failed, self._idle)

    def _follow(self, instructions: tuple[Instruction, ...]) -> None:
        for instruction in instructions:
            match instruction:
                case ApplyActions(actions):
                    try:
                        self._apply(actions)
                    except _Cut:
                        break
                case ClearActions():
                    self._action_set = ()
                case WriteActions(actions):
                    self._action_set = (*self._action_set, *actions)
                case WriteMetadata(value, mask):
                    place = packed("metadata", mask)
                    written, values, ttl = self._writes
                    value = packed("metadata", value & mask)
                    self._writes = Writes(written | place, values & ~place | value, ttl)
                case GotoTable(table):
                    self._exits.append(GoesOn(table, self._writes, self._action_set))
                    return
                case _:
                    pass
        self._run_action_set()

    def _run_action_set(self) -> None:
        if self._action_set:
            actions, self._action_set = in_order(list(self._action_set)), ()
            self._perform(tuple(actions))

    def _perform(self, actions: tuple[Action, ...]) -> None:
        try:
            self._apply(actions)
        except _Cut:
            return

    def _holds(self, alternatives: tuple[Cube, ...]) -> bool:
        """Tell whether the packets are in one of some cubes; if only some are, the class is divided."""
        open_questions = []
        for one in alternatives:
            sent = pulled_back(one, self._writes.written, self._writes.values)
            if sent is None or not overlap(self._cube, sent) or sent in self._outside:
                continue
            if is_within(self._cube, sent):
                return True
            open_questions.append(sent)
        if open_questions:
            raise _Undecided(open_questions)
        return False

    def _apply(self, actions: tuple[Action, ...]) -> None:
        for action in actions:
            self._act(action)

    def _act(self, action: Action) -> None:
        self._changed = self._changed or not isinstance(action, SENDERS)
        match action:
            case Output(port, _) | Enqueue(port, _):
                self._output(port)
            case Group(group_id):
                self._group(group_id)
            case SetField(name, value):
                self._set_field(name, value)
            case SetVlanVid(vid):
                self._set("vlan_vid", VID_PRESENT | vid)
            case SetVlanPcp(pcp):
                if not self._holds(_TAGGED):
                    self._set("vlan_vid", VID_PRESENT)
                self._set("vlan_pcp", pcp)
            case PushVlan(_):
                if self._holds(_TAGGED):
                    raise _NotFollowed("a second VLAN tag is put on")
                self._set("vlan_vid", VID_PRESENT)
            case PopVlan():
                self._set("vlan_vid", 0)
                self._set("vlan_pcp", 0)
            case PushMpls(_):
                raise _NotFollowed("an MPLS label is put on")
            case PopMpls(_):
                if self._holds(_IS_MPLS):
                    raise _NotFollowed("an MPLS label is taken off")
            case SetTransportSrc(port):
                self._set_transport("src", port)
            case SetTransportDst(port):
                self._set_transport("dst", port)
            case SetNwTtl(ttl):
                if self._holds(_IS_IP):
                    self._writes = self._writes._replace(ttl=ttl)
            case SetMplsTtl(ttl):
                if self._holds(_IS_MPLS):
                    self._writes = self._writes._replace(ttl=ttl)
            case DecNwTtl():
                if self._holds(_IS_IP):
                    self._count_down()
            case DecMplsTtl():
                if not self._holds(_IS_MPLS):
                    raise _Cut
                self._count_down()
            case UnknownAction(text):
                raise _NotFollowed(f"the action {text} is not followed")
            case ExperimenterAction() | PushPbb() | PopPbb() | CopyTtlIn() | CopyTtlOut() | SetQueue():
                pass
            case _:
                assert_never(action)

    def _set(self, field: str, value: int) -> None:
        self._writes = self._writes.set(field, value)

    def _set_field(self, name: str, value: int) -> None:
        if name == "vlan_vid":
            self._set(name, VID_PRESENT | value)
        elif name in _PLAIN:
            self._set(name, value)
        elif self._holds(_TAGGED if name == "vlan_pcp" else _HAS[name]):
            if name in UNCLEAR:
                raise _NotFollowed(f"{name} is written, which changes what other fields mean")
            self._set(name, value)

    def _set_transport(self, end: str, port: int) -> None:
        for transport in _TRANSPORTS:
            name = f"{transport}_{end}"
            if self._holds(_HAS[name]):
                self._set(name, port)
                return
        name = _OF_ICMP[end]
        if self._holds(_HAS[f"icmpv4_{name}"]):
            self._set(f"icmpv4_{name}", port & 0xFF)
        elif self._holds(_HAS[f"icmpv6_{name}"]):
            raise _NotFollowed(f"icmpv6_{name} is written, which changes what other fields mean")

    def _count_down(self) -> None:
        if self._writes.ttl > 1:
            self._writes = self._writes._replace(ttl=self._writes.ttl - 1)
            return
        self._exits.append(ToController(self._writes, self._perhaps))
        raise _Cut

    def _output(self, port: int) -> None:
        match port:
            case PortNo.CONTROLLER:
                self._exits.append(ToController(self._writes, self._perhaps))
            case PortNo.IN_PORT:
                self._emit(self._in_port)
            case PortNo.FLOOD | PortNo.ALL:
                before = len(self._exits)
                for number in self._site.flooded if port == PortNo.FLOOD else self._site.state.ports:
                    if number in self._site.sending and number != self._in_port:
                        self._emit(number)
                if len(self._exits) == before:
                    self._idle = self._idle or drops.NO_OTHER_PORT
            case PortNo.TABLE:
                raise _NotFollowed("it begins anew in table 0")
            case PortNo.NORMAL:
                raise _NotFollowed("the switch sends them on as it has learnt (NORMAL)")
            case self._in_port:
                self._idle = self._idle or drops.ingress_port(port)
            case _:
                self._emit(port)

    def _emit(self, port: int) -> None:
        if port in self._site.sending:
            self._exits.append(Leaves(port, self._writes, self._perhaps))
            return
        status = self._site.state.ports.get(port)
        if status is None:
            why = drops.no_port(port)
        elif status.config & PortConfig.NO_FWD:
            why = drops.not_forwarding(port)
        else:
            why = drops.port_down(port)
        self._failed = self._failed or why

    def _group(self, group_id: int) -> None:
        self._keep_to_budgets()
        group = self._site.state.groups.get(group_id)
        if group is None:
            self._failed = self._failed or drops.no_group(group_id)
            raise _Cut
        chosen = list(range(len(group.buckets)))
        if group.type in (GroupType.SELECT, GroupType.FAST_FAILOVER):
            chosen = live_buckets(Turn(self._site.chassis, self._site.state), group)
            if not chosen and group.buckets:
                self._failed = self._failed or drops.no_bucket(group_id, live=True)
        if group.type == GroupType.FAST_FAILOVER:
            del chosen[1:]
        if group.type == GroupType.SELECT and self._depth and self._action_set:
            raise _NotFollowed("a select group inside a group has the action set carried out more than once")
        perhaps = self._perhaps
        self._perhaps = perhaps or (group.type == GroupType.SELECT and len(chosen) > 1)
        for index in chosen:
            self._run_bucket(group.buckets[index])
        self._perhaps = perhaps

    def _keep_to_budgets(self) -> None:
        if self._depth >= budgets.DEPTH.most:
            raise _OverBudget(budgets.DEPTH)
        if len(self._exits) >= budgets.COPIES.most:
            raise _Ended

    def _run_bucket(self, bucket: Bucket) -> None:
        """Run a bucket's actions on a copy of the packets."""
        self._buckets += 1
        if self._buckets > budgets.BUCKETS.most:
            raise _OverBudget(budgets.BUCKETS)
        before = self._writes
        self._depth += 1
        with suppress(_Ended):
            self._perform(tuple(in_order(list(bucket.actions))))
        self._depth -= 1
        self._writes = before
