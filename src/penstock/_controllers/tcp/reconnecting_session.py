"""A switch's standing wish to be connected to a controller.

While it is wanted, a line is connected again whenever the connection is over, after a pause that
doubles up to a second while nobody answers or the controller keeps hanging up.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Final

from penstock._controllers.tcp.session import ControlSession, Patience, connect
from penstock.errors import PenstockError
from penstock.openflow.messages import Hello, OpenFlowMessage

_SHORTEST_S: Final = 0.05
_LONGEST_S: Final = 1.0
_ATTEMPT_S: Final = 1.0
_STEADY_S: Final = 1.0
"""A connection that lasted so long was a good one: the next pause is short again."""


class ReconnectingSession:
    """Connects one switch (`s1`) with one controller (`c0`); its name is that of their session, `s1-c0`.

    `on_up`, `on_message`, `on_refused` and `on_down` are called with the line first; when `on_down` is,
    `reason` says why the connection is over, and `failures` how often that happened in a row.
    """

    def __init__(
        self,
        switch: str,
        controller: str,
        version: int,
        address: tuple[str, int],
        *,
        on_up: Callable[[ReconnectingSession], None],
        on_message: Callable[[ReconnectingSession, OpenFlowMessage], None],
        on_refused: Callable[[ReconnectingSession, str], None],
        on_down: Callable[[ReconnectingSession], None],
        context: ssl.SSLContext | None = None,
        patience: Patience = Patience(),  # noqa: B008 - a value
    ) -> None:
        self.switch, self.controller = switch, controller
        self.name = f"{switch}-{controller}"
        self.session: ControlSession | None = None
        """The connection, while there is one."""
        self.reason = ""
        self.failures = 0
        self.greeting: Hello | None = None
        """What the controller greeted with in the last connection that is over."""
        self._version, self._address = version, address
        self._on_up, self._on_message, self._on_down = on_up, on_message, on_down
        self._on_refused = on_refused
        self._context, self._patience = context, patience
        self._trying: asyncio.Task[None] | None = None
        self._over = asyncio.Event()

    @property
    def is_wanted(self) -> bool:
        """Whether the line connects by itself whenever it is not connected."""
        return self._trying is not None

    def want(self) -> None:
        """Connect from now on, again and again."""
        if self._trying is None:
            self._trying = asyncio.create_task(self._keep_trying())

    def drop(self) -> None:
        """Hang up and stay disconnected; `on_down` is not called."""
        if self._trying is not None:
            self._trying.cancel()
            self._trying = None
        session, self.session = self.session, None
        if session is not None:
            session.close("was hung up on")

    async def _keep_trying(self) -> None:
        loop = asyncio.get_running_loop()
        pause = _SHORTEST_S
        while True:
            self._over.clear()
            try:
                session = await connect(
                    self._new_session, self._address, context=self._context, limit_s=_ATTEMPT_S, pause_s=pause
                )
            except PenstockError as error:
                self.reason = str(error)
                self.failures += 1
            else:
                since = loop.time()
                self.session = session
                if session.is_open:
                    self._on_up(self)
                    await self._over.wait()
                else:
                    self._ended(session)
                if loop.time() - since > _STEADY_S:
                    self.failures, pause = 0, _SHORTEST_S
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_S)

    def _new_session(self) -> ControlSession:
        session = ControlSession(
            self._version,
            on_message=lambda message: self._on_message(self, message),
            on_refused=lambda text: self._on_refused(self, text),
            on_close=lambda: self._ended(session),
            patience=self._patience,
        )
        return session

    def _ended(self, session: ControlSession) -> None:
        """Take note that a connection is over; one that we dropped is no longer ours."""
        if session is self.session:
            self.session = None
            self.reason = session.reason
            self.greeting = session.greeting
            self.failures += 1
            self._over.set()
            self._on_down(self)
