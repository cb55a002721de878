"""A private Open vSwitch: its own database, daemons, folder and clock, and nothing left behind.

Both daemons are plain children in sessions of their own (so that Ctrl-C reaches us first), die with
this process whatever kills it, and write only below one temporary folder.  The clock stands still
except when `advance` moves it.

How the daemon is brought to rest.  Its main loop does, in each turn: packets from ports, then
asynchronous messages, expiry and OpenFlow messages, then control commands, then starts again.
A control command answered in one turn followed by an OpenFlow barrier answered in another
therefore spans a whole turn, so a few such pairs (see `bridge`) leave nothing under way, without
any sleep.  The datapath's flow cache is switched off (a limit of no flows): each packet is then
looked up in the OpenFlow tables themselves and counted at once.

Expired flow entries are looked for after each round of the revalidator thread.  With `max-idle`
at 1 ms it makes one every few milliseconds, so that waiting for the next round after each move of
the clock is quick.

A removed entry is told of later still, by a thread that waits until no other thread can be using
the entry.  That thread keeps order, so a sentinel entry is added to and removed from a bridge
kept for such purposes: once its flow_removed is here, so are all earlier ones.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from bench.ovs.configuration import Device, announce_change, await_change, bridge_operations, use_bridges
from bench.ovs.jsonrpc import CommandFailed, JsonRpc
from bench.ovs.session import PATIENCE_S, Session
from penstock._doctor import find_program
from penstock.errors import PenstockError
from penstock.openflow.messages import V10, FlowCommand, FlowFlag, FlowMod, FlowRemoved
from penstock.openflow.wire import decode, encode

PROGRAMS: Final = ("ovsdb-tool", "ovsdb-server", "ovs-vswitchd")

_SCHEMA_FOLDERS = ("/usr/share/openvswitch", "/usr/local/share/openvswitch")
_SETTINGS = {
    "flow-limit": "0",
    "max-idle": "1",
    "n-handler-threads": "1",
    "n-revalidator-threads": "1",
}
_FOLDER_SETTINGS = ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR")
_FOLDERS = ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR")
_PR_SET_PDEATHSIG = 1
_ATTEMPTS = 1000
_KEEPER = "keeper"
_KEEPER_DPID = 0xFE
_ADD_SENTINEL = encode(FlowMod(FlowCommand.ADD, flags=FlowFlag.SEND_FLOW_REM), V10)
_REMOVE_SENTINEL = encode(FlowMod(FlowCommand.DELETE), V10)


def require_programs() -> dict[str, str]:
    """Return the programs' places, or refuse in one sentence."""
    found = {name: find_program(name) for name in PROGRAMS}
    missing = [name for name, place in found.items() if place is None]
    if missing:
        raise PenstockError(
            f"Open vSwitch is not installed ({', '.join(missing)} not found): "
            "install the Debian package openvswitch-switch."
        )
    return {name: str(place) for name, place in found.items()}


def _schema() -> Path:
    folders = [os.environ.get("OVS_PKGDATADIR", ""), *_SCHEMA_FOLDERS]
    for folder in folders:
        schema = Path(folder) / "vswitch.ovsschema"
        if folder and schema.is_file():
            return schema
    raise PenstockError("Open vSwitch's vswitch.ovsschema is not there: set OVS_PKGDATADIR to its folder.")


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class OpenVSwitch:
    """A running private Open vSwitch, made by `with OpenVSwitch() as ovs`."""

    def __init__(self) -> None:
        places = require_programs()
        schema = _schema()
        self.folder = Path(tempfile.mkdtemp(prefix="penstock-ovs-"))
        self._children: list[subprocess.Popen[bytes]] = []
        self._changes = 0
        self._cleanup = contextlib.ExitStack()
        self._cleanup.callback(shutil.rmtree, self.folder, ignore_errors=True)
        atexit.register(self.close)
        try:
            self._start(places, schema)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> OpenVSwitch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of the daemons."""
        return tuple(child.pid for child in self._children)

    def control(self, command: str, *arguments: str) -> str:
        """Perform a control command of the switch daemon (as ovs-appctl does)."""
        return str(self._control.call(command, *arguments))

    def transact(self, *operations: dict[str, Any]) -> list[dict[str, Any]]:
        """Change the configuration database."""
        results: list[dict[str, Any]] = self._database.call("transact", "Open_vSwitch", *operations)
        for result in results:
            if result and "error" in result:
                raise CommandFailed(f"{result['error']}: {result.get('details')}")
        return results

    def configure(self, *operations: dict[str, Any]) -> None:
        """Change the configuration database, and wait until the daemon has done the same."""
        self._changes += 1
        self.transact(*operations, announce_change(self._changes))
        self.transact(await_change(self._changes, PATIENCE_S))

    def advance(self, milliseconds: int) -> None:
        """Move the clock, and wait until everything that fell due has happened."""
        self.control("time/warp", str(milliseconds))
        self.notice_expired()

    def finish_turn(self) -> None:
        """Wait until a turn of the daemon's main loop is through with everything but control commands."""
        self.control("version")

    def notice_expired(self) -> None:
        """Wait until every flow entry that is due by now has been noticed, removed and told of."""
        self.control("revalidator/wait")
        self.finish_removals()

    def finish_removals(self) -> None:
        """Wait until the flow_removed messages of all entries removed so far have been sent."""
        self.finish_turn()
        self._keeper_session.send(_ADD_SENTINEL + _REMOVE_SENTINEL)
        while not isinstance(decode(self._keeper_session.receive()), FlowRemoved):
            pass

    def close(self) -> None:
        """Stop the daemons and remove the folder; doing so twice does no harm."""
        atexit.unregister(self.close)
        self._cleanup.close()
        self._children.clear()

    def _start(self, places: dict[str, str], schema: Path) -> None:
        database, socket = self.folder / "conf.db", self.folder / "db.sock"
        created = subprocess.run(
            [places["ovsdb-tool"], "create", str(database), str(schema)], capture_output=True, check=False
        )
        if created.returncode:
            raise PenstockError(f"ovsdb-tool could not make a database: {created.stderr.decode().strip()}.")
        self._spawn(places["ovsdb-server"], str(database), f"--remote=punix:{socket}", name="ovsdb")
        self._database = self._connect(socket)
        self.transact(
            {"op": "insert", "table": "Open_vSwitch", "row": {"other_config": ["map", [*_SETTINGS.items()]]}}
        )
        self._spawn(
            places["ovs-vswitchd"],
            f"unix:{socket}",
            "--disable-system",
            "--disable-system-route",
            "--enable-dummy=override",
            name="vswitchd",
        )
        control = self.folder / "vswitchd.ctl"
        self._control = self._connect(control)
        self._make_keeper()
        self.control("time/stop")

    def _make_keeper(self) -> None:
        """Make a bridge that stays, so that the datapath and its threads outlive each program."""
        self._keeper_session = Session(self.folder / "keeper.of", V10)
        self._cleanup.callback(self._keeper_session.close)
        device = Device(_KEEPER, self.folder / "keeper.pcap")
        operations = bridge_operations(
            _KEEPER, V10, _KEEPER_DPID, _KEEPER_DPID, [device], [self._keeper_session.target]
        )
        results = self.transact(*operations, use_bridges(["named-uuid", "bridge"]))
        self.keeper: list[str] = results[len(operations) - 1]["uuid"]
        self._keeper_session.accept()

    def remove_bridge(self, name: str) -> None:
        """Take a program's bridge away, and wait until it is gone.

        The daemon frees a bridge in the background and would list it half freed; it is asked
        only when that is over.
        """
        self.configure(use_bridges(self.keeper))
        for _ in range(_ATTEMPTS):
            self.finish_removals()
            self.finish_removals()
            if name not in self.control("ofproto/list").split():
                return
        raise PenstockError(f"Open vSwitch did not remove a bridge: {self._last_words()}")

    def _spawn(self, *command: str, name: str) -> None:
        folder = str(self.folder)
        surroundings = os.environ | dict.fromkeys(_FOLDERS, folder)
        with (self.folder / f"{name}.err").open("wb") as words:
            child = subprocess.Popen(
                [
                    *command,
                    f"--unixctl={folder}/{name}.ctl",
                    f"--log-file={folder}/{name}.log",
                    "-vsyslog:off",
                    "-vconsole:emer",
                ],
                env=surroundings,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=words,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        self._children.append(child)
        self._cleanup.callback(child.wait)
        self._cleanup.callback(child.kill)

    def _connect(self, path: Path) -> JsonRpc:
        """Connect to a daemon's socket as soon as the daemon has made it."""
        patience = time.monotonic() + PATIENCE_S
        while True:
            if path.exists():
                with contextlib.suppress(ConnectionRefusedError):
                    connection = JsonRpc(str(path), PATIENCE_S, self._last_words)
                    self._cleanup.callback(connection.close)
                    return connection
            if self._children[-1].poll() is not None or time.monotonic() > patience:
                raise PenstockError(f"Open vSwitch did not start: {self._last_words()}")
            time.sleep(0.002)

    def _last_words(self) -> str:
        logs = sorted(self.folder.glob("*.err")) + sorted(self.folder.glob("*.log"))
        lines = [line for log in logs for line in log.read_text(errors="replace").splitlines()[-1:]]
        return "; ".join(lines) or "it said nothing."
