"""Where values may go without being followed any further: messages to switches, and logs.

What a program does next does not depend on what it has written into a log or sent to a switch, so
values are made concrete there, and nothing is lost.  A packet that a program makes is such a message:
it is put into bytes to be sent.

What a switch does may well depend on it.  What a rule asks of packets is a question that is put to every
packet that comes to it.  The port that a packet is sent to is decided, among those that there are; so is
any other number that can be few things, such as a priority.  One that can be many is lost.
"""

from __future__ import annotations

import inspect
import io
import logging
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import FunctionType, MethodType
from typing import Any, Final

from penstock._concolic import surroundings
from penstock._concolic.packets.domain import OWN
from penstock._concolic.run import Run, lose
from penstock._concolic.terms import Term
from penstock._concolic.values import unknown
from penstock._concolic.values.integers import Followed, pinned
from penstock._concolic.values.parts import bears, is_symbolic
from penstock._concolic.values.segments import Piece
from penstock._concolic.values.sym_bytes import SymBytes
from penstock._concolic.values.sym_str import SymStr
from penstock.openflow.messages import PortNo

_PACKAGES: Final = ("os_ken.ofproto.", "penstock.openflow.")
"""Packages all of whose functions and classes are such places."""

_LOGGING: Final = frozenset(
    {"debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log"}
)
"""The functions of `logging`, and the methods of its loggers, that write something down and do no more."""

_PACKETS: Final = "os_ken.lib.packet."
"""Where os-ken writes packets as bytes: for a switch to send."""

_PACKET: Final = f"{_PACKETS}packet"

_FUNCTIONS: Final = frozenset(
    {
        ("penstock._controllers.controller", "Controller.install"),
        ("penstock._controllers.controller", "Controller.packet_out"),
        ("penstock._controllers.controller", "Controller.send"),
        ("os_ken.lib.packet.packet", "Packet.serialize"),
        *(
            ("os_ken.controller.controller", f"Datapath.{name}")
            for name in (
                *("send", "send_msg", "send_packet_out", "send_flow_mod", "send_flow_del", "send_barrier"),
                *("send_delete_all_flows", "send_nxt_set_flow_format", "set_xid"),
            )
        ),
    }
)


def is_sink(function: Any) -> bool:
    """Tell whether a function, a class or a method is a place where values may go."""
    if isinstance(function, MethodType):
        function = function.__func__
    if isinstance(function, FunctionType | type):
        module = function.__module__
        if module == logging.__name__:
            return function.__name__ in _LOGGING
        if f"{module}.".startswith(_PACKAGES) or (module, function.__qualname__) in _FUNCTIONS:
            return True
        return function.__name__ == "serialize" and str(module).startswith(_PACKETS)
    return function is print or _only_shows(getattr(function, "__self__", None))


def _only_shows(stream: Any) -> bool:
    """Tell whether what is written goes to the terminal, where no program reads it."""
    return isinstance(stream, io.IOBase) and surroundings.is_shown(stream)


_SENDING: Final = ("Controller.install", "Controller.packet_out", "Controller.send", "Datapath.send_msg")


def sends(function: Any) -> bool:
    """Tell whether a function sends messages."""
    return isinstance(function, MethodType) and function.__func__.__qualname__ in _SENDING


def writes_packet(function: Any) -> bool:
    """Tell whether a function puts a packet, or a header of one, into bytes that depend on the inputs."""
    if not isinstance(function, MethodType) or function.__func__.__name__ != "serialize":
        return False
    headers = getattr(function.__self__, "protocols", (function.__self__,))
    return any(bears(value) for header in headers for value in getattr(header, "__dict__", {}).values())


def reads_bytes(function: Any) -> bool:
    """Tell whether a function of os-ken's reads headers out of bytes, by means of C."""
    plain = function.__func__ if isinstance(function, MethodType) else function
    return plain.__name__.lstrip("_") == "parser" and str(plain.__module__).startswith(_PACKETS)


def tells(function: Any) -> bool:
    """Tell whether a method gives out what a message that a switch has sent holds of a packet."""
    holder = getattr(function, "__self__", None)
    if not f"{type(holder).__module__}.".startswith("os_ken.ofproto.") or isinstance(holder, type):
        return False
    return any(map(bears, vars(holder).values())) if hasattr(holder, "__dict__") else False


def headers_of(holder: Any) -> list[tuple[Any, dict[str, Any]]]:
    """Return the headers of a packet that a program writes, each with what is in it."""
    if type(holder).__module__ != _PACKET:
        return []
    return [(header, dict(vars(header))) for header in holder.protocols if hasattr(header, "__dict__")]


def note_written(before: Iterable[tuple[Any, Mapping[str, Any]]]) -> None:
    """Note that lengths and checksums depend on the inputs, which were written into headers since."""
    for header, known in before:
        for name, value in list(vars(header).items()):
            if known.get(name, header) is not value:
                setattr(header, name, unknown.unknown(value))


def note_read_back(holder: Any) -> None:
    """Note that what an object now holds depends on the inputs, should the program look at it."""
    if holder is None:
        return
    if type(holder).__module__ == _PACKET:
        holder.data = unknown.unknown(holder.data)
    elif f"{type(holder).__module__}.".startswith(_MESSAGES):
        unknown.taint(holder)


def is_read_back(function: Any, named: Mapping[str, Any]) -> bool:
    """Tell whether the program has a hand in what becomes of what it logs or prints."""
    if function is print:
        stream = named.get("file")
        return not surroundings.is_shown(sys.stdout if stream is None else stream)
    if isinstance(function, MethodType):
        logger = function.__self__
        while isinstance(logger, logging.LoggerAdapter):
            if type(logger).process is not logging.LoggerAdapter.process:
                return True
            logger = logger.logger
        return isinstance(logger, logging.Logger) and surroundings.reaches_program(logger)
    module = getattr(function, "__module__", None)
    return module == logging.__name__ and surroundings.reaches_program(logging.getLogger())


# What switches go by.

_INSTALL: Final = ("penstock._controllers.controller", "Controller.install")
_MESSAGES: Final = ("os_ken.ofproto.", "penstock.openflow.")
_ASKED: Final = ("Match", "OXM", "Oxm", "oxm")
"""What classes are called that say what is asked of packets."""

_CARRIED: Final = frozenset({"data", "buffer_id", "total_len", "in_port", "datapath", "match"})
"""What in a message is carried along to hosts, or asked of packets; a cookie, say, comes back."""

_PORTS: Final = frozenset({"port", "out_port"})
_RESERVED: Final = (*(port.value for port in PortNo), *range(0xFFF8, 0x10000))


def settle(function: Any, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> None:
    """Decide what a switch will go by in a message that a program makes."""
    assert Run.current is not None
    if _asks(function):
        Run.current.asks = True
    if not _is_message(function):
        return
    names = _parameters(function)
    for name, value in (*zip(names, arguments, strict=False), *named.items()):
        if name in _CARRIED and not (name == "data" and "Echo" in getattr(function, "__name__", "")):
            continue
        if isinstance(value, Followed):
            if name in _PORTS and value.term.high >= _MOST_PORTS:
                _decide_port(value)
            else:
                pinned(value, name)
        elif any(not term.variables <= OWN for term in _terms(value)):
            lose(name)


_MOST_PORTS: Final = 64


def settle_parts(message: Any) -> None:
    """Decide what a switch will go by in a message that a program has changed before it is sent."""
    if isinstance(message, list | tuple):
        for part in message:
            settle_parts(part)
        return
    if not f"{type(message).__module__}.".startswith("os_ken.ofproto."):
        return
    for name, value in vars(message).items() if hasattr(message, "__dict__") else ():
        if isinstance(value, Followed):
            if name in _PORTS and value.term.high >= _MOST_PORTS:
                _decide_port(value)
            elif name not in _CARRIED:
                pinned(value, name)
        elif not is_symbolic(value):
            settle_parts(value)


def _asks(function: Any) -> bool:
    """Tell whether a function or class makes what a rule asks of packets."""
    holder = function.__self__ if isinstance(function, MethodType) else function
    name = holder.__name__ if isinstance(holder, type) else type(holder).__name__
    return any(word in name for word in _ASKED) or name == "Controller"


def _is_message(function: Any) -> bool:
    if isinstance(function, MethodType):
        plain = function.__func__
        return (plain.__module__, plain.__qualname__) == _INSTALL or plain.__name__ == "set_xid"
    if not isinstance(function, type) or not f"{function.__module__}.".startswith(_MESSAGES):
        return False
    return not any(word in function.__name__ for word in _ASKED)


@cache
def _parameters(function: Any) -> tuple[str, ...]:
    """Return what the arguments of a function or a class are called."""
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


def _decide_port(value: Followed) -> None:
    """Decide which port it is of those that there are, or that it is none of them."""
    assert Run.current is not None
    for port in (*Run.current.ports, *_RESERVED):
        if value.term.low <= port <= value.term.high and value == port:
            return


def _terms(value: Any) -> Iterator[Term]:
    if isinstance(value, SymBytes):
        yield from value.terms
    elif isinstance(value, SymStr):
        yield from (part.term for part in value.pieces if isinstance(part, Piece))
