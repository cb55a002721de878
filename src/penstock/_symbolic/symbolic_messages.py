"""A controller that hears messages whose contents are found: NICE's `discover_stats`.

Some messages say what a switch cannot know in the model - how much traffic there was - or what
would take a long run to come about.  A controller behind this component is told such a message as
one of several actions, `hear s1: …`, one for each way in which its handler treats other contents.
What the real message says is among them only if it is treated in a way of its own.  Properties know
by the events `kept` and `heard` (controller, switch, message) when it was only kept and when it was
heard, and in which words.

Messages from one switch stay in order: while one waits to be heard, those after it wait too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from penstock._concolic.packets.inputs import question_about
from penstock._controllers.probing import Given, HandOver, Perform, Probeable
from penstock._symbolic.discovery import Discovery
from penstock._world.component import Component, Event, Port, Step, Timed
from penstock._world.signals import FABRIC, Carrier, Power
from penstock.errors import PenstockError
from penstock.openflow.messages import FlowRemoved, OpenFlowMessage, PortStatus
from penstock.openflow.stats import StatsReply

KINDS: Final = {"statistics": StatsReply, "port-status": PortStatus, "flow-removed": FlowRemoved}
"""What the kinds of messages are called in a scenario."""

_HEAR: Final = "hear "


class Controlling(Component, Probeable, Protocol):
    """A controller that can be asked."""


@dataclass(frozen=True, slots=True)
class HearingState:
    """The controller's own state, and what waits to be heard, oldest first."""

    inner: Any
    waiting: tuple[tuple[str, OpenFlowMessage], ...] = ()


class SymbolicMessages:
    """A controller that is told messages of some kinds with contents that make a difference."""

    def __init__(self, controller: Controlling, kinds: tuple[str, ...]) -> None:
        self.name = controller.name
        self.version = controller.version
        self.sees_numbers = controller.sees_numbers
        self._controller = self.inner = controller
        self._kinds = tuple(KINDS[kind] for kind in kinds)
        self.discovery: Discovery | None = None

    def initial(self) -> HearingState:
        """Return the state the controller starts in."""
        return HearingState(self._controller.initial())

    def actions(self, state: HearingState) -> tuple[str, ...]:
        """Return what the controller may do, and what it may hear."""
        heard = [
            f"{_HEAR}{switch}: {text}" for switch in _first(state) for text in self._variants(state, switch)
        ]
        return (*self._controller.actions(state.inner), *heard)

    def act(self, state: HearingState, action: str) -> Step:
        """Have the controller do something by itself, or hear a message."""
        if not action.startswith(_HEAR):
            return self._wrapped(self._controller.act(state.inner, action), state.waiting)
        switch, _, text = action.removeprefix(_HEAR).partition(": ")
        variants = self._variants(state, switch)
        if text not in variants:
            raise PenstockError(f"{self.name} cannot {action!r} now: choose one of its actions.")
        place = next(index for index, (sender, _) in enumerate(state.waiting) if sender == switch)
        waiting = state.waiting[:place] + state.waiting[place + 1 :]
        step = self._wrapped(self._controller.receive(state.inner, switch, variants[text]), waiting)
        return step._replace(events=(*step.events, Event("heard", (self.name, switch, variants[text]))))

    def receive(self, state: HearingState, port: Port, message: Any) -> Step:
        """Keep a message until it is heard, or pass on what is no matter of contents."""
        if port == FABRIC:
            return self._signal(state, message)
        switch = str(port)
        if switch in _first(state) or self._is_varied(message):
            kept = replace(state, waiting=(*state.waiting, (switch, message)))
            return Step(kept, (), (Event("kept", (self.name, switch, message)),))
        return self._wrapped(self._controller.receive(state.inner, port, message), state.waiting)

    def _signal(self, state: HearingState, signal: Carrier | Power) -> Step:
        """Forget what came over a session that is gone."""
        if isinstance(signal, Power):
            waiting: tuple[tuple[str, OpenFlowMessage], ...] = ()
        else:
            waiting = tuple(item for item in state.waiting if signal.up or item[0] != str(signal.port))
        return self._wrapped(self._controller.receive(state.inner, FABRIC, signal), waiting)

    def _variants(self, state: HearingState, switch: str) -> dict[str, OpenFlowMessage]:
        """Return the messages that may be heard from a switch now, by what they say."""
        message = _first(state).get(switch)
        if message is None:
            return {}
        assert self.discovery is not None
        if not self._is_varied(message) or not self._controller.hears(state.inner, switch):
            return {str(message): message}
        return self.discovery.messages(HearingState(state.inner), switch, message)

    def _is_varied(self, message: OpenFlowMessage) -> bool:
        return isinstance(message, self._kinds) and bool(
            question_about(message, self.version).space.variables
        )

    def _wrapped(self, step: Step, waiting: tuple[tuple[str, OpenFlowMessage], ...]) -> Step:
        return step._replace(state=HearingState(step.state, waiting))

    # Time.

    def deadline(self, state: HearingState) -> int | None:
        """Return when something falls due for the controller."""
        return self._controller.deadline(state.inner) if isinstance(self._controller, Timed) else None

    def advance(self, state: HearingState, now: int) -> Step:
        """Let time pass for the controller."""
        if not isinstance(self._controller, Timed):
            return Step(state)
        return self._wrapped(self._controller.advance(state.inner, now), state.waiting)

    # Questions.

    def sources(self) -> Sequence[str]:
        """Return the source texts of the controller."""
        return self._controller.sources()

    def hears(self, state: HearingState, switch: str) -> bool:
        """Tell whether the controller would take in what a switch sends."""
        return self._controller.hears(state.inner, switch)

    @property
    def steps(self) -> Mapping[Given, Any]:
        """What happened to the controller so far, and the state it was in then; all in its own words."""
        return self._controller.steps

    def bare(self, state: HearingState) -> HearingState:
        """Return a state without what the program has not heard yet, or does not know of at all."""
        return HearingState(self._controller.bare(state.inner))

    def rehearse(self, state: Any, *, steady: bool = False) -> Perform:
        """Bring the controller into a state of its own, and return what has things happen to it."""
        return self._controller.rehearse(state, steady=steady)

    def arrival(self, state: Any, switch: str, message: OpenFlowMessage) -> Given:
        """Return it as something that happens that a message comes in a state of the controller's own."""
        return self._controller.arrival(state, switch, message)

    def try_out(self, state: Any) -> HandOver:
        """Bring the controller into a state of its own, and return what hands it messages there."""
        return self._controller.try_out(state)

    @property
    def acts_outside(self) -> bool:
        """Whether the controller was seen to use files, sockets or processes."""
        return self._controller.acts_outside

    def namespaces(self) -> Sequence[Mapping[str, Any]]:
        """Return the variables of the controller's modules and apps."""
        return self._controller.namespaces()

    def probe(
        self, state: HearingState, switch: str, question: Any, inputs: Any, *, followed: bool = True
    ) -> Any:
        """Run the controller's handler on a message whose contents are followed."""
        return self._controller.probe(state.inner, switch, question, inputs, followed=followed)


def _first(state: HearingState) -> dict[str, OpenFlowMessage]:
    """Return the oldest message of each switch that waits to be heard."""
    found: dict[str, OpenFlowMessage] = {}
    for switch, message in state.waiting:
        found.setdefault(switch, message)
    return found
