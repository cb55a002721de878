"""os-ken itself, made to run inside a step: replaced where it would wait, listen or tell the time.

Once per process, os-ken's hub is replaced (see `hub`), imports of Ryu are answered (see `ryu`), and
some of it is changed:

- an app's event loop does not wait for events: the app's queue is served instead, by a task that
  comes when there is an event and goes when there is none.  So between steps no task stands in an
  event loop, and most programs have no suspended task at all;
- the server that accepts connections does nothing;
- an app that imports an interface to another app, such as `topology.api`, needs that other app.
  os-ken notes this when the interface is first imported by anybody; here it holds for each program;
- an event's time stamp is the time when somebody first looks at it, so that making an event does
  not mean that time matters;
- a message can be changed between os-ken's parser and the program's handlers (see `parsed`).

Some of os-ken's variables belong to the one program that runs: the apps by name, the manager,
the versions spoken, the configuration.  `put_in_charge` sets them for a program.
"""

from __future__ import annotations

import functools
import importlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any, Final

from penstock._controllers.osken import hub, ryu, standins


@functools.cache
def install() -> None:
    """Change os-ken for this process."""
    standins.install_hub()
    ryu.install()
    from os_ken.base import app_manager
    from os_ken.controller import ofp_event, ofp_handler
    from os_ken.ofproto import ofproto_parser

    # It defines options that every program may be given.
    importlib.import_module("os_ken.topology.switches")
    app_manager.OSKenApp._event_loop = _serve_events
    app_manager.require_app = _require_app
    ofp_handler.OpenFlowController = _NoServer
    ofp_event.time = SimpleNamespace(time=float)
    ofp_event.EventOFPMsgBase.timestamp = property(_read_timestamp, _ignore_timestamp)
    ofproto_parser.msg = functools.partial(_parse, ofproto_parser.msg)


_change: Callable[[Any], None] | None = None
"""What is to be done to messages that arrive, before the program sees them."""


@contextmanager
def parsed(change: Callable[[Any], None]) -> Iterator[None]:
    """Have messages that arrive inside this block changed once os-ken has parsed them."""
    global _change
    _change = change
    try:
        yield
    finally:
        _change = None


def _parse(parser: Callable[..., Any], *arguments: Any) -> Any:
    message = parser(*arguments)
    if _change is not None and message is not None:
        _change(message)
    return message


def _serve_events(app: Any) -> None:
    app.events.serve(functools.partial(_handle_events, app))


def _handle_events(app: Any) -> None:
    """Hand an app its events; that one handler fails does not keep the others from theirs."""
    while not app.events.empty():
        event, state = app.events.get_nowait()
        app._events_sem.release()
        handlers = [] if event is app._event_stop else list(app.get_handlers(event, state))
        # No `for` here: how far it has come could not be seen in a handler that waits.
        while handlers:
            handler = handlers.pop(0)
            try:
                handler(event)
            except hub.NOT_FOR_PROGRAMS:
                raise
            except BaseException as error:
                hub.current().crashed(error)


EVENT_LOOP: Final = _handle_events.__code__
"""What is on the stack of every task that runs a handler of an event."""

_INTERFACES: Final = {
    "os_ken.app.ofctl.api": "os_ken.app.ofctl.service",
    "os_ken.topology.api": "os_ken.topology.switches",
}
"""os-ken's interfaces to apps, and the apps."""


def _require_app(app_name: str, api_style: bool = False) -> None:
    """Note that the calling module, or the one that is just importing it, needs an app."""
    frame: FrameType | None = sys._getframe(1)
    modules: list[str] = []
    while frame is not None and len(modules) < 1 + api_style:
        name = str(frame.f_globals.get("__name__"))
        if name.partition(".")[0] not in ("importlib", "penstock") and name not in modules:
            modules.append(name)
        frame = frame.f_back
    needy = sys.modules.get(modules[-1])
    if needy is not None:
        vars(needy).setdefault("_REQUIRED_APP", []).append(app_name)


def needs_of(app: Any) -> set[str]:
    """Return the services that an app needs, by the names of their modules."""
    from os_ken.controller import handler

    needs = set(handler.get_dependent_services(app))
    for value in vars(sys.modules[app.__module__]).values():
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if home in _INTERFACES:
            needs.add(_INTERFACES[home])
    return needs


class _NoServer:
    """Takes the place of what listens for switches."""

    def __call__(self) -> None:
        """Return at once."""


def _read_timestamp(event: Any) -> float:
    if "_timestamp" not in vars(event):
        event._timestamp = time.time()
    stamp: float = event._timestamp
    return stamp


def _ignore_timestamp(_event: Any, _moment: float) -> None:
    """Wait until somebody looks."""


def new_manager() -> Any:
    """Return a manager for the apps of another program."""
    from os_ken.base import app_manager

    app_manager.SERVICE_BRICKS.clear()
    return app_manager.AppManager()


def roots(manager: Any) -> list[Any]:
    """Return what os-ken keeps of a program: its apps, their contexts, the apps by name."""
    from os_ken.base import app_manager

    return [manager.applications, manager.contexts, app_manager.SERVICE_BRICKS]


def number_of_apps(manager: Any) -> int:
    """Return how many apps a program has, os-ken's own for sessions apart."""
    from os_ken.controller import ofp_handler

    return sum(not isinstance(app, ofp_handler.OFPHandler) for app in manager.applications.values())


def all_versions() -> set[int]:
    """Return the OpenFlow versions that os-ken speaks."""
    from os_ken.ofproto import ofproto_protocol

    return set(ofproto_protocol._versions)


def spoken_versions() -> set[int]:
    """Return the OpenFlow versions that all apps of the program in charge speak."""
    from os_ken.ofproto import ofproto_protocol

    return set(ofproto_protocol._supported_versions)


def put_in_charge(manager: Any, versions: set[int], options: Mapping[str, Any]) -> None:
    """Make os-ken's variables those of one program; the apps' names are part of its state."""
    from os_ken import cfg
    from os_ken.base import app_manager
    from os_ken.ofproto import ofproto_protocol

    app_manager.AppManager._instance = manager
    ofproto_protocol._supported_versions = versions
    # What another program was given must not stay: `clear` alone keeps overrides.
    cfg.CONF.reset()
    for name, value in options.items():
        cfg.CONF.set_override(name.replace("-", "_"), value)
