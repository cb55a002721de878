"""Runs os-ken and Ryu apps as a controller of its own, listening for switches.

    python -m penstock.launch APP [APP…] --port 6653 [options of os-ken and of the apps]

os-ken 4 has no such command any more.  Here everything is os-ken's own: its threads, sockets and
configuration.  Ryu's apps run unmodified, since their imports are answered (see `osken.ryu`).  An app is
named by its module (`ryu.app.simple_switch_13`) or its file (`app.py`).

When a handler of an app raises, os-ken goes on as if nothing were amiss: with the system's threads the app
hears of nothing any more, in silence; with green threads the exception is logged.  Nobody on the network sees
either.  With `--end-on-error` it is logged and the process ends, with the status 1, so that runs of real
processes find what runs in process do.  That goes for the timers and threads of an app, too.

os-ken's threads are the system's.  An app that relies on green threads, or serves the web with
`os_ken.app.wsgi`, asks for `--hub eventlet`, which must be installed then.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import logging
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from penstock._base import ryu_names
from penstock._controllers.osken import ryu
from penstock.errors import PenstockError

_HUB = "OSKEN_HUB_TYPE"
_BAD_INPUT = 2
_FAILED = 1
_TELL_OF_FAILURES = ("os_ken.base.app_manager", "os_ken.lib.hub")
"""The loggers of os-ken that tell what handlers and threads raise, and no other errors."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the apps until the server ends or the process is told to."""
    parser = argparse.ArgumentParser(prog="python -m penstock.launch", description="Run os-ken and Ryu apps.")
    parser.add_argument("apps", nargs="+", metavar="APP", help="module or file of an app")
    parser.add_argument("--port", type=int, default=6653, help="where to listen for switches (6653)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1)")
    parser.add_argument("--hub", choices=("native", "eventlet"), help="the kind of threads (native)")
    parser.add_argument("--end-on-error", action="store_true", help="end when an app raises an exception")
    given, options = parser.parse_known_args(arguments)
    if given.hub is not None:
        os.environ[_HUB] = given.hub
    try:
        services = _start(given.apps, (given.host, given.port), options, end_on_error=given.end_on_error)
    except PenstockError as error:
        print(error, file=sys.stderr)
        # Apps may have threads already, which would keep the process alive.
        _leave(_BAD_INPUT)
    from os_ken.lib import hub

    try:
        hub.joinall(services)
    except KeyboardInterrupt:
        _leave(130)
    print(f"The server on port {given.port} has ended.", file=sys.stderr)
    _leave(_FAILED)


def _end_on_error() -> None:
    """Have the process end when an app raises an exception, after os-ken has logged it."""
    from os_ken.lib import hub

    if hub.TaskExit is Exception:
        # With the system's threads, whatever is raised counts as a thread's wish to end, and is not logged.
        hub.TaskExit = _Farewell
    # After os-ken's own handlers, so that what happened is printed first.
    logging.getLogger().addHandler(_Ending(logging.ERROR))
    # Timers, and threads that an app starts itself, are not os-ken's.
    threading.excepthook = _end_with_thread


def _end_with_thread(raised: threading.ExceptHookArgs) -> None:
    """Print what a thread has raised, and end the process, unless the thread only wished to end."""
    threading.__excepthook__(raised)
    if not issubclass(raised.exc_type, SystemExit):
        _leave(_FAILED)


class _Farewell(BaseException):
    """What a thread would raise that wishes to end; none does."""


class _Ending(logging.Handler):
    """Ends the process when os-ken tells that an app has raised an exception."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.name in _TELL_OF_FAILURES:
            _leave(_FAILED)


def _leave(status: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _start(
    apps: Sequence[str], address: tuple[str, int], options: Sequence[str], *, end_on_error: bool
) -> list[Any]:
    """Configure os-ken, create the apps and start them; return the threads that serve."""
    if os.environ.get(_HUB) == "eventlet" and importlib.util.find_spec("eventlet") is None:
        raise PenstockError("eventlet is not installed: install it, or leave out --hub eventlet.")
    from os_ken.lib import hub

    hub.patch(thread=False)
    ryu.install()
    from os_ken import cfg, log
    from os_ken.base import app_manager

    log.early_init_log()
    manager = app_manager.AppManager.get_instance()
    _load(manager, apps)
    _configure(cfg, options, *address)
    log.init_log()
    if end_on_error:
        _end_on_error()
    contexts = manager.create_contexts()
    services: list[Any] = manager.instantiate_apps(**contexts)
    return services


def _load(manager: Any, apps: Sequence[str]) -> None:
    """Import the apps and what they need."""
    # The server for switches comes first even if no app asks for a switch's events.
    names = ["os_ken.controller.ofp_handler", *map(_module_name, apps)]
    for name in names:
        try:
            manager.load_apps([name])
        except ModuleNotFoundError as error:
            if ryu_names.is_ryu(name) and not ryu_names.source_folders():
                raise PenstockError(ryu_names.missing(name)) from None
            raise PenstockError(f"{name} failed to import: {error}; check its name.") from None
        if name not in manager.applications_cls:
            raise PenstockError(
                f"{name} has no app in it: define a class that derives from OSKenApp or RyuApp."
            )


def _module_name(app: str) -> str:
    """Return an app's module; a file's folder can be imported from, as with any script."""
    if not app.endswith(".py"):
        return ryu.os_ken_name(app)
    path = Path(app).resolve()
    if not path.is_file():
        raise PenstockError(f"There is no file {app}: check the path of the app.")
    sys.path.insert(0, str(path.parent))
    return path.stem


def _configure(cfg: Any, options: Sequence[str], host: str, port: int) -> None:
    """Have os-ken read its options, and listen where we want."""
    importlib.import_module("os_ken.topology.switches")  # it has options that anybody may be given
    try:
        cfg.CONF(args=list(options), project="os_ken", default_config_files=[])
    except SystemExit:
        raise PenstockError(f"os-ken does not know what {' '.join(options)} means: see above.") from None
    for name, value in (
        ("ofp_listen_host", host),
        ("ofp_tcp_listen_port", port),
        ("ofp_ssl_listen_port", port),
    ):
        cfg.CONF.set_override(name, value)


if __name__ == "__main__":
    main()
