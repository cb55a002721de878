"""Properties along one run, as they are along a search, and at its end.

Whether what is wrong at the end of a run stays wrong.

A program may have timers left that a search does not let go off: its budget is spent.  What has to hold at
the end of a run is then not broken yet, since the next timer may put it right.  But many programs have timers
for ever, to ask for statistics, say.  So they are let go off a few times more, and all that follows is
delivered.  If the network comes back to a state that it was in, it may go round like this for ever: that
run never gets any further, and what is wrong then stays wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, Final, Protocol, runtime_checkable

from penstock._properties.base import UPHELD, Property, Undecided, Violated, ask, sight_of, unfinished
from penstock._world.component import Endpoint, Step
from penstock._world.network import GlobalState, Network
from penstock._world.signals import FABRIC
from penstock._world.transition import ACT, Record
from penstock._world.world import World, states_of

ROUNDS: Final = 10
"""How many timers go off before it is given up that the network comes back."""

_MOST_STEPS: Final = 1000
"""How many steps may follow from one."""


@runtime_checkable
class Lasting(Protocol):
    """A component that may have something to do later."""

    name: str

    def is_pending(self, state: Any, /) -> bool:
        """Tell whether it does something by itself as time passes."""
        ...

    def at_leisure(self, state: Any, /) -> Any:
        """Return a state in which it does nothing of that unless it is made to."""
        ...

    def go_on(self, state: Any, /) -> Step | None:
        """Have it do the next thing that it does as time passes; None if there is none."""
        ...


class Ending:
    """Tells of a network at rest in which a property does not hold whether it ever will."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._lasting = [each for each in network.components if isinstance(each, Lasting)]
        self._world: World | None = None
        self._records: list[Record] = []

    def stays_broken(self, watcher: Property, own: Any, states: Mapping[str, Any]) -> bool:
        """Tell whether a property that does not hold at rest stays broken whatever timers go off."""
        if not any(each.is_pending(states[each.name]) for each in self._lasting):
            return True
        world = self._world = self._world or World(self._network, (self._records.append,))
        world.restore(self._at_leisure(states))
        met = {(*world.snapshot()[:2], own)}
        for _ in range(ROUNDS):
            self._records.clear()
            if not self._round(world):
                return False
            try:
                own = self._next_state(watcher, own, world)
            except Violated:
                return True
            now = (*world.snapshot()[:2], own)
            if now in met:
                return _is_broken(watcher, own, states_of(world))
            met.add(now)
        return False

    def _at_leisure(self, states: Mapping[str, Any]) -> GlobalState:
        paused = dict(states.items())
        paused.update((each.name, each.at_leisure(states[each.name])) for each in self._lasting)
        start = self._network.initial()
        empty = ((),) * len(start.queues)
        return start._replace(states=tuple(paused[name] for name in self._network.names), queues=empty)

    def _round(self, world: World) -> bool:
        """Have every component go on by one thing; tell whether the network came to rest after it."""
        for each in self._lasting:
            step = each.go_on(world.state(each.name))
            if step is None:
                continue
            now = world.snapshot()
            place = self._network.places[each.name]
            changed = (*now.states[:place], step.state, *now.states[place + 1 :])
            world.restore(now._replace(states=changed))
            for port, message in step.sends:
                world.inject(Endpoint(each.name, port), message)
        return world.run(limit=_MOST_STEPS) < _MOST_STEPS

    def _next_state(self, watcher: Property, own: Any, world: World) -> Any:
        """Return a property's state after what has happened."""
        for record in self._records:
            seen = sight_of(watcher, record, world.state(record.node))
            if seen is not None and seen is not UPHELD:
                own = ask(watcher, "next", own, seen)
        return own


def _is_broken(watcher: Property, own: Any, states: Mapping[str, Any]) -> bool:
    try:
        ask(watcher, "at_rest", own, states)
    except Violated:
        return True
    except Undecided:
        return False
    return False


class Watch:
    """The properties of a run and where they stand; broken ones are watched no further."""

    def __init__(self, network: Network, properties: Sequence[Property]) -> None:
        self.properties = tuple(copy(watcher) for watcher in properties)
        self.states: list[Any] = [ask(watcher, "start", network) for watcher in self.properties]
        self.broken: dict[str, str] = {}
        self.upheld: Counter[str] = Counter()
        """How many steps each property judged by themselves, and found right."""
        self._ending = Ending(network)

    def snapshot(self) -> tuple[list[Any], dict[str, str]]:
        """Return where the properties stand."""
        return list(self.states), dict(self.broken)

    def restore(self, snapshot: tuple[list[Any], dict[str, str]]) -> None:
        """Go back to where the properties stood."""
        self.states, self.broken = list(snapshot[0]), dict(snapshot[1])

    def begin(self, states: Mapping[str, Any]) -> dict[str, str]:
        """Judge the states that a run starts in; return the properties broken from the start."""
        return self._judge(
            lambda _, watcher: (
                watcher.reads and ask(watcher, "check", {name: states[name] for name in watcher.reads})
            )
        )

    def observe(self, record: Record, states: Mapping[str, Any]) -> dict[str, str]:
        """Take in a step and the states after it; return the properties newly broken, with how."""
        record = _as_in_a_search(record)

        def judge(index: int, watcher: Property) -> None:
            seen = sight_of(watcher, record, states.get(record.node))
            self.upheld[watcher.name] += seen is UPHELD
            if seen is not None and seen is not UPHELD:
                self.states[index] = ask(watcher, "next", self.states[index], seen)
            if watcher.reads:
                ask(watcher, "check", {name: states[name] for name in watcher.reads})

        return self._judge(judge)

    def at_rest(self, states: Mapping[str, Any]) -> dict[str, str]:
        """Judge a network at rest; return the properties newly broken, with how."""
        if unfinished(states):
            return {}

        def judge(index: int, watcher: Property) -> None:
            try:
                ask(watcher, "at_rest", self.states[index], states)
            except Undecided:
                return
            except Violated:
                if self._ending.stays_broken(watcher, self.states[index], states):
                    raise

        return self._judge(judge)

    def _judge(self, judge: Callable[[int, Property], object]) -> dict[str, str]:
        """Let the properties that still hold judge; return those newly broken, with how."""
        found: dict[str, str] = {}
        for index, watcher in enumerate(self.properties):
            if watcher.name in self.broken:
                continue
            try:
                judge(index, watcher)
            except Violated as violated:
                found[watcher.name] = str(violated)
        self.broken |= found
        return found


def _as_in_a_search(record: Record) -> Record:
    """Return a record without what was lost on a wire as it was cut.

    That depends on the channels of others, so a search, whose steps are local, does not show it to
    properties; a run must not show them more, or a finding could fail to be confirmed.
    """
    if record.node != FABRIC or record.transition.verb != ACT:
        return record
    return record._replace(lost=(), events=tuple(event for event in record.events if event.kind != "lost"))
