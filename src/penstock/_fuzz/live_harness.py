"""The stage of real controllers: processes behind sockets, on the wall clock.

The network is the model's; only what is said between its switches and the controllers leaves it.

    world ──record at c0──▶ reached ──▶ Line (s1-c0) ──socket──▶ process c0
      ▲                                      │
      └──inject c0:s1 ◀──────────────────────┘

Whatever can be delivered is delivered at once, in the courier's order, by a pump that runs in between
everything else.  The model's clock follows the wall clock whenever something happens, and a few times a
second.  A packet that goes round in a loop would take all the time there is, so the steps per millisecond
are bounded, as is what a wire holds.  A session's own wire loses nothing; while too much waits there, the
controller is not listened to, so that it has to wait as well.

A session exists twice: as a connection and as a wire of the fabric.  The wire is mended when the
connection is there, and cut when it is gone, by whomever; the switch greets on it by itself.  Whatever
has to be waited for (a process that starts, a connection) is waited for before the input begins, so that
all that the trace tells between an input and its end is that input's doing.

After each input every open session is asked for an echo.  An answer says that the controller has read
all that we sent it before; `unanswered` lists the inputs after which none came in time.  That it has also
acted on it is taken from its being at rest: it says nothing and uses no processor for a moment.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from penstock._controllers.tcp.outside import Outside, Remote
from penstock._controllers.tcp.process import GRACE_S, Program
from penstock._controllers.tcp.reconnecting_session import ReconnectingSession
from penstock._controllers.tcp.session import Patience
from penstock._controllers.tcp.tls import tls_of
from penstock._fuzz.building import FuzzContext
from penstock._fuzz.harness import STEPS_PER_MS, Harness
from penstock._fuzz.inputs import Fault, InjectFrame, Input, SendPacket
from penstock._fuzz.recorder import Recorder
from penstock._world.component import Endpoint
from penstock._world.signals import FABRIC
from penstock._world.transition import DELIVER, Record
from penstock.errors import OtherVersion, PenstockError
from penstock.openflow.messages import VERSIONS, FeaturesReply, OpenFlowMessage

_BATCH: Final = 200
"""How many steps are taken before sockets get their turn."""

_BURST: Final = 2000.0
"""How many steps may be taken at once after a quiet time."""

_BREATH_S: Final = 0.005
_TICK_S: Final = 0.1
_QUIET_S: Final = 0.02
"""How long nothing must be heard of a controller that has nothing more to say."""
_CALM_S: Final = 0.005
"""How long a controller must be idle that has answered, while nothing is on its way to it."""

_INTERVAL_MS: Final = 10
"""How long the network has for each input, unless the scenario says so: real things take real time."""

_IN_FLIGHT: Final = 0.25
_HOPS: Final = 4
"""How often a packet meets the next input on its way, and after how many steps at most."""

_MOST_WAITING: Final = 500
"""How many messages may wait in a session before the controller is not listened to for a while."""

LINES_PER_S: Final = 1000
"""How many lines of what a controller prints the trace takes in a second; its log has all of them."""

_RECONNECT_S: Final = 1.0
_SETTLING_MS: Final = 3000
_FAREWELL_S: Final = 2.0
_LEAST_GRACE_S: Final = 0.3
"""How long a controller may take to end although the time is up."""
_RESTING: Final = 0.2
"""How much of a limited time, at most, is for the network to come to rest."""
_NAMED: Final = 8
_ATTEMPTS: Final = 3
"""How often a controller may hang up before its handshake counts as failed."""


class LiveHarness(Harness):
    """A network whose controllers, or some of them, are real processes.

    What they print goes to files beside the trace, or in the folder `logs`.  A controller may take
    `listening_s` to listen, the handshakes `joining_s`, each answer `answer_s`; `patience` is for what the
    sessions do by themselves.  What goes round in a loop takes no more than `steps_per_ms`.
    """

    def __init__(
        self,
        setting: FuzzContext,
        recorder: Recorder,
        *,
        order: str = "fifo",
        seed: int = 0,
        listening_s: float = 20.0,
        joining_s: float = 20.0,
        answer_s: float = 10.0,
        patience: Patience = Patience(),  # noqa: B008 - a value
        steps_per_ms: int = STEPS_PER_MS,
        logs: Path | None = None,
    ) -> None:
        super().__init__(setting, recorder, order=order, seed=seed)
        self._joining_s = joining_s
        self._steps_per_ms = steps_per_ms
        self._outside = Outside(
            [_remote(setting, name, listening_s) for name in setting.commands],
            setting.switches,
            setting.version,
            self,
            folder=recorder.writer.path.parent if logs is None else logs,
            answer_s=answer_s,
            patience=patience,
        )
        self._lines, self._processes = self._outside.lines, self._outside.processes
        self._mended: set[str] = set()
        """The sessions whose wires are whole."""
        self._joined: set[str] = set()
        """The sessions in which the controller knows who it talks to."""
        self._forbidden: set[str] = set()
        """The sessions that an input cut."""
        self._early: dict[str, list[OpenFlowMessage]] = {}
        """What a controller said before the wire was mended."""
        self._unheeded: set[str] = set()
        """The sessions in which the controller is not listened to, because too much waits there."""
        self._changes = 0
        """How many messages came from controllers."""
        self._handed = 0
        """How many messages controllers were handed."""
        if (seconds := setting.options.seconds) is not None:
            self.resting_s = min(_RESTING * seconds, setting.options.settle_ms / 1000)
        self._began = time.monotonic()
        self._random = Random(f"pauses {seed}")
        self._ran, self._allowance = self._began, _BURST
        self._pumping: asyncio.Handle | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None
        self._expected: set[str] = set()
        """The sessions whose wires an input is about to mend."""
        self._closing = False
        self._printing: dict[str, tuple[int, int]] = {}
        """In which second each controller last printed something, and how many lines it has in it."""

    @property
    def answered(self) -> int:
        """How many of our questions the controllers answered."""
        return self._outside.answers.answered

    @property
    def unanswered(self) -> list[str]:
        """The inputs, and the sessions, after which a controller did not answer in time."""
        return self._outside.answers.unanswered

    # Time.

    def now(self) -> int:
        """Return the milliseconds since the run began."""
        return int((time.monotonic() - self._began) * 1000)

    def _catch_up(self) -> None:
        """Let the model's clock reach the wall clock."""
        passed = self.now() - self.world.clock
        if passed > 0:
            self.world.elapse(passed)

    async def wait(self, milliseconds: int) -> None:
        """Let time pass; the network goes on by itself."""
        await asyncio.sleep(self.waiting_ms(milliseconds) / 1000)
        self._raise_failure()

    def waiting_ms(self, milliseconds: int) -> int:
        """Return for how long a wait may last: no longer than the run."""
        return int(self.left_s(milliseconds / 1000) * 1000)

    async def quiesce(self, limit_ms: int) -> bool:
        """Wait until nothing is under way and every controller has answered and is quiet."""
        loop = asyncio.get_running_loop()
        limit = loop.time() + self.left_s(limit_ms / 1000)
        while loop.time() < limit:
            self._raise_failure()
            before = self._changes
            if not self.courier.is_idle or self._joining():
                await asyncio.sleep(_BREATH_S)
                continue
            answers = [
                line.session.ask()
                for line in self._joined_lines()
                if line.session is not None and not line.session.is_paused
            ]
            if answers:
                await asyncio.wait(answers, timeout=max(0.0, limit - loop.time()))
                if not all(answer.done() for answer in answers):
                    return False
            if await self._outside.rest(_QUIET_S) and self._changes == before and self.courier.is_idle:
                self._outside.read_log_files()
                return True
        return False

    async def calm(self, limit_ms: int) -> bool:
        """Wait until the controllers have done all they were given to do; tell whether they have.

        Unlike `quiesce`, this asks nobody, and does not wait for frames that go round in a loop.
        """
        loop = asyncio.get_running_loop()
        limit = loop.time() + limit_ms / 1000
        while loop.time() < limit:
            self._raise_failure()
            before = self._changes, self._handed
            if self._joining() or self._outside.answers.are_awaited or self._is_controlling():
                await asyncio.sleep(_BREATH_S)
                continue
            pause = _CALM_S if self.courier.is_idle else _QUIET_S
            if await self._outside.rest(pause) and before == (self._changes, self._handed):
                return not self._is_controlling()
        return False

    def _is_controlling(self) -> bool:
        """Tell whether something is on its way between a switch and a controller, and nothing holds it up."""
        held = self.courier.held
        return any(
            self.world.queue(end) and end not in held for wire in self.setting.sessions for end in wire
        )

    def halt(self, controller: str) -> None:
        """Have a controller's process stand still until it is told to go on."""
        self._processes[controller].halt()

    def go_on(self, controller: str) -> None:
        """Have a process that stands still go on."""
        self._processes[controller].go_on()

    # The pump.

    def proceed(self) -> None:
        """Have the network go on after something was put into it from outside."""
        self._wake()

    def _wake(self) -> None:
        """Have whatever can be delivered delivered soon."""
        if self._pumping is None and not self._closing and self._failure is None:
            pause = 0.0 if self._allowance >= 1 else _BREATH_S
            self._pumping = asyncio.get_running_loop().call_later(pause, self._run_callback, self._pump)

    def _pump(self) -> None:
        self._pumping = None
        self._catch_up()
        self.courier.wake(self.now())
        self._run_some()
        self._resume_reading()
        if not self.courier.is_idle:
            self._wake()

    def _run_some(self) -> None:
        """Take as many steps as the time that has passed allows."""
        now = time.monotonic()
        self._allowance = min(_BURST, self._allowance + (now - self._ran) * 1000 * self._steps_per_ms)
        self._ran = now
        self._allowance -= self.run(min(_BATCH, int(self._allowance)))

    async def _tick(self) -> None:
        """Look at the clock a few times a second, for timeouts and delayed channels."""
        while True:
            await asyncio.sleep(_TICK_S)
            if self._pumping is None:
                self._run_callback(self._pump)
            self._outside.answers.expire()
            self._outside.read_log_files()
            self._run_callback(self.recorder.flush)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    # Opening and closing.

    async def open(self) -> None:
        """Start the controllers, connect every switch, and wait until all have joined."""
        self._began = time.monotonic()
        try:
            await self._outside.start()
            for line in self._lines.values():
                self.world.take(f"{FABRIC} disconnect {line.name}")
            self.run()
            self.offer_all()
            self._ticking = asyncio.create_task(self._tick())
            for line in self._lines.values():
                line.want()
            self._wake()
            await self._until_joined()
            # What a controller tells a new switch comes right after it has joined.
            await self.quiesce(_SETTLING_MS)
        except BaseException:
            await self.close()
            raise

    async def _until_joined(self) -> None:
        """Wait until every controller knows every switch, or say why that will not be."""
        loop = asyncio.get_running_loop()
        limit = loop.time() + self._joining_s
        while waiting := [line for name, line in self._lines.items() if name not in self._joined]:
            self._raise_failure()
            if self.deaths:
                raise PenstockError(self.deaths[0])
            for line in waiting:
                process = self._processes[line.controller]
                self._expect_version(line)
                if line.failures >= _ATTEMPTS:
                    # It may have hung up because it is ending, which is then the better story.
                    await asyncio.sleep(_QUIET_S)
                    if not self.deaths:
                        raise PenstockError(
                            process.story(
                                f"{line.reason}, when {line.switch} connected to port {process.port}"
                            )
                        )
            if loop.time() > limit:
                names = ", ".join(line.switch for line in waiting[:_NAMED])
                process = self._processes[waiting[0].controller]
                raise PenstockError(
                    process.story(
                        f"did not complete the handshake with {names} in {self._joining_s:g} seconds"
                    )
                )
            await asyncio.sleep(_QUIET_S)

    def _expect_version(self, line: ReconnectingSession) -> None:
        """Give up on a controller that has greeted with other versions than the switches speak."""
        greeting, version = line.greeting, self.setting.version
        if greeting is not None and not greeting.offers(version):
            process = self._processes[line.controller]
            raise OtherVersion(
                process.story(f"{line.reason}, when {line.switch} connected to port {process.port}"),
                frozenset(spoken for spoken in VERSIONS.values() if greeting.offers(spoken)),
            )

    async def close(self) -> None:
        """Hang up and end all controllers."""
        if not self._closing:
            await self._outside.answers.settle(self.left_s(_FAREWELL_S))
        self._closing = True
        if self._ticking is not None:
            self._ticking.cancel()
        await self._outside.stop(max(_LEAST_GRACE_S, self.left_s(GRACE_S)))

    # Inputs.

    async def perform(self, what: Input) -> None:
        """Do something to the network, and ask every controller for a sign of life after it."""
        self._raise_failure()
        await self._prepare(what)
        self._catch_up()
        await super().perform(what)
        self._wake()
        for line in self._joined_lines():
            self._outside.answers.ask(line, str(what))
        if self.setting.options.interval_ms is None:
            await self._pause(what)

    async def _pause(self, what: Input) -> None:
        """Give the network its time; now and then the next input comes while a packet is on its way."""
        if isinstance(what, SendPacket | InjectFrame) and self._random.random() < _IN_FLIGHT:
            self.run(self._random.randrange(_HOPS))
        else:
            await self.wait(_INTERVAL_MS)

    async def _prepare(self, what: Input) -> None:
        """Wait for what an input needs before it can be told to have happened."""
        match what:
            case Fault("crash", name) if name in self._processes:
                self._outside.drop(self._outside.lines_of(controller=name))
                await self._processes[name].kill()
            case Fault("restart", name) if name in self._processes:
                if not self._processes[name].running:
                    await self._processes[name].start()
            case Fault("reconnect", session) if session in self._lines:
                await self._connect([session])
            case Fault("heal", controller) if controller in self._processes:
                await self._connect(self.possible().sessions_to("heal", controller))

    async def _connect(self, sessions: list[str]) -> None:
        """Connect lines, but leave their wires cut for the moment; what takes long goes on by itself."""
        lines = [self._lines[session] for session in sessions if self._is_due(self._lines[session])]
        self._expected = {line.name for line in lines}
        try:
            for line in lines:
                line.want()
            limit = time.monotonic() + _RECONNECT_S
            while any(line.session is None for line in lines) and time.monotonic() < limit:
                await asyncio.sleep(_QUIET_S / 4)
        finally:
            self._expected = set()

    async def crash(self, controller: str) -> None:
        """Take note that a controller was killed."""
        self._lose(self._outside.lines_of(controller=controller))
        await super().crash(controller)

    async def restart(self, controller: str) -> None:
        """Take note that a controller runs again; its switches connect by themselves."""
        await super().restart(controller)
        self._want(self._outside.lines_of(controller=controller))

    async def disconnect(self, session: str) -> None:
        """Hang up on a controller, and do not call again before `reconnect`."""
        line = self._lines.get(session)
        if line is None:
            await super().disconnect(session)
        else:
            self._forbidden.add(session)
            self._lose([line])

    async def reconnect(self, session: str) -> None:
        """Let a switch call its controller again."""
        line = self._lines.get(session)
        if line is None:
            await super().reconnect(session)
            return
        self._forbidden.discard(session)
        if line.session is not None:
            self._mend(line)
        else:
            self._want([line])

    async def _fault(self, verb: str, target: str) -> None:
        lines = self._outside.lines_of(switch=target) if verb in ("fail", "recover") else []
        if verb == "fail":
            self._lose(lines)
        await super()._fault(verb, target)
        if verb == "recover":
            self._want(lines)

    # Lines and wires.

    def _joined_lines(self) -> list[ReconnectingSession]:
        """Return the lines whose greeting is through; before it, nobody may ask anything."""
        return [line for name, line in self._lines.items() if name in self._joined]

    def _joining(self) -> bool:
        """Tell whether a switch is still on its way to a controller, and nothing of ours holds it up."""
        held = set(self.courier.held)
        return any(
            line.is_wanted
            and name not in self._joined
            and Endpoint(line.switch, line.controller) not in held
            and Endpoint(line.controller, line.switch) not in held
            for name, line in self._lines.items()
        )

    def _is_due(self, line: ReconnectingSession) -> bool:
        """Tell whether both ends of a line have power."""
        off = self.possible().wiring.off
        return line.switch not in off and line.controller not in off

    def _want(self, lines: Iterable[ReconnectingSession]) -> None:
        for line in lines:
            if line.name not in self._forbidden and self._is_due(line):
                line.want()

    def _lose(self, lines: Iterable[ReconnectingSession]) -> None:
        """Hang up on our own account."""
        for line in lines:
            self._outside.drop([line])
            self._cut(line)

    def _mend(self, line: ReconnectingSession) -> None:
        """Mend a session's wire, now that there is a connection; the switch greets by itself."""
        if line.name not in self._mended:
            self._catch_up()
            self._mended.add(line.name)
            self.world.take(f"{FABRIC} reconnect {line.name}")
            for message in self._early.pop(line.name, ()):
                self.inject(Endpoint(line.controller, line.switch), message)
            self._wake()

    def _load(self, line: ReconnectingSession) -> int:
        """Return how much waits in a session: on the way there, on the way back, or for the wire."""
        there, back = Endpoint(line.controller, line.switch), Endpoint(line.switch, line.controller)
        waiting = max(len(self.world.queue(there)), len(self.world.queue(back)))
        return max(waiting, len(self._early.get(line.name, ())))

    def _resume_reading(self) -> None:
        """Listen again in the sessions in which hardly anything waits any more."""
        for name in sorted(self._unheeded):
            line = self._lines[name]
            if self._load(line) <= _MOST_WAITING // 2:
                self._unheeded.discard(name)
                if line.session is not None:
                    line.session.resume()

    def _cut(self, line: ReconnectingSession) -> None:
        self._early.pop(line.name, None)
        self._joined.discard(line.name)
        if line.name in self._mended:
            self._catch_up()
            self._mended.discard(line.name)
            self.world.take(f"{FABRIC} disconnect {line.name}")
            self._wake()

    # What happens outside.

    def _run_callback(self, change: Callable[[], None]) -> None:
        """Do what a callback has to do; nobody awaits it, so a failure is kept for who drives the stage."""
        if self._closing or self._failure is not None:
            return
        try:
            change()
        except Exception as error:
            self._failure = error

    def came_up(self, line: ReconnectingSession) -> None:
        """Mend the wire of a line that is connected, unless an input is about to."""
        if line.name not in self._expected:
            self._run_callback(lambda: self._mend(line))

    def heard(self, line: ReconnectingSession, message: OpenFlowMessage) -> None:
        """Let a switch hear what a controller said."""
        self._run_callback(lambda: self._take_in(line, message))

    def _take_in(self, line: ReconnectingSession, message: OpenFlowMessage) -> None:
        self._changes += 1
        if line.name in self._mended:
            self._catch_up()
            self.inject(Endpoint(line.controller, line.switch), message)
            self._wake()
        else:
            self._early.setdefault(line.name, []).append(message)
        if line.session is not None and self._load(line) > _MOST_WAITING:
            self._unheeded.add(line.name)
            line.session.pause()

    def went_down(self, line: ReconnectingSession) -> None:
        """Cut the wire of a line that is no longer connected."""
        self._run_callback(lambda: self._cut(line))
        self.logged(line.controller, f"{line.name}: the controller {line.reason}")

    def printed(self, controller: str, text: str) -> None:
        """Write down what a controller printed, and tell it to whoever reads logs."""
        self._run_callback(partial(self._take_down, controller, text))

    def _take_down(self, controller: str, text: str) -> None:
        now = self.now()
        second, lines = self._printing.get(controller, (-1, 0))
        lines = lines + 1 if second == now // 1000 else 1
        self._printing[controller] = now // 1000, lines
        if lines <= LINES_PER_S:
            self.recorder.log(controller, text, now)
        elif lines == LINES_PER_S + 1:
            self.recorder.log(controller, f"… (it prints more than {LINES_PER_S:,} lines a second)", now)
        for hear in self.log_observers:
            hear(controller, text)

    def logged(self, controller: str, text: str) -> None:
        """Write down what there is to say of a controller."""
        self._run_callback(lambda: self.recorder.log(controller, text, self.now()))

    def ended(self, controller: str) -> None:
        """Take note that a controller's process is gone; if it was our doing, `crash` says the rest."""
        self._run_callback(lambda: self._mourn(controller))

    def _mourn(self, controller: str) -> None:
        process = self._processes[controller]
        if process.was_killed or controller in self.possible().wiring.off:
            return
        self.deaths.append(process.end_story())
        self.recorder.log(controller, self.deaths[-1], self.now())
        self._lose(self._outside.lines_of(controller=controller))
        self.world.take(f"{FABRIC} crash {controller}")
        self._wake()

    def reached(self, record: Record) -> None:
        """Send on what is handed to a controller that is elsewhere."""
        if record.at is None or record.transition.verb != DELIVER or record.at.port == FABRIC:
            return
        line = self._lines.get(f"{record.at.port}-{record.at.node}")
        if line is not None and isinstance(record.message, OpenFlowMessage):
            self._handed += 1
            self._outside.send(line, record.message)
            if isinstance(record.message, FeaturesReply):
                self._joined.add(line.name)


def _remote(setting: FuzzContext, name: str, listening_s: float) -> Remote:
    """Return a controller as its scenario describes it."""
    command, folder = setting.commands[name], setting.scenario.folder
    cwd = folder / command.cwd if command.cwd is not None else folder
    program = Program(name, tuple(command.cmd), command.port, cwd, command.env, listening_s)
    return Remote(program, tls_of(command.tls, folder), tuple(cwd / file for file in command.log_files))
