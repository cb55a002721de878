"""The harness: a network on which inputs are performed, and on which their consequences happen.

The stage: a network on which inputs are performed, and on which whatever follows from them happens.

    Generator ──Input──▶ Stage.perform ──▶ World.take / World.inject / Courier.hold …
                              │
                              └─ Stage.run: the courier says what goes next, the world takes it

`Harness` is what all stages have in common: what each input does to the world, and how one message after
another is delivered.  How time passes, how controllers are stopped and started and how their sessions
come and go differs between in-process controllers on virtual time (`virtual`) and real processes behind
sockets (`live`); these are the methods to override: `now`, `open`, `close`, `wait`, `quiesce`, `crash`,
`restart`, `disconnect`, `reconnect`, and `reached` for what is handed to a controller.

Every record goes, in this order, to the recorder, to the courier, to `reached` and to the observers.

A wire holds only so many frames (`CAPACITY`); beyond that they are lost, so that a broadcast storm does
not grow for ever.

The stage of in-process controllers: virtual time, no waiting, the same run from the same seed.

Time stands still while messages are delivered; only `wait` moves it.  After each input a number of
messages, drawn by the seed, is delivered before the next one, so that failures meet messages on their
way; whoever waits lets everything arrive first.

What happens while time passes is bounded (`STEPS_PER_MS`, and `most_steps` for long waits), because a packet
that goes round in a loop never comes to rest.
"""

from __future__ import annotations

import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from random import Random
from typing import Final

from penstock._base.users_code import explained
from penstock._fuzz.building import FuzzContext
from penstock._fuzz.delivery_scheduler import DeliveryScheduler
from penstock._fuzz.generator import Possible
from penstock._fuzz.inputs import (
    ChangePolicy,
    Check,
    Delay,
    Fault,
    ForgetEntry,
    Hold,
    IgnoreFlowMods,
    InjectFrame,
    Input,
    LimitTables,
    MoveHost,
    Release,
    SendPacket,
    Wait,
    WireFault,
)
from penstock._fuzz.recorder import Recorder
from penstock._fuzz.traffic import Order, order_of
from penstock._world.component import Endpoint, Message, Timed
from penstock._world.frame import Frame
from penstock._world.signals import FABRIC, EntryForgotten, FlowModsIgnored, TableLimit
from penstock._world.transition import ACT, Record, Transition
from penstock._world.world import World
from penstock.errors import PenstockError
from penstock.openflow.messages import OpenFlowMessage

Observer = Callable[[Record], None]

CAPACITY: Final = 100


class View:
    """What a user's policy function is given to look at and to act on."""

    def __init__(self, stage: Harness) -> None:
        self._stage = stage
        self.topology = stage.setting.topology
        self.folder = stage.setting.scenario.folder
        self.controllers = stage.setting.controllers

    @property
    def now(self) -> int:
        """The time of the run, in milliseconds."""
        return self._stage.now()

    @property
    def world(self) -> World:
        """The network, to be looked at."""
        return self._stage.world

    def tell(self, controller: str, switch: str, message: OpenFlowMessage) -> None:
        """Have a controller hear a message as if a switch had sent it."""
        self._stage.inject(Endpoint(switch, controller), message)


class Harness(ABC):
    """A network in one fuzzing run."""

    lines_at_once = 1
    """How many lines of the trace may wait to be written to the file."""

    def __init__(
        self, setting: FuzzContext, recorder: Recorder, *, order: str = "fifo", seed: int = 0
    ) -> None:
        self.setting = setting
        self.recorder = recorder
        self.world = World(setting.network)
        self.courier = DeliveryScheduler(self.world, order, Random(f"courier {seed}"))
        self.observers: list[Observer] = []
        """Who else is handed every record: invariants, mostly."""
        self.until: float | None = None
        """The moment, by `time.monotonic`, from which on nothing follows any more: a storm has no end."""
        self.resting_s = 0.0
        """How much of a run's time is for the network to come to rest at the end."""
        self.has_begun = False
        """Whether anything was done to the network yet."""
        self.log_observers: list[Callable[[str, str], None]] = []
        """Who is told what controllers print: the controller's name and a line."""
        self._possible = Possible(setting, self.world, self.courier)
        self._view = View(self)
        self._orders: dict[SendPacket, Order] = {}
        self.deaths: list[str] = []
        """What became of controllers that ended by themselves, each a sentence."""
        self._known_silence = self._known_deaths = 0
        self._controllers = frozenset(setting.controllers)
        self._willing = {
            made.name: made for made in setting.network.components if made.name in setting.acts_alone
        }
        """The components that may do something by themselves."""
        self.world.observe(self._observe)

    # What differs between stages.

    @abstractmethod
    def now(self) -> int:
        """Return the milliseconds since the run began."""

    async def open(self) -> None:  # noqa: B027 - a stage may have nothing to open
        """Make everything ready: controllers run, switches have joined."""

    async def close(self) -> None:  # noqa: B027 - nor to close
        """Leave nothing running."""

    @abstractmethod
    async def wait(self, milliseconds: int) -> None:
        """Let time pass, and all that happens in it happen."""

    @abstractmethod
    async def quiesce(self, limit_ms: int) -> bool:
        """Let everything happen that follows by itself; tell whether it came to rest within a time."""

    async def crash(self, controller: str) -> None:
        """Have a controller end without warning."""
        self.world.take(f"{FABRIC} crash {controller}")

    async def restart(self, controller: str) -> None:
        """Have a controller that ended begin anew."""
        self.world.take(f"{FABRIC} restart {controller}")

    async def disconnect(self, session: str) -> None:
        """Cut the session of a switch with a controller."""
        self.world.take(f"{FABRIC} disconnect {session}")

    async def reconnect(self, session: str) -> None:
        """Let a switch open a session with a controller again."""
        self.world.take(f"{FABRIC} reconnect {session}")

    def reached(self, record: Record) -> None:  # noqa: B027 - in process there is nothing to do
        """Take note of a message that was handed to a controller, or of a signal."""

    @property
    def unanswered(self) -> list[str]:
        """The inputs after which a controller did not answer in time; in process all are answered."""
        return []

    def news_of_silence(self) -> list[str]:
        """Return the inputs that were found to be unanswered since the last time."""
        news = self.unanswered[self._known_silence :]
        self._known_silence += len(news)
        return news

    def news_of_deaths(self) -> list[str]:
        """Return what became of controllers that ended by themselves since the last time."""
        news = self.deaths[self._known_deaths :]
        self._known_deaths += len(news)
        return news

    # Inputs.

    def possible(self) -> Possible:
        """Return what can be done now."""
        return self._possible

    async def perform(self, what: Input) -> None:
        """Do something to the network; what follows from it happens later, step by step."""
        self.has_begun = True
        self.recorder.begin(what, self.now())
        try:
            await self._do(what)
        except PenstockError:
            self.recorder.withdraw()
            raise
        finally:
            self.recorder.end()

    async def _do(self, what: Input) -> None:
        match what:
            case Wait(milliseconds):
                self.recorder.end()
                await self.wait(milliseconds)
            case SendPacket(host):
                self.inject(Endpoint(FABRIC, host), self._order(what))
            case InjectFrame(channel, data, tag):
                self._on_wire(channel)
                self.inject(channel, Frame(data, tag), data)
            case WireFault(verb, channel):
                self.world.take(f"{verb} {channel}")
            case Fault(verb, target):
                await self._fault(verb, target)
            case Delay(channel, milliseconds):
                self.courier.delay(channel, self.now() + milliseconds)
                self.recorder.affects(channel)
            case Hold(channel):
                self.courier.hold(channel)
                self.recorder.affects(channel)
            case Release(channel):
                self.courier.release(channel)
                self.recorder.affects(channel)
            case MoveHost(host, place):
                self.world.take(f"{FABRIC} move {host} to {place}")
            case LimitTables(switch, entries):
                self._signal(switch, TableLimit(entries))
                self._possible.note_limit(switch, entries)
            case ForgetEntry(switch, number):
                self._signal(switch, EntryForgotten(number))
            case IgnoreFlowMods(switch, count):
                self._signal(switch, FlowModsIgnored(count))
            case ChangePolicy():
                await self._change_policy(what)
            case Check():
                pass
            case _:
                raise PenstockError(f"{str(what)!r} cannot be performed here.")

    async def _fault(self, verb: str, target: str) -> None:
        match verb:
            case "crash":
                await self.crash(target)
            case "restart":
                await self.restart(target)
            case "disconnect":
                await self.disconnect(target)
            case "reconnect":
                await self.reconnect(target)
            case "partition" | "heal":
                change = self.disconnect if verb == "partition" else self.reconnect
                for session in self._possible.sessions_to(verb, target):
                    await change(session)
            case _:
                self.world.take(f"{FABRIC} {verb} {target}")

    def _order(self, what: SendPacket) -> Order:
        """Return what a host is told; it is worked out once."""
        known = self._orders.get(what)
        if known is None:
            if what.host in self.setting.addresses and what.host not in self.setting.talkers:
                raise PenstockError(
                    f"{what.host} sends what its kind says: only hosts without a kind take send inputs."
                )
            known = self._orders[what] = order_of(what, self.setting.addresses)
        return known

    def _on_wire(self, channel: Endpoint) -> None:
        if channel not in self.setting.data_channels:
            raise PenstockError(f"No frame can leave {channel}: name a host's or a switch's data port.")

    def _signal(self, switch: str, signal: Message) -> None:
        if switch not in self.setting.switches:
            raise PenstockError(f"unknown switch {switch!r}: choose {', '.join(self.setting.switches[:8])}.")
        self.inject(Endpoint(FABRIC, switch), signal)

    async def _change_policy(self, what: ChangePolicy) -> None:
        function = self.setting.policies.get(what.name)
        if function is None:
            known = ", ".join(self.setting.policies) or "none: name it with policy in [fuzz]"
            raise PenstockError(f"unknown policy function {what.name!r} here, but {known}.")
        try:
            answer = function(self._view, what.number)
            if inspect.isawaitable(answer):
                await answer
        except PenstockError:
            raise
        except Exception as error:
            raise PenstockError(f"The policy function {what.name} raised {explained(error)}.") from error

    def inject(self, channel: Endpoint, message: Message, wire: bytes | None = None) -> Record:
        """Put a message on a channel from outside; `wire` are its bytes, where it came as such."""
        self.recorder.wire = wire
        try:
            return self.world.inject(channel, message)
        finally:
            self.recorder.wire = None

    # What follows.

    def _overflow(self, channel: Endpoint) -> None:
        """Lose what is too much for a wire, the oldest first."""
        while len(self.world.queue(channel)) > CAPACITY:
            self.world.take(Transition("drop", *channel))

    def left_s(self, most: float) -> float:
        """Return for how many seconds something may go on that has at most so many."""
        return most if self.until is None else max(0.0, min(most, self.until - time.monotonic()))

    def waiting_ms(self, milliseconds: int) -> int:
        """Return for how long a wait may last; where time is the network's own, as long as it is to."""
        return milliseconds

    def run(self, most: int | None = None) -> int:
        """Let what follows by itself happen, one after the other; return how many steps there were."""
        courier, world, until = self.courier, self.world, self.until
        taken = 0
        while (most is None or taken < most) and (until is None or time.monotonic() < until):
            turn = courier.next()
            if turn is None:
                break
            taken += 1
            if isinstance(turn, str):
                self._act(turn)
                continue
            if len(world.queue(turn)) > CAPACITY and turn in self.setting.data_channels:
                self._overflow(turn)
            world.deliver(turn)
        return taken

    def _act(self, name: str) -> None:
        """Have a component do the first thing that it may do by itself."""
        actions = self._willing[name].actions(self.world.state(name))
        if actions:
            self.world.take(Transition(ACT, name, actions[0]))

    def offer_all(self) -> None:
        """Have every component do in turn what it may do by itself; a run begins with this."""
        for name in self._willing:
            self._offer(name)

    def _offer(self, name: str) -> None:
        if self._willing[name].actions(self.world.state(name)):
            self.courier.offer(name)

    def _observe(self, record: Record) -> None:
        node = record.node
        self.recorder.observe(record, self.now())
        self.courier.observe(record)
        if node in self._willing:
            self._offer(node)
        if node in self._controllers:
            self.reached(record)
        for observer in self.observers:
            observer(record)


STEPS_PER_MS: Final = 10
FEWEST_STEPS: Final = 200
"""How many steps a wait allows however short it is."""
STEPS_PER_COMPONENT: Final = 50
MOST_STEPS: Final = 1000
"""How many steps a wait allows however long it is; in a large network it is more, for each component."""
MOST_STEPS_TO_OPEN: Final = 100_000


class VirtualHarness(Harness):
    """A network whose controllers run in this process, on a clock of its own."""

    lines_at_once = 1000  # whatever is lost with this process, the seed brings back

    def __init__(
        self, setting: FuzzContext, recorder: Recorder, *, order: str = "fifo", seed: int = 0
    ) -> None:
        if setting.commands:
            names = ", ".join(setting.commands)
            raise PenstockError(f"{names} is a process, which needs real time: use the live harness.")
        super().__init__(setting, recorder, order=order, seed=seed)
        self._random = Random(f"deliveries {seed}")
        self._rate = 1 / setting.options.deliveries if setting.options.deliveries else None
        self._alarms = [
            made
            for made in setting.network.components
            if made.name in setting.controllers and isinstance(made, Timed)
        ]

    def most_steps(self, milliseconds: int) -> int:
        """Return how many steps may be taken in a time."""
        most = max(MOST_STEPS, STEPS_PER_COMPONENT * len(self.setting.network.components))
        return min(most, max(FEWEST_STEPS, milliseconds * STEPS_PER_MS))

    def now(self) -> int:
        """Return the world's time."""
        return self.world.clock

    async def open(self) -> None:
        """Let all switches join."""
        self.offer_all()
        if self.run(MOST_STEPS_TO_OPEN) == MOST_STEPS_TO_OPEN:
            raise PenstockError(
                f"The network has not come to rest after {MOST_STEPS_TO_OPEN:,} steps of joining: the "
                "controller does not stop sending."
            )

    async def perform(self, what: Input) -> None:
        """Do something to the network, and let some of what follows happen."""
        await super().perform(what)
        if not isinstance(what, Wait):
            rate = self._rate
            most = FEWEST_STEPS if rate is None else int(self._random.expovariate(rate))
            self.run(most)

    async def wait(self, milliseconds: int) -> None:
        """Let time pass at once; whatever falls due on the way happens at its moment."""
        end = self.now() + milliseconds
        steps = self.most_steps(milliseconds)
        while True:
            steps -= self.run(steps)
            if self.now() >= end:
                return
            self.world.elapse(min(end, self._next_moment(end)) - self.now())
            self.courier.wake(self.now())

    def _next_moment(self, end: int) -> int:
        """Return when something happens that others should hear of before time goes on."""
        moments = [end if self.courier.next_due is None else self.courier.next_due]
        for made in self._alarms:
            assert isinstance(made, Timed)
            due = made.deadline(self.world.state(made.name))
            if due is not None:
                moments.append(due)
        return max(min(moments), self.now() + 1)

    async def quiesce(self, limit_ms: int) -> bool:
        """Let everything arrive, and time pass where channels are delayed."""
        end = self.now() + limit_ms
        steps = self.most_steps(limit_ms)
        while True:
            steps -= self.run(steps)
            due = self.courier.next_due
            if steps <= 0 or due is None or due > end:
                return self.courier.is_idle
            self.world.elapse(max(0, due - self.now()))
            self.courier.wake(self.now())
