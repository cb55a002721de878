"""Virtual switches that can be called on, as Open vSwitch's with `ptcp:`, so that `ovs-ofctl` works on them.

    listening = Listening(world, proceed=world.run)
    target = await listening.listen("s1", "ptcp:6654")  # ovs-ofctl -O OpenFlow13 show tcp:127.0.0.1:6654

In the model a caller is one more controller, which is there from the start: `with_services` adds a few to a
network's controllers and tells the switches what they are.  The session of one with a switch is a wire
like any other, cut until somebody calls and cut again when he hangs up, so that all he does is part of the
run and of its trace.  A switch tells such a session nothing that it did not ask for (see `Session.service`).

A switch serves as many callers at once as there are such controllers (`ovs-ofctl show` calls twice); whoever
calls then waits until one of them hangs up.  A switch without power hangs up, and answers no call.

listen = {s1 = "ptcp:6654"}       # ovs-ofctl -O OpenFlow13 dump-flows tcp:127.0.0.1:6654

What callers do is recorded like all else (see `listening`).  On virtual time nobody is served while inputs
are performed, because none of them waits for anything; a caller is heard while the console waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from penstock._base.files import UnwritableError, remove
from penstock._controllers.tcp.remote import RemoteController
from penstock._controllers.tcp.session import ControlSession
from penstock._fuzz.harness import FEWEST_STEPS, Harness
from penstock._fuzz.live_harness import LiveHarness
from penstock._world.component import Component, Endpoint
from penstock._world.signals import FABRIC
from penstock._world.switch import Switch, SwitchOptions
from penstock._world.transition import ACT, Record, Transition
from penstock._world.world import World
from penstock.errors import PenstockError
from penstock.openflow.messages import OpenFlowMessage

SERVICES: Final = ("ofctl1", "ofctl2", "ofctl3", "ofctl4")
"""The names under which callers appear in the model."""

_TCP = re.compile(r"ptcp:(\d{1,5})(?::([0-9.]+))?")
_UNIX = re.compile(r"punix:(.+)")


def with_services(
    controllers: Sequence[Component], options: SwitchOptions
) -> tuple[tuple[Component, ...], SwitchOptions]:
    """Return the controllers and the switches' options of a network whose switches may be called on."""
    return (*controllers, *map(RemoteController, SERVICES)), replace(options, services=SERVICES)


class Listening:
    """The switches of a running network that listen, and who has called.

    After each thing that a caller says, `proceed` is called for the network to go on.
    """

    def __init__(self, world: World, proceed: Callable[[], object]) -> None:
        if not all(name in world.network.places for name in SERVICES):
            raise PenstockError(
                f"These switches do not listen: build the network with {', '.join(SERVICES)} in it."
            )
        self._world, self._proceed = world, proceed
        self._servers: list[asyncio.Server] = []
        self._sockets: list[Path] = []
        self._served: dict[Endpoint, _Call] = {}
        """Who is served, by the place he has in the model."""
        self._waiting: dict[str, deque[_Call]] = {}
        """Those who have called on each switch and are not served yet."""
        world.observe(self._observe)

    async def listen(self, switch: str, address: str) -> str:
        """Have a switch listen at `ptcp:PORT[:IP]` or `punix:PATH`, and return how to call it.

        Port 0 is any that is free; without an address only this machine can call.
        """
        version = self._switch(switch).options.version
        self._waiting.setdefault(switch, deque())
        for service in SERVICES:
            self._plug(Endpoint(switch, service), connect=False)
        loop = asyncio.get_running_loop()

        def answer() -> _Call:
            return _Call(self, switch, version)

        if tcp := _TCP.fullmatch(address):
            try:
                server = await loop.create_server(answer, tcp[2] or "127.0.0.1", int(tcp[1]))
            except (OSError, OverflowError) as error:
                raise PenstockError(f"{switch} cannot listen at {address}: {error}.") from None
            host, port = server.sockets[0].getsockname()[:2]
            target = f"tcp:{host}:{port}"
        elif unix := _UNIX.fullmatch(address):
            try:
                server = await loop.create_unix_server(answer, unix[1])
            except OSError as error:
                raise PenstockError(f"{switch} cannot listen at {address}: {error}.") from None
            self._sockets.append(Path(unix[1]))
            target = f"unix:{unix[1]}"
        else:
            raise PenstockError(
                f"{switch} cannot listen at {address!r}: write ptcp:6654, ptcp:6654:127.0.0.1 or punix:PATH."
            )
        self._servers.append(server)
        return target

    def close(self) -> None:
        """Listen no more and hang up on whoever has called.

        Nobody is waited for: a caller who does not read what he asked for would never be gone.
        """
        for server in self._servers:
            server.close()
        for call in [call for calls in self._waiting.values() for call in calls] + [*self._served.values()]:
            call.close("the network is closed")
        for path in self._sockets:
            with contextlib.suppress(UnwritableError):
                remove(path)
        self._servers.clear()
        self._sockets.clear()

    def _switch(self, name: str) -> Switch:
        place = self._world.network.places.get(name)
        component = None if place is None else self._world.network.components[place]
        if not isinstance(component, Switch):
            raise PenstockError(f"unknown switch {name!r}.")
        return component

    # Callers come and go.

    def arrived(self, call: _Call) -> None:
        """Serve a caller, now or when somebody else is gone."""
        self._waiting[call.switch].append(call)
        self._serve(call.switch)

    def left(self, call: _Call) -> None:
        """Forget a caller who hung up, and serve the next."""
        if call in self._waiting[call.switch]:
            self._waiting[call.switch].remove(call)
        elif call.place is not None:
            del self._served[call.place]
            self._plug(call.place, connect=False)
            self._proceed()
            self._serve(call.switch)

    def said(self, call: _Call, message: OpenFlowMessage) -> None:
        """Put what a caller says on his channel."""
        assert call.place is not None
        self._world.inject(Endpoint(str(call.place.port), call.switch), message)
        self._proceed()

    def _serve(self, switch: str) -> None:
        """Serve those who wait, as far as there are places."""
        free = [place for name in SERVICES if (place := Endpoint(switch, name)) not in self._served]
        waiting = self._waiting[switch]
        while waiting and free:
            call, place = waiting.popleft(), free.pop(0)
            if self._is_off(switch) or not self._plug(place, connect=True):
                call.close("the switch does not answer")
                continue
            self._served[place] = call
            call.be_served(place)
            self._proceed()

    def _plug(self, place: Endpoint, *, connect: bool) -> bool:
        """Have the session at a place begin anew, or cut it; tell whether that worked."""
        network = self._world.network
        for verb in ("disconnect", "reconnect") if connect else ("disconnect",):
            change = f"{verb} {place.node}-{place.port}"
            if network.fabric.allows(self._world.state(FABRIC), change):
                self._world.take(Transition(ACT, FABRIC, change))
        return (network.fabric.peer(self._world.state(FABRIC), place) is not None) == connect

    def _is_off(self, switch: str) -> bool:
        return switch in self._world.state(FABRIC).wiring.off

    def _observe(self, record: Record) -> None:
        if record.node in SERVICES and record.at is not None:
            call = self._served.get(Endpoint(str(record.at.port), record.node))
            if call is not None and isinstance(record.message, OpenFlowMessage):
                call.send(record.message)
        elif record.node == FABRIC:
            for place, call in self._served.items():
                if self._is_off(place.node):
                    # Not now: the network is in the middle of the step that cut the power.
                    asyncio.get_running_loop().call_soon(call.close, "the switch lost its power")


class _Call(ControlSession):
    """One caller's connection."""

    def __init__(self, listening: Listening, switch: str, version: int) -> None:
        super().__init__(
            version,
            on_message=lambda message: listening.said(self, message),
            on_close=lambda: listening.left(self),
        )
        self.switch = switch
        self.place: Endpoint | None = None
        """The switch's end of the session in the model, once the caller is served."""
        self._listening = listening
        self._line: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait to be served; nothing is read before."""
        super().connection_made(transport)
        assert isinstance(transport, asyncio.Transport)
        self._line = transport
        transport.pause_reading()
        self._listening.arrived(self)

    def be_served(self, place: Endpoint) -> None:
        """Take a place, and read what the caller says from now on."""
        assert self._line is not None
        self.place = place
        self._line.resume_reading()


# A run whose switches can be called on while it goes on: what `listen` in `[fuzz]` asks for.


@contextlib.asynccontextmanager
async def open_to_callers(stage: Harness) -> AsyncIterator[dict[str, str]]:
    """Have the switches listen that a scenario names; give how each is called."""
    proceed = stage.proceed if isinstance(stage, LiveHarness) else partial(stage.run, FEWEST_STEPS)
    listening = Listening(stage.world, proceed)
    for switch in stage.setting.switches:
        for service in SERVICES:
            # Also where nobody can call: a session that nobody holds is no session.
            stage.world.take(f"{FABRIC} disconnect {switch}-{service}")
    proceed()
    try:
        yield {
            switch: await listening.listen(switch, address)
            for switch, address in stage.setting.options.listen.items()
        }
    finally:
        listening.close()
