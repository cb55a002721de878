"""The switch's end of a control connection: bytes to messages and back, and signs of life.

A session hands over what the controller says as messages.  What cannot be read is answered at once with the
error that a real switch sends; as with Open vSwitch, a peer whose first message is no greeting, or whose
stream cannot be cut into messages, is hung up on.  Whether the versions fit is for the switch to say,
once the greeting reaches it; its refusal is the last thing that is sent, and the controller has a moment to
read it: to hang up on somebody who is still speaking breaks the connection, and the refusal is lost.

Echo requests serve twice.  After a silence the session asks whether anybody is there, and gives up without
an answer; and whoever drives the network may `ask` at any moment, to learn when the controller has taken in
everything sent before.  Their answers never reach the switch, which did not ask.

Neither side can make the other's memory grow for long.  A controller that lets `MOST_UNREAD` bytes lie is
hung up on; one that says more than the switch can take in is not listened to for a while (`pause`), and the
session's clock, by which silences are measured, stands still meanwhile.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from penstock.errors import PenstockError
from penstock.openflow.error_codes import OpenFlowError
from penstock.openflow.messages import EchoReply, EchoRequest, Error, Hello, OpenFlowMessage
from penstock.openflow.wire import decode, encode
from penstock.openflow.wire.codec import SentBytes, refusal_of
from penstock.openflow.wire.primitives import HEADER, Framer
from penstock.openflow.wire.shared_messages import HELLO_TYPE

ERROR_TYPE: Final = 1

MOST_UNREAD: Final = 16_000_000
"""How many bytes may wait to be read by a controller, beside what the kernel holds for it."""

_LINGERING: Final = 1 << 16
"""With how many unread bytes a connection may stay after we have hung up, until somebody reads them."""

_PARTING_S: Final = 1.0
"""How long a controller may take to hang up after its greeting was refused."""

_HELLO_FAILED: Final = 0
_OWN_XIDS: Final = 0xFE000000
"""Where the numbers of our own echo requests begin; no switch of ours sends any."""

_VERSION_NAMES: Final = {1: "1.0", 2: "1.1", 3: "1.2", 4: "1.3", 5: "1.4", 6: "1.5"}


@dataclass(frozen=True, slots=True)
class Patience:
    """When to ask whether a controller is there, and when to give up, in seconds."""

    idle_s: float = 5.0
    dead_s: float = 5.0
    greeting_s: float = 10.0
    """How long a controller may take to greet."""


class ControlSession(asyncio.Protocol):
    """One connection of one switch with one controller, from the moment it is up.

    `on_message` is given each message that the switch is to hear, `on_refused` what was wrong with others,
    `on_close` is called once when the connection is over, by whomever; `reason` then says why.
    """

    def __init__(
        self,
        version: int,
        *,
        on_message: Callable[[OpenFlowMessage], None],
        on_close: Callable[[], None],
        on_refused: Callable[[str], None] = lambda _: None,
        patience: Patience = Patience(),
    ) -> None:
        self.version = version
        self.greeting: Hello | None = None
        """What the controller greeted with, once it has."""
        self.reason = ""
        """Why the connection is over."""
        self._on_message, self._on_close, self._on_refused = on_message, on_close, on_refused
        self._patience = patience
        self._framer = Framer()
        self._sent = SentBytes(version)
        self._first = b""
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._heard, self._probed = 0.0, False
        """When anything was heard last, and whether we have asked since."""
        self._paused_at: float | None = None
        self._unheeded_s = 0.0
        """For how long nobody listened, before the present pause."""
        self._giving_up = self._parting = False
        """Whether nothing more is sent, and whether nothing more is heard either."""
        self._asked: dict[int, asyncio.Future[bool]] = {}
        self._questions = 0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_open(self) -> bool:
        """Whether anything can be sent."""
        return self._transport is not None

    # Listening.

    @property
    def is_paused(self) -> bool:
        """Whether the controller is not listened to at present."""
        return self._paused_at is not None

    def listened_s(self) -> float:
        """Return the session's clock: the seconds in which the controller could have been heard."""
        now = self._loop.time() if self._paused_at is None else self._paused_at
        return now - self._unheeded_s

    def pause(self) -> None:
        """Listen no more until `resume`; what the controller says waits in the kernel, and then with it."""
        if self._transport is not None and self._paused_at is None:
            self._paused_at = self._loop.time()
            self._transport.pause_reading()

    def resume(self) -> None:
        """Listen again."""
        if self._transport is not None and self._paused_at is not None:
            self._unheeded_s += self._loop.time() - self._paused_at
            self._paused_at = None
            self._transport.resume_reading()

    # Sending.

    def send(self, message: OpenFlowMessage) -> None:
        """Send a message; a refused greeting is the end of the session."""
        if self._transport is None or self._giving_up:
            return
        if isinstance(message, Error):
            message = self._sent.in_error(message)
        self._transport.write(encode(message, self.version))
        if self._transport.get_write_buffer_size() > MOST_UNREAD:
            # Not at once: whoever sends is in the midst of a step.
            self._giving_up = True
            self._loop.call_soon(self.close, "does not read what it is sent")
        if isinstance(message, Error) and message.type == _HELLO_FAILED:
            self._part(f"speaks {self._spoken()}, the switches {_version_text(self.version)}")

    def _part(self, reason: str) -> None:
        """Say and hear nothing more, and hang up once the controller has, which has read all then."""
        if self._transport is None or not self._transport.can_write_eof():
            self.close(reason)
            return
        self.reason, self._giving_up, self._parting = reason, True, True
        self._transport.write_eof()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(_PARTING_S, self.close, reason)

    def ask(self) -> asyncio.Future[bool]:
        """Send an echo request; the answer is whether it was answered before the session ended."""
        answer: asyncio.Future[bool] = self._loop.create_future()
        if self._transport is None:
            answer.set_result(False)
            return answer
        xid = _OWN_XIDS | self._questions & 0xFFFFFF
        self._questions += 1
        self._asked[xid] = answer
        self.send(EchoRequest(xid=xid))
        return answer

    def close(self, reason: str) -> None:
        """Hang up."""
        if self._transport is None:
            return
        self.reason = reason
        transport, self._transport = self._transport, None
        if self._timer is not None:
            self._timer.cancel()
        if transport.get_write_buffer_size() > _LINGERING:
            transport.abort()
        else:
            transport.close()
        for answer in self._asked.values():
            if not answer.done():
                answer.set_result(False)
        self._asked.clear()
        self._on_close()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; the controller's greeting is due."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        plain = transport.get_extra_info("socket")
        if plain is not None and plain.family in (socket.AF_INET, socket.AF_INET6):
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._heard = self.listened_s()
        self._timer = self._loop.call_later(self._patience.greeting_s, self._expect_greeting)

    def connection_lost(self, exc: Exception | None) -> None:
        """Notice that the controller hung up, or the connection broke."""
        broken = exc is not None and not isinstance(exc, ConnectionError)
        self.close(f"broke the connection ({exc})" if broken else self.reason or "hung up")

    def eof_received(self) -> bool:
        """Notice that the controller has nothing more to say: then neither have we."""
        self.close(self.reason or "hung up")
        return False

    def data_received(self, data: bytes) -> None:
        """Take bytes; every message that is whole goes on its way."""
        if self._parting:
            return
        self._heard, self._probed = self.listened_s(), False
        if self.greeting is None and len(self._first) < HEADER.size:
            self._first = (self._first + data)[: HEADER.size]
            if not _may_begin(self._first):
                self.close(f"sent {self._first.hex(' ')} where a greeting was due, which is no OpenFlow")
                return
        try:
            messages = self._framer.feed(data)
            for message in messages:
                if self._transport is not None and not self._parting:
                    self._take(message)
            if self._framer.broken is not None:
                raise self._framer.broken
        except OpenFlowError as refused:
            self.close(f"sent bytes that are no messages ({str(refused).rstrip('.')})")

    # Messages.

    def _take(self, data: bytes) -> None:
        try:
            message = decode(data, self.version, at_switch=True)
        except OpenFlowError as refused:
            self._refuse(data, refused)
            return
        match message:
            case Hello():
                self._greet(message)
            case EchoReply() if message.xid in self._asked:
                answer = self._asked.pop(message.xid)
                if not answer.done():
                    answer.set_result(True)
                return
            case Error() if self.greeting is None or message.type == _HELLO_FAILED:
                said = message.data.decode("ascii", errors="ignore").strip("\0 ")
                self.reason = f"refused the greeting ({message.name(self.version)}{': ' * bool(said)}{said})"
        if self.greeting is not None:
            self._sent.keep(data)
            self._on_message(message)

    def _refuse(self, data: bytes, refused: OpenFlowError) -> None:
        """Answer what cannot be read, unless it is an error itself."""
        self._on_refused(str(refused))
        if data[1] != ERROR_TYPE:
            self.send(refusal_of(data, refused, self.version))

    def _greet(self, greeting: Hello) -> None:
        if self.greeting is None:
            self.greeting = greeting
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_later(self._patience.idle_s, self._look_after)

    def _spoken(self) -> str:
        """Return the versions that the controller greeted with, in words."""
        if self.greeting is None:
            return "another OpenFlow version"
        versions = self.greeting.versions or {self.greeting.version}
        return "only OpenFlow " + " and ".join(_VERSION_NAMES.get(one, str(one)) for one in sorted(versions))

    # Signs of life.

    def _expect_greeting(self) -> None:
        self.close(f"did not greet within {self._patience.greeting_s:g} seconds")

    def _look_after(self) -> None:
        """Ask after a silence, once; hang up when even that gets no answer."""
        idle, last = self._patience.idle_s, self._patience.idle_s + self._patience.dead_s
        silence = self.listened_s() - self._heard
        if silence >= last:
            self.close(f"answered nothing for {silence:.1f} seconds")
            return
        if silence >= idle and not self._probed:
            self._probed = True
            self.ask()
        wait = min(idle, last - silence) if silence >= idle else idle - silence
        self._timer = self._loop.call_later(max(wait, 0.01), self._look_after)


async def connect(
    make: Callable[[], ControlSession],
    address: tuple[str, int],
    *,
    context: ssl.SSLContext | None = None,
    limit_s: float = 10.0,
    pause_s: float = 0.05,
) -> ControlSession:
    """Connect a session, trying again for a while where nobody answers.

    What an error says is what a controller did, to follow its name.
    """
    loop = asyncio.get_running_loop()
    limit = loop.time() + limit_s
    while True:
        try:
            async with asyncio.timeout_at(limit):
                _, session = await loop.create_connection(make, *address, ssl=context)
            return session
        except (OSError, TimeoutError) as error:
            if loop.time() + pause_s > limit or isinstance(error, ssl.SSLError):
                why = error.strerror or str(error) or "no answer"
                raise PenstockError(f"could not be reached ({why.rstrip('.')})") from None
        await asyncio.sleep(pause_s)


def _may_begin(data: bytes) -> bool:
    """Tell whether these may be the first bytes of a greeting, or of an error in its place."""
    if len(data) > 1 and data[1] not in (HELLO_TYPE, ERROR_TYPE):
        return False
    return data[0] in _VERSION_NAMES


def _version_text(version: int) -> str:
    return _VERSION_NAMES[version]
