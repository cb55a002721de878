"""Judging a run: the hook for invariants, and what can be judged without a model of forwarding.

An *invariant* is handed every record and asked now and then what it found since.  Whoever computes over
forwarding state builds on this too.  Here are two that need no such state: what goes wrong inside a
controller (each handler that raises or hangs, once for each way to do so), and the properties that
searches know, which follow the run as they follow a path of a search.  A property that is violated is
watched no further; those that judge a network at rest do so when a check finds it at rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

from penstock._properties.base import UPHELD, Property, Violated
from penstock._properties.controllers import ControllerCrash, ControllerHang
from penstock._properties.watch import Watch
from penstock._world.network import Network
from penstock._world.transition import Record
from penstock._world.world import World

VIOLATED: Final = "violated"
HEALED: Final = "healed"
REPEATED: Final = "repeated"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something an invariant has to say: that it is violated, or holds again, or how often it was violated.

    `persistent` is a violation that lasts, and its end.
    """

    invariant: str
    message: str
    persistent: bool = False
    verdict: str = VIOLATED
    rules: tuple[str, ...] = ()
    """The rules that the packets it speaks of meet, each after the name of its switch."""
    since: int | None = None
    """Of what holds again or was repeated, when it was first found, in milliseconds."""
    last: int | None = None
    """Of what was repeated, when it was last found."""
    times: int = 1
    """How often it was found, or how many alike there are."""

    @property
    def kind(self) -> tuple[str, str]:
        """What is wrong; what comes after the colon of a message is how that came about this time."""
        return self.invariant, self.message.partition(":")[0]

    @property
    def has_passed(self) -> bool:
        """Whether it is the end of a violation that did not last."""
        return self.verdict == HEALED and not self.persistent


class Invariant(Protocol):
    """Something that must hold while a run goes on."""

    @property
    def is_undecided(self) -> bool:
        """Whether something is wrong of which only time can tell whether it lasts."""
        ...

    def observe(self, record: Record, /) -> None:
        """Take in what happened."""
        ...

    def check(self, now: int, /, *, at_rest: bool = False) -> list[Finding]:
        """Return what was found since the last time; `at_rest` tells that nothing is on its way."""
        ...

    def remarks(self) -> tuple[str, ...]:
        """Return what could not be judged, in sentences."""
        ...


@runtime_checkable
class Patient(Protocol):
    """An invariant that waits before a violation counts."""

    def undecided(self) -> Iterable[Finding]:
        """Return what is wrong now and does not count yet; `since` says from when on."""
        ...


class Mishaps:
    """A controller's handlers neither raise nor hang."""

    is_undecided = False

    def __init__(self, network: Network) -> None:
        self._watchers = (ControllerCrash(), ControllerHang())
        for watcher in self._watchers:
            watcher.start(network)
        self._known: set[tuple[str, str, str]] = set()
        self._found: list[Finding] = []
        self.hung: list[str] = []
        """The controllers that hang and are not yet restarted."""
        self.crashed: list[str] = []
        """The controllers in which a handler raised since somebody looked."""

    def observe(self, record: Record) -> None:
        """See whether a handler raised or hangs."""
        for event in record.events:
            if event.kind in ("crashed", "hung"):
                (self.crashed if event.kind == "crashed" else self.hung).append(str(event.detail[0]))
                self._judge(record)
                return

    def _judge(self, record: Record) -> None:
        for watcher in self._watchers:
            seen: Any = watcher.see(record)
            if seen is None or seen is UPHELD:
                continue
            controller, what, _ = seen
            if (watcher.name, controller, what) in self._known:
                continue
            self._known.add((watcher.name, controller, what))
            try:
                watcher.next(None, seen)
            except Violated as violated:
                self._found.append(Finding(watcher.name, str(violated), persistent=True))

    def remarks(self) -> tuple[str, ...]:
        """Return nothing: all that happens is judged."""
        return ()

    def check(self, _now: int, *, at_rest: bool = False) -> list[Finding]:  # noqa: ARG002 - the protocol's
        """Return the mishaps since the last time, each kind once in a run."""
        found, self._found = self._found, []
        return found


class Properties:
    """The properties of a scenario, watched along a run."""

    is_undecided = False

    def __init__(self, world: World, properties: tuple[Property, ...]) -> None:
        self._watch = Watch(world.network, properties)
        self._states = _States(world)
        self._found: list[Finding] = []

    def begin(self) -> None:
        """Judge the network as the run begins."""
        self._take(self._watch.begin(self._states))

    def observe(self, record: Record) -> None:
        """Let the properties see what happened."""
        self._take(self._watch.observe(record, self._states))

    def remarks(self) -> tuple[str, ...]:
        """Return nothing: all that happens is judged."""
        return ()

    def check(self, _now: int, *, at_rest: bool = False) -> list[Finding]:
        """Return the properties newly broken."""
        if at_rest:
            self._take(self._watch.at_rest(self._states))
        found, self._found = self._found, []
        return found

    def _take(self, broken: Mapping[str, str]) -> None:
        self._found += (Finding(name, message, persistent=True) for name, message in broken.items())


class _States(Mapping[str, Any]):
    """The states of a world's components as they are when they are asked for."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __getitem__(self, name: str) -> Any:
        return self._world.state(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._world.network.names)

    def __len__(self) -> int:
        return len(self._world.network.names)
