"""A switch for unboundedly many packets (MOCS §2.2, §2.3): the real one, with sets around it.

What was a stream is a set.  A packet that has arrived once is there for ever, any number of times: the
(0,∞) abstraction.  So `match` and `nomatch` never take a packet away.  Packet-outs wait in a set until
`fwd`, all other messages in a sequence of sets with barriers between them: those of the first set are carried
out in any order by `add`, `del` and, if they are no flow-mods, `tell`; a barrier that has come to the front
is answered by `brepl`.

What a packet meets, and what a message does, is for the real switch to say: `match` hands it the packet,
`add` the flow-mod.  Its own state may not depend on how many packets it saw, so counters must be off.

What a switch learns of packets that go to `OFPP_NORMAL` it forgets at once, so that it floods them all: it
may have forgotten at any moment, and a result without a violation is bounded.

With `timeouts`, a rule that was given a timeout may vanish at any moment (`expire`), as in the authors'
follow-up.  With `history`, a packet carries the names of the switches it has left, in its tag.  With
`flush`, the switch is Kuai's: what stands before a barrier is carried out at once when the barrier comes,
and nobody is told.

The first event of each step is called like the action and tells the switch and the packet or message; of
`match` and `fwd` also the ports by which the packet went out.  A rule that has a packet both asked about and
sent out makes a step that is a `nomatch` and a `match`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

from penstock._verify.naming import named
from penstock._verify.observations import Experience
from penstock._world.component import Event, Port, Step
from penstock._world.frame import Frame
from penstock._world.switch import Switch, SwitchState
from penstock._world.switch.flow_table import FlowEntry
from penstock._world.switch.meters import UNMETERED
from penstock._world.switch.pipeline import CHOSEN
from penstock.openflow.actions import Action, ApplyActions, Enqueue, Group, Output, SetQueue, actions_text
from penstock.openflow.messages import (
    NO_BUFFER,
    BarrierRequest,
    FlowCommand,
    FlowMod,
    GroupType,
    OpenFlowMessage,
    PacketIn,
    PacketOut,
    PortNo,
)
from penstock.openflow.stats import DescRequest, PortDescRequest, StatsRequest

MATCH: Final = "match"
NOMATCH: Final = "nomatch"
FORWARD: Final = "fwd"
ADD: Final = "add"
DELETE: Final = "del"
REPLY: Final = "brepl"
TELL: Final = "tell"
EXPIRE: Final = "expire"

_VISITED: Final = ","
_MOST_MET: Final = 1 << 12
"""How many meetings of packets with tables are remembered."""


class Arrival(NamedTuple):
    """A packet and the port it has come in by."""

    port: int
    frame: Frame

    def __str__(self) -> str:
        return f"{self.port} {self.frame}"


Batch = frozenset[OpenFlowMessage] | BarrierRequest
"""Messages that no barrier keeps in order, or a barrier."""


@dataclass(frozen=True, slots=True)
class SwitchQueues:
    """The state of an abstract switch: the real one's, and what is in the queues."""

    inner: SwitchState
    packets: frozenset[Arrival] = frozenset()
    control: tuple[Batch, ...] = ()
    forward: frozenset[PacketOut] = frozenset()
    sent: tuple[Batch, ...] = ()
    """All that was ever in the control queue, each rule once, if the switch remembers it."""


class AbstractSwitch:
    """A switch whose queues are sets; see the module."""

    def __init__(
        self,
        inner: Switch,
        experience: Experience,
        *,
        history: bool = False,
        flush: bool = False,
        timeouts: bool = False,
        remembers: bool = False,
    ) -> None:
        self.name = inner.name
        self.inner = inner
        self.controller = inner.chassis.controllers[0]
        self._experience = experience
        self._history = history
        self._flush = flush
        self._timeouts = timeouts
        self._remembers = remembers
        self._last: tuple[SwitchQueues, dict[str, Arrival | OpenFlowMessage]] | None = None
        self._met = lru_cache(maxsize=_MOST_MET)(self._meeting)

    def remembering(self) -> AbstractSwitch:
        """Return the same switch, which also remembers the order of what it is sent."""
        return AbstractSwitch(
            self.inner,
            self._experience,
            history=self._history,
            flush=self._flush,
            timeouts=self._timeouts,
            remembers=True,
        )

    def initial(self) -> SwitchQueues:
        """Return the real switch's first state, with empty queues."""
        return SwitchQueues(self.inner.initial())

    def actions(self, state: SwitchQueues) -> tuple[str, ...]:
        """Return what may happen by itself, each named for its kind and its packet or message."""
        return (*self._possible(state), *(self.inner.actions(_expiring(state)) if self._timeouts else ()))

    def _possible(self, state: SwitchQueues) -> dict[str, Arrival | OpenFlowMessage]:
        # Whoever asks what is possible has it done next, one thing after the other.
        if self._last is not None and self._last[0] is state:
            return self._last[1]
        found: dict[str, Arrival | OpenFlowMessage] = {}
        self._last = (state, found)
        for name, arrival in named(state.packets).items():
            found[f"{self.processed(state, arrival).events[0].kind} {name}"] = arrival
        for name, message in named(state.forward, _out_text).items():
            found[f"{FORWARD} {name}"] = message
        if state.control:
            first = state.control[0]
            if isinstance(first, BarrierRequest):
                found[f"{REPLY} {first.xid}"] = first
            else:
                for name, change in named(first).items():
                    found[f"{_kind(change)} {name}"] = change
        return found

    def processed(self, state: SwitchQueues, arrival: Arrival) -> Step:
        """Return what becomes of a packet, without regard to the queues."""
        return self._met(state.inner, arrival)

    def _meeting(self, inner: SwitchState, arrival: Arrival) -> Step:
        step = self.inner.receive(inner, arrival.port, self._leaving(arrival.frame))
        step = self._unlearned(inner, step)
        self._note(inner, arrival.frame.data, step)
        ports = _ports(step)
        asked = self._is_request(step)
        kinds = [NOMATCH] * asked + [MATCH] * bool(ports or not asked)
        return step._replace(
            events=(*(Event(kind, (self.name, arrival, ports)) for kind in kinds), *step.events)
        )

    def _note(self, inner: SwitchState, data: bytes, step: Step) -> None:
        """Note what becomes of a packet that other packets of its class need not share."""
        carried = (each.data for _, each in step.sends if isinstance(each, Frame | PacketIn))
        # A packet that was rewritten may also be dropped by a later table.
        met = (part for event in step.events for part in event.detail if isinstance(part, FlowEntry))
        applied = (each for entry in met for each in entry.instructions if isinstance(each, ApplyActions))
        self._experience.rewritten |= any(sent != data for sent in carried)
        self._experience.rewritten |= any(_rewrites(each.actions) for each in applied)
        noted = {event.kind for event in step.events}
        self._experience.metered |= UNMETERED in noted
        self._experience.chosen |= CHOSEN in noted
        self._experience.spread |= any(
            group.type == GroupType.SELECT and len(group.buckets) > 1 for group in inner.groups.values()
        )

    def _unlearned(self, inner: SwitchState, step: Step) -> Step:
        """Return a step after which the switch has forgotten what it learned, as it may at any moment."""
        if step.state.addresses is inner.addresses:
            return step
        self._experience.learned = True
        return step._replace(state=replace(step.state, addresses=inner.addresses))

    def carried_out(self, inner: SwitchState, message: OpenFlowMessage) -> Step:
        """Return what becomes of a message, without regard to the queues."""
        told = self._out(message) if isinstance(message, PacketOut) else message
        step = self._unlearned(inner, self.inner.receive(inner, self.controller, told))
        if isinstance(message, PacketOut) and message.buffer_id == NO_BUFFER:
            self._experience.rewritten |= _rewrites(message.actions)
            self._note(inner, message.data, step)
        event = Event(_kind(message), (self.name, message, _ports(step)))
        return step._replace(events=(event, *step.events))

    def _is_request(self, met: Step) -> bool:
        return any(port == self.controller for port, _ in met.sends)

    def act(self, state: SwitchQueues, action: str) -> Step:
        """Process a packet, carry out a message, answer a barrier, or let a rule vanish."""
        if self._timeouts and action.startswith(f"{EXPIRE} "):
            self._experience.only_adds = False
            step = self.inner.act(_expiring(state), action)
            gone = step._replace(state=replace(step.state, expiries=state.inner.expiries))
            event = Event(EXPIRE, (self.name, action.removeprefix(f"{EXPIRE} ")))
            return self._kept(state, gone._replace(events=(event, *step.events)))
        subject = self._possible(state)[action]
        if isinstance(subject, Arrival):
            return self._kept(state, self.processed(state, subject))
        step = self.carried_out(state.inner, subject)
        if isinstance(subject, PacketOut):
            return self._kept(replace(state, forward=state.forward - {subject}), step)
        if not isinstance(subject, BarrierRequest):
            # What is refused is answered too.
            self._experience.only_adds &= not step.sends and not _lost(state.inner, step.state)
        return self._kept(_without(state, subject), step)

    def _kept(self, state: SwitchQueues, step: Step) -> Step:
        return step._replace(state=replace(state, inner=step.state))

    def _leaving(self, frame: Frame) -> Frame:
        return replace(frame, tag=with_visit(frame.tag, self.name)) if self._history else frame

    def _out(self, message: PacketOut) -> PacketOut:
        return replace(message, tag=with_visit(message.tag, self.name)) if self._history else message

    def receive(self, state: SwitchQueues, port: Port, message: Any) -> Step:
        """Hear of the physical world, as the real switch does."""
        return self._kept(state, self.inner.receive(state.inner, port, message))

    def collect(self, state: SwitchQueues, _port: Port, message: Any) -> Hashable | None:
        """Put a packet or a message into its queue."""
        match message:
            case Frame():
                assert isinstance(_port, int)
                return replace(state, packets=state.packets | {Arrival(_port, message)})
            case PacketOut():
                self._experience.indirect |= _is_indirect(message)
                return replace(state, forward=state.forward | {message})
            case FlowMod():
                sent = _remembered(state.sent, message) if self._remembers else ()
                return replace(state, control=_queued(state.control, message), sent=sent)
            case BarrierRequest():
                sent = _remembered(state.sent, message) if self._remembers else ()
                waiting = replace(state, control=(*state.control, message), sent=sent)
                return self._flushed(waiting) if self._flush else waiting
            case OpenFlowMessage():
                self._experience.reconfigured = True
                self._experience.counted |= _asks_for_counts(message)
                return replace(state, control=_queued(state.control, message))
            case _:
                return None

    def _flushed(self, state: SwitchQueues) -> SwitchQueues:
        """Carry out all that waits before the last barrier, which is at the end."""
        inner = state.inner
        for batch in state.control[:-1]:
            if not isinstance(batch, BarrierRequest):
                for change in named(batch).values():
                    inner = self.carried_out(inner, change).state
        return replace(state, inner=inner, control=())


def visited(tag: str) -> frozenset[str]:
    """Return the switches that a packet has left, by its tag."""
    return frozenset(tag.split(_VISITED)) if tag else frozenset()


def with_visit(tag: str, switch: str) -> str:
    """Return the tag of a packet that leaves a switch."""
    return _VISITED.join(sorted(visited(tag) | {switch}))


def _rewrites(actions: Iterable[Action]) -> bool:
    return not all(isinstance(action, Output | Group | Enqueue | SetQueue) for action in actions)


def _is_indirect(message: PacketOut) -> bool:
    """Tell whether it depends on a switch's state where it sends a packet."""
    return message.buffer_id != NO_BUFFER or any(
        isinstance(action, Group) or (isinstance(action, Output) and action.port == PortNo.TABLE)
        for action in message.actions
    )


def _asks_for_counts(message: OpenFlowMessage) -> bool:
    return isinstance(message, StatsRequest) and not isinstance(message.body, DescRequest | PortDescRequest)


def _kind(message: OpenFlowMessage) -> str:
    """Return what carrying out a message is called."""
    match message:
        case PacketOut():
            return FORWARD
        case BarrierRequest():
            return REPLY
        case FlowMod(command=command):
            return ADD if command < FlowCommand.DELETE else DELETE
        case _:
            return TELL


def _expiring(state: SwitchQueues) -> SwitchState:
    """Return the real switch's state when one more rule may time out: there always may."""
    return replace(state.inner, expiries=1)


def _ports(step: Step) -> tuple[int, ...]:
    """Return the ports by which packets leave in a step."""
    return tuple(dict.fromkeys(int(port) for port, message in step.sends if isinstance(message, Frame)))


def _lost(before: SwitchState, after: SwitchState) -> bool:
    """Tell whether a rule that was there is gone."""
    return any(
        entry not in (after.tables.get(number) or ())
        for number, table in before.tables.items()
        for entry in table
    )


def _queued(control: tuple[Batch, ...], message: OpenFlowMessage) -> tuple[Batch, ...]:
    if control and not isinstance(control[-1], BarrierRequest):
        return (*control[:-1], control[-1] | {message})
    return (*control, frozenset({message}))


def _remembered(sent: tuple[Batch, ...], message: FlowMod | BarrierRequest) -> tuple[Batch, ...]:
    """Return what was sent with one message more, unless it has been there and adds nothing to the order."""
    if isinstance(message, FlowMod):
        known = any(not isinstance(batch, BarrierRequest) and message in batch for batch in sent)
        return sent if known else _queued(sent, message)
    for batch in reversed(sent):
        if not isinstance(batch, BarrierRequest):
            break
        if batch == message:
            return sent
    return (*sent, message)


def _without(state: SwitchQueues, message: OpenFlowMessage) -> SwitchQueues:
    """Return the state with a message taken from the front of its control queue."""
    first, *rest = state.control
    left: Iterable[Batch] = rest
    if not isinstance(first, BarrierRequest) and len(first) > 1:
        left = (first - {message}, *rest)
    return replace(state, control=tuple(left))


def _out_text(message: PacketOut) -> str:
    return f"{Frame(message.data, message.tag)} from {message.in_port}: {actions_text(message.actions)}"
