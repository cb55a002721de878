"""`penstock fuzz`: run it, show it, let a person take over.

Ctrl-C ends the run after the present input, or hands it to the console where that was asked for; a second
one ends it at once.  Either way everything that happened is in the run's folder and no process is left.

The console stops a run at any moment, looks around, does something by hand, and goes on.  What is typed is an
input, as a trace has it (`fail s1-s2`), or one of a few commands; inputs typed by hand are recorded like all
others.
"""

from __future__ import annotations

import asyncio
import inspect
import pprint
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Final

from penstock._base.terminal import say, say_lines
from penstock._base.text import json_text
from penstock._cli.screen import Screen
from penstock._fuzz.deliveries import hops_of
from penstock._fuzz.fuzzing import Fuzzing, Report, fuzz
from penstock._fuzz.inputs import PROTOCOLS, VERBS, SendPacket, input_of
from penstock._fuzz.invariants import invariants_of
from penstock._fuzz.summary import count_text, finding_line, summary, summary_lines, write_summary
from penstock._fuzz.traffic import order_of
from penstock._scenario.scenario import Scenario
from penstock._story.story import tell
from penstock._verdict.verdict import FIRST_THAT_LASTS, Bound, Why
from penstock._world.component import Endpoint
from penstock._world.frame import Frame
from penstock._world.hosts import ASK
from penstock._world.switch import SwitchState
from penstock.errors import PenstockError

Ask = Callable[[], Awaitable[str]]


def run_fuzz(
    scenario: Scenario,
    output: Path,
    *,
    as_json: bool = False,
    interactive: bool = False,
    to_end: bool = False,
    begun: Callable[[Path], object] | None = None,
    over: Callable[[], object] = lambda: None,
) -> Report:
    """Fuzz a scenario, with a screen or a console, and print what came of it.

    The run ends with the first persistent violation, unless it is to go to its end.  `over` is called when
    only telling is left.
    """
    conduct = (
        partial(converse, ask=ask_terminal) if interactive else partial(_watch, quiet=as_json, to_end=to_end)
    )
    runs: list[Report] = []

    def conclude(report: Report) -> None:
        runs.append(report)
        over()
        write_summary(report)

    try:
        report = asyncio.run(
            fuzz(
                scenario,
                output,
                invariants=invariants_of,
                conduct=conduct,
                conclude=conclude,
                begun=begun,
            )
        )
    except KeyboardInterrupt:
        for broken_off in runs:
            say(f"What happened so far is in {broken_off.folder}.", err=True)
        raise
    if as_json:
        say(json_text(summary(report)))
    else:
        say_lines(summary_lines(report))
    return report


async def _watch(fuzzing: Fuzzing, *, quiet: bool, to_end: bool) -> None:
    """Let a run go on to its end, on a screen."""
    with _Interrupts(fuzzing), Screen(quiet=quiet) as screen:

        def progress(fuzzing: Fuzzing) -> None:
            screen.show(fuzzing)
            if not to_end and fuzzing.outcome.has_lasting:
                fuzzing.outcome.stopped_by = FIRST_THAT_LASTS

        await fuzzing.run(progress)


async def converse(fuzzing: Fuzzing, *, ask: Ask) -> None:
    """Let a person steer a run from the console."""
    console = Console(fuzzing)
    say("The network is ready; 'help' tells what can be typed.")
    while True:
        try:
            words = (await ask()).strip()
        except EOFError:
            words = QUIT
        command, _, rest = words.partition(" ")
        if command in (QUIT, "q", "exit"):
            fuzzing.outcome.stopped_by = Bound("the user", Why.INTERRUPTED)
            return
        try:
            if command == GO:
                await _go(fuzzing, rest)
            elif words:
                say_lines(await console.obey(words))
        except PenstockError as error:
            say(str(error))


async def _go(fuzzing: Fuzzing, how_many: str) -> None:
    """Go on for a number of inputs, or to the end."""
    if how_many and (not how_many.isdecimal() or len(how_many) > 9):
        raise PenstockError(f"{how_many!r} is not a number of inputs: type go, or go 100.")
    until = fuzzing.outcome.inputs + int(how_many) if how_many else None
    with _Interrupts(fuzzing), Screen(quiet=False) as screen:
        await fuzzing.run(screen.show, until=until)
    # The network goes on while nobody types anything.
    fuzzing.stage.until = None
    outcome = fuzzing.outcome
    violations = len(outcome.violations) + outcome.repeated_besides.total()
    say(f"{count_text(outcome.inputs, 'input')} so far, {count_text(violations, 'violation')}.")


async def ask_terminal() -> str:
    """Read a line without keeping the network from going on."""
    say("fuzz> ", end="")
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def announce() -> None:
        if not ready.done():
            ready.set_result(None)

    try:
        loop.add_reader(sys.stdin, announce)
    except PermissionError:
        # A file is always ready, and cannot be waited for.
        return _line()
    try:
        with _interrupting(ready):
            await ready
    finally:
        # At once, so that the same line does not announce itself twice.
        loop.remove_reader(sys.stdin)
    return _line()


@contextmanager
def _interrupting(ready: asyncio.Future[None]) -> Iterator[None]:
    """Have Ctrl-C be the end of what is typed, whoever hears of it otherwise."""
    loop, before = asyncio.get_running_loop(), signal.getsignal(signal.SIGINT)

    def end() -> None:
        if not ready.done():
            ready.set_exception(EOFError())

    loop.add_signal_handler(signal.SIGINT, end)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)


def _line() -> str:
    text = sys.stdin.readline()
    if not text:
        raise EOFError
    return text


class _Interrupts:
    """Ctrl-C while a run goes on: once ends it between inputs, twice ends it at once.

    On virtual time a run never waits for anything, so asyncio's own way to hear of signals would be deaf.
    """

    def __init__(self, fuzzing: Fuzzing) -> None:
        self._fuzzing = fuzzing
        self._before = signal.getsignal(signal.SIGINT)

    def __enter__(self) -> None:
        signal.signal(signal.SIGINT, self._on_interrupt)

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._fuzzing.stopping and callable(self._before):
            # It is asyncio's, which cancels the run in an orderly way.
            self._before(number, frame)
        self._fuzzing.stopping = True


HELP: Final = """\
  go [N]            go on, for N inputs or to the end; Ctrl-C comes back here
  INPUT             do something, as in: fail s1-s2, move h1 to s2:3, send h1 to h2 ping
  can               list what can fail, recover or move now
  flows SWITCH      show the flow tables of a switch
  look NAME         show all that is known of a component
  queues            show what is in flight, and what is held
  path H1 H2 [WHAT] show which way a packet would take now (ping, arp, tcp, udp)
  check             look at the invariants now
  found             list what was found so far
  help              show this
  quit              end the run; everything is kept"""

GO, QUIT = "go", "quit"


class Console:
    """A person's hands on a fuzzing run."""

    def __init__(self, fuzzing: Fuzzing) -> None:
        self._fuzzing = fuzzing
        self._stage = fuzzing.stage
        self._commands: dict[str, Callable[..., Iterator[str]]] = {
            "can": self._can,
            "flows": self._flows,
            "look": self._look,
            "queues": self._queues,
            "path": self._path,
            "found": self._findings,
            "help": lambda: iter(HELP.splitlines()),
        }

    async def obey(self, words: str) -> list[str]:
        """Do what was typed and return what there is to say about it."""
        name, *rest = words.split() or [""]
        if name in self._commands:
            command = self._commands[name]
            try:
                inspect.signature(command).bind(*rest)
            except TypeError:
                raise PenstockError(f"invalid arguments of {name!r}: {' '.join(rest)!r}; see help.") from None
            return list(command(*rest))
        if name not in VERBS:
            raise PenstockError(f"{words[:60]!r} is neither a command nor an input: type help.")
        before = self._stage.recorder.step
        await self._fuzzing.perform(input_of(words))
        news = (found for found in self._fuzzing.outcome.findings if found.step > before)
        return list(map(finding_line, news)) or ["done"]

    # Looking.

    def _can(self) -> Iterator[str]:
        now = self._stage.possible()
        for label, names in (
            ("links up", now.links_up()),
            ("links cut", now.links_cut()),
            ("switches on", now.switches_on()),
            ("switches off", now.switches_off()),
            ("controllers up", now.controllers_up()),
            ("controllers down", now.controllers_down()),
            ("sessions up", now.sessions_up()),
            ("sessions cut", now.sessions_cut()),
            ("moves", [f"{host} to {place}" for host, place in now.moves()]),
            ("held", [str(channel) for channel in now.held()]),
        ):
            if names:
                yield f"{label}: {', '.join(names)}"

    def _flows(self, switch: str) -> Iterator[str]:
        state = self._stage.world.state(switch)
        if not isinstance(state, SwitchState):
            raise PenstockError(
                f"{switch} is not a switch: choose {', '.join(self._stage.setting.switches[:8])}."
            )
        if not state.powered:
            yield f"{switch} is off"
        for number, table in sorted(state.tables.items()):
            for entry in table:
                yield f"table {number}: {entry}"
        if not state.tables:
            yield f"{switch} has no rules"

    def _look(self, name: str) -> Iterator[str]:
        yield from pprint.pformat(self._stage.world.state(name), width=110).splitlines()

    def _queues(self) -> Iterator[str]:
        held = set(self._stage.courier.held)
        loaded = set(self._stage.courier.nonempty())
        for channel in sorted(held | loaded, key=str):
            told = "; ".join(map(str, self._stage.world.queue(channel))) or "empty"
            yield f"{channel}{' (held)' if channel in held else ''}: {told}"
        if not held and not loaded:
            yield "nothing is in flight"

    def _path(self, host: str, to: str, protocol: str = PROTOCOLS[0]) -> Iterator[str]:
        if protocol not in PROTOCOLS:
            raise PenstockError(f"unknown protocol {protocol!r}: choose {', '.join(PROTOCOLS)}.")
        stations = self._stage.setting.addresses
        packet = order_of(SendPacket(host, to, protocol), stations).packet
        if packet.dst == ASK:
            packet = replace(packet, dst=stations[to].mac)
        start = Endpoint(host, stations[host].port)
        frame = Frame(packet.to_bytes(), f"{host}?")
        yield from tell(tuple(hops_of(self._stage.world, start, frame)))

    def _findings(self) -> Iterator[str]:
        if not self._fuzzing.outcome.findings:
            yield "nothing yet"
        for found in self._fuzzing.outcome.findings:
            yield finding_line(found)
