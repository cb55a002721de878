"""The console of a fuzzing run: stop it at any moment, look around, do something by hand, go on.

What is typed is an input, as a trace has it (`fail s1-s2`), or one of a few commands.  Inputs typed by
hand are recorded like all others.
"""

from __future__ import annotations

import inspect
import pprint
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from penstock._fuzz.deliveries import hops_of
from penstock._fuzz.fuzzing import Fuzzing
from penstock._fuzz.inputs import PROTOCOLS, VERBS, SendPacket, input_of
from penstock._fuzz.summary import finding_line
from penstock._fuzz.traffic import order_of
from penstock._story.story import tell
from penstock._world.component import Endpoint
from penstock._world.frame import Frame
from penstock._world.hosts import ASK
from penstock._world.switch import SwitchState
from penstock.errors import PenstockError

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
