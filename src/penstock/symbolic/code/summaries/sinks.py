"""Where values may go without being followed any further: messages to switches, and logs.

What a program does next does not depend on what it has written into a log or sent to a switch, so
values are made concrete there, and nothing is lost.  A packet that a program makes is such a message:
it is put into bytes to be sent.
"""

from __future__ import annotations

import io
import logging
from types import FunctionType, MethodType
from typing import Any, Final

_PACKAGES: Final = ("os_ken.ofproto.", "penstock.openflow.", "logging.", "warnings.")
"""Packages all of whose functions and classes are such places."""

_PACKETS: Final = "os_ken.lib.packet."
"""Where os-ken writes packets as bytes: for a switch to send."""

_FUNCTIONS: Final = frozenset(
    {
        ("penstock.controllers.native", "Controller.install"),
        ("penstock.controllers.native", "Controller.packet_out"),
        ("penstock.controllers.native", "Controller.send"),
        ("os_ken.lib.packet.packet", "Packet.serialize"),
    }
)


def is_sink(function: Any) -> bool:
    """Tell whether a function, a class or a method is a place where values may go."""
    if isinstance(function, MethodType):
        if isinstance(function.__self__, logging.Logger | logging.LoggerAdapter):
            return True
        function = function.__func__
    if isinstance(function, FunctionType | type):
        module = function.__module__
        if f"{module}.".startswith(_PACKAGES) or (module, function.__qualname__) in _FUNCTIONS:
            return True
        return function.__name__ == "serialize" and str(module).startswith(_PACKETS)
    return function is print or isinstance(getattr(function, "__self__", None), io.IOBase)
