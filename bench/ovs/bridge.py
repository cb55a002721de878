"""One bridge of the private Open vSwitch, with this process as its controllers and its cables.

Ports are dummy devices.  What a port sends is read from the capture file the device writes as it
sends; what arrives is handed to the device by a control command.  A dummy device has no carrier
of its own: `link` takes it administratively down instead (see the deviation of that name).
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from bench.ovs.configuration import Device, bridge_operations, use_bridges
from bench.ovs.instance import OpenVSwitch
from bench.ovs.session import Session
from penstock.openflow.messages import PortNo

_PCAP_HEADER = 24
_PCAP_RECORD = struct.Struct("=8xI4x")


@dataclass(frozen=True, slots=True)
class BridgePort:
    """A port to make: its number, name and hardware address."""

    number: int
    name: str
    hw_addr: int


@dataclass(frozen=True, slots=True)
class BridgePlan:
    """Everything a bridge is made from; the local port has the bridge's name."""

    name: str
    dpid: int
    version: int
    ports: tuple[BridgePort, ...]
    local_hw_addr: int
    controllers: tuple[str, ...]


class _Capture:
    """Reads the frames a port has sent since the last look."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._at = _PCAP_HEADER

    def frames(self) -> list[bytes]:
        if self._file is None:
            self._file = os.open(self.path, os.O_RDONLY)
        data = b""
        while more := os.pread(self._file, 1 << 16, self._at + len(data)):
            data += more
        self._at += len(data)
        found = []
        at = 0
        while at < len(data):
            (length,) = _PCAP_RECORD.unpack_from(data, at)
            at += _PCAP_RECORD.size
            found.append(data[at : at + length])
            at += length
        return found

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self.path.unlink(missing_ok=True)


class Bridge:
    """A bridge that exists until it is closed; there is one at a time."""

    def __init__(self, ovs: OpenVSwitch, plan: BridgePlan) -> None:
        self._ovs, self.plan = ovs, plan
        self._names = {port.number: port.name for port in plan.ports} | {int(PortNo.LOCAL): plan.name}
        self._captures = {
            number: _Capture(ovs.folder / f"{name}.pcap") for number, name in self._names.items()
        }
        self._sessions = {name: Session(ovs.folder / f"{name}.of", plan.version) for name in plan.controllers}
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Bridge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def send(self, controller: str, data: bytes) -> None:
        """Send bytes as one of the controllers."""
        self._sessions[controller].send(data)

    def inject(self, port: int, frame: bytes) -> None:
        """Let a frame arrive on a port."""
        self._ovs.control("netdev-dummy/receive", self._names[port], frame.hex())

    def link(self, port: int, up: bool) -> None:
        """Take a port's device up or down."""
        self._ovs.control("netdev-dummy/set-admin-state", self._names[port], "up" if up else "down")

    def settle(self, turns: int = 1) -> dict[str, list[bytes]]:
        """Wait out some turns of the daemon's main loop; return what each controller was sent."""
        arrived: dict[str, list[bytes]] = {name: [] for name in self._sessions}
        for _ in range(turns):
            self._ovs.finish_turn()
            for session in self._sessions.values():
                session.ask_for_end()
            for name, session in self._sessions.items():
                arrived[name] += session.until_end()
        return arrived

    def frames(self) -> dict[int, list[bytes]]:
        """Return what each port has sent since the last look."""
        return {number: sent for number, capture in self._captures.items() if (sent := capture.frames())}

    def close(self) -> None:
        """Take the bridge away and hang up."""
        try:
            self._ovs.remove_bridge(self.plan.name)
        finally:
            for session in self._sessions.values():
                session.close()
            for capture in self._captures.values():
                capture.close()

    def _make(self) -> None:
        """Make the bridge, its ports up and the local port down, as the controllers will see it."""
        plan = self.plan
        devices = [Device(plan.name, self._captures[PortNo.LOCAL].path)]
        for port in plan.ports:
            devices.append(Device(port.name, self._captures[port.number].path, port.number, port.hw_addr))
        targets = [session.target for session in self._sessions.values()]
        # A bridge that has no controller is waited for here: no session tells that it is there.
        self._ovs.configure(
            *bridge_operations(plan.name, plan.version, plan.dpid, plan.local_hw_addr, devices, targets),
            use_bridges(self._ovs.keeper, ["named-uuid", "bridge"]),
        )
        for session in self._sessions.values():
            session.accept()
        for port in plan.ports:
            self.link(port.number, True)
        self.link(PortNo.LOCAL, False)
        self.settle(5)
        self.frames()
