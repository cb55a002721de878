"""Rows of Open vSwitch's configuration database that make a bridge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.addresses import mac_text
from penstock.openflow.messages import V10, V13

Row = dict[str, Any]
Operation = dict[str, Any]

_PROTOCOLS = {V10: "OpenFlow10", V13: "OpenFlow13"}


@dataclass(frozen=True, slots=True)
class Device:
    """A dummy network device that writes what it sends to a capture file; `number` None: the local port."""

    name: str
    capture: Path
    number: int | None = None
    hw_addr: int = 0

    def row(self) -> Row:
        """Return the device's row of the interface table."""
        row: Row = {"name": self.name, "type": "internal"}
        row["options"] = ["map", [["tx_pcap", str(self.capture)]]]
        if self.number is not None:
            row |= {"ofport_request": self.number, "mac": mac_text(self.hw_addr)}
        return row


def bridge_operations(
    name: str, version: int, dpid: int, hw_addr: int, devices: Iterable[Device], targets: Iterable[str]
) -> list[Operation]:
    """Return the operations that insert a bridge, whose row is then called `bridge`."""
    operations: list[Operation] = []
    ports: list[list[str]] = []
    controllers: list[list[str]] = []
    for device in devices:
        label = f"p{len(ports)}"
        operations.append(_insert("Interface", f"{label}_device", device.row()))
        port = {"name": device.name, "interfaces": ["named-uuid", f"{label}_device"]}
        operations.append(_insert("Port", label, port))
        ports.append(["named-uuid", label])
    for target in targets:
        label = f"c{len(controllers)}"
        controller = {"target": target, "connection_mode": "out-of-band", "inactivity_probe": 0}
        operations.append(_insert("Controller", label, controller))
        controllers.append(["named-uuid", label])
    settings = {"datapath-id": f"{dpid:016x}", "hwaddr": mac_text(hw_addr), "disable-in-band": "true"}
    bridge = {
        "name": name,
        "datapath_type": "dummy",
        "fail_mode": "secure",
        "protocols": _PROTOCOLS[version],
        "ports": ["set", ports],
        "controller": ["set", controllers],
        "other_config": ["map", [*map(list, settings.items())]],
    }
    return [*operations, _insert("Bridge", "bridge", bridge)]


def use_bridges(*bridges: list[str]) -> Operation:
    """Return the operation after which exactly these bridges exist."""
    row = {"bridges": ["set", [*bridges]]}
    return {"op": "update", "table": "Open_vSwitch", "where": [], "row": row}


def announce_change(number: int) -> Operation:
    """Return the operation that gives a change of the configuration its number."""
    return {"op": "update", "table": "Open_vSwitch", "where": [], "row": {"next_cfg": number}}


def await_change(number: int, patience_s: float) -> Operation:
    """Return the operation that waits until the daemon has made the change of this number."""
    return {
        "op": "wait",
        "table": "Open_vSwitch",
        "where": [],
        "columns": ["cur_cfg"],
        "until": "==",
        "rows": [{"cur_cfg": number}],
        "timeout": int(patience_s * 1000),
    }


def _insert(table: str, label: str, row: Row) -> Operation:
    return {"op": "insert", "table": table, "uuid-name": label, "row": row}
