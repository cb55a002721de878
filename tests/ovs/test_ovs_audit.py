"""`penstock audit` of a private Open vSwitch: what was planted is found, packets go where it sends them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from bench.ovs.configuration import Device, bridge_operations, use_bridges
from bench.ovs.instance import OpenVSwitch
from bench.ovs.pool import sample
from click.testing import CliRunner

from penstock._audit.audit import NetworkAudit
from penstock._audit.dumps import Dump
from penstock._audit.gathering import gathered
from penstock._cli.auditing import audit_command
from penstock._forwarding.header_space import header_of
from penstock._forwarding.kinds import kind_of
from penstock._world.switch.headers import read
from penstock._world.topology import topology
from penstock.openflow.messages import V13

pytestmark = pytest.mark.ovs
PACKETS = 200
PORTS = (1, 2, 3)
LOCAL = 65534
PLACES = {"h1": 1, "h2": 2, "h3": 3, "s1 itself": LOCAL}


class Bridges:
    """Bridges of one Open vSwitch, set up by ovs-ofctl."""

    def __init__(self, ovs: OpenVSwitch, ofctl: Path) -> None:
        self._ovs, self._ofctl = ovs, ofctl
        self._rows: list[list[str]] = [ovs.keeper]

    def add(self, name: str, number: int) -> None:
        devices = [Device(name, self._ovs.folder / f"{name}.pcap")]
        devices += (
            Device(f"{name}-eth{port}", self._ovs.folder / f"{name}-{port}.pcap", port, number << 8 | port)
            for port in PORTS
        )
        made = bridge_operations(name, V13, number, number << 16, devices, [])
        self._ovs.configure(*made, use_bridges(*self._rows, ["named-uuid", "bridge"]))
        found = self._ovs.transact(
            {"op": "select", "table": "Bridge", "where": [["name", "==", name]], "columns": ["_uuid"]}
        )
        self._rows.append(found[0]["rows"][0]["_uuid"])

    def place(self, name: str) -> str:
        return f"unix:{self._ovs.folder}/{name}.mgmt"

    def flows(self, name: str, *lines: str) -> None:
        self._tell(name, "add-flows", *lines)

    def groups(self, name: str, *lines: str) -> None:
        self._tell(name, "add-groups", *lines)

    def _tell(self, name: str, command: str, *lines: str) -> None:
        subprocess.run(
            [str(self._ofctl), "-O", "OpenFlow13", command, self.place(name), "-"],
            input="\n".join(lines) + "\n",
            text=True,
            check=True,
            capture_output=True,
        )

    def traced(self, name: str, port: int, frame: bytes) -> set[int]:
        """Return the ports that a frame leaves by; 0 stands for a controller."""
        said = self._ovs.control("ofproto/trace", name, f"in_port={port}", frame.hex())
        actions = said.rpartition("Datapath actions: ")[2]
        shown = self._ovs.control("dpif/show")
        numbers = {
            int(found[2]): int(found[1]) for found in re.finditer(rf"{name}(?:-eth\d+)? (\d+)/(\d+):", shown)
        }
        plain = re.sub(r"set\([^ ]*?\)+(?=,|$)|userspace\([^ ]*?\)+(?=,|$)", "", actions)
        left = {numbers[int(one)] for one in re.findall(r"(?:^|,)(\d+)(?=,|$|\n)", plain)}
        return left | ({0} if "userspace(" in actions else set())

    def close(self) -> None:
        self._ovs.configure(use_bridges(self._ovs.keeper))


@pytest.fixture
def bridges(ovs: OpenVSwitch, require_tool: Callable[..., Path]) -> Iterator[Bridges]:
    made = Bridges(ovs, require_tool("ovs-ofctl"))
    yield made
    made.close()


def audit(*arguments: str) -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(audit_command, [*arguments, "--json"], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.return_value, json.loads(done.output)


def test_a_planted_loop_a_shadowed_rule_and_an_ambiguous_pair_are_found(bridges: Bridges) -> None:
    on = {
        "s1": ("priority=10,ip,in_port=1 actions=2", "priority=10,ip,in_port=3 actions=2"),
        "s2": ("priority=10,ip,in_port=2 actions=3",),
        "s3": ("priority=10,ip,in_port=2 actions=3",),
    }
    for number, (name, rules) in enumerate(on.items(), 1):
        bridges.add(name, number)
        bridges.flows(name, *rules)
    bridges.flows("s1", "priority=5,tcp,in_port=1 actions=3")
    bridges.flows("s2", "priority=20,udp,tp_dst=53 actions=1", "priority=20,udp,nw_src=10.0.0.0/8 actions=3")
    sources = [f"{name}={bridges.place(name)}" for name in ("s1", "s2", "s3")]
    status, found = audit("ring,3", *sources)
    assert status == 1
    assert found["loops"], "every switch hands IP packets on to the next"
    assert [one["rule"].split(" ")[0] for one in found["shadowed"]] == ["priority=5"]
    (pair,) = found["ambiguous"]
    assert pair["switch"] == "s2" and "tp_dst=53" not in pair["message"] and len(pair["rules"]) == 2
    assert not found["unread"]


RULES = (
    "table=0,priority=30,tcp,tp_dst=80 actions=mod_dl_dst:00:00:00:00:00:99,output:2",
    "table=0,priority=28,udp actions=goto_table:1",
    "table=0,priority=26,arp actions=FLOOD",
    "table=0,priority=24,icmp,in_port=2 actions=IN_PORT,output:3",
    "table=0,priority=22,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00 actions=ALL",
    "table=0,priority=20,ip,nw_src=10.0.0.0/9 actions=write_metadata:0x7,goto_table:1",
    "table=0,priority=18,ipv6 actions=group:1",
    "table=0,priority=16,vlan_tci=0x1000/0x1000 actions=pop_vlan,output:1,output:2",
    "table=0,priority=14,in_port=3 actions=output:1,output:3",
    "table=0,priority=12,tcp actions=write_actions(output:3),goto_table:2",
    "table=0,priority=2,dl_type=0x9000 actions=drop",
    "table=0,priority=1 actions=CONTROLLER:128",
    "table=1,priority=9,ip,metadata=0x7 actions=set_field:192.0.2.1->ip_dst,output:1,output:2",
    "table=1,priority=7,udp,nw_dst=128.0.0.0/1 actions=output:3",
    "table=1,priority=5,udp actions=mod_nw_tos:32,output:1",
    "table=2,priority=5,ip,nw_dst=0.0.0.0/1 actions=output:2,clear_actions",
    "table=2,priority=3,ip actions=dec_ttl",
)


def test_packets_go_where_open_vswitch_traces_them(bridges: Bridges) -> None:
    bridges.add("s1", 1)
    bridges.groups("s1", "group_id=1,type=all,bucket=actions=output:1,bucket=actions=dec_ttl,output:3")
    bridges.flows("s1", *RULES)
    dump = gathered(bridges.place("s1"), lambda _: None)
    assert not dump.unread and not dump.unknown
    network = NetworkAudit(topology("single,3"))
    network.take("s1", dump)
    random = Random(19)
    seen: set[frozenset[int]] = set()
    done = 0
    while done < PACKETS:
        frame = sample(random, False).data
        headers = read(frame)
        header = header_of(headers.fields)
        if kind_of(header) is None or headers.fragment or headers.fields.get("nw_ttl", 64) < 2:
            continue  # No packets of classes that are followed.
        done += 1
        port = random.choice(PORTS)
        outcomes = network.model.trace(f"h{port}", header)
        left = {PLACES[one.node] for one in outcomes if one.fate == "delivered"}
        left |= {0 for one in outcomes if one.fate == "controller"}
        assert not any(one.fate == "unfollowed" for one in outcomes)
        assert left == bridges.traced("s1", port, frame), frame.hex()
        seen.add(frozenset(left))
    assert len(seen) > 5


def test_a_live_dump_says_the_same_as_its_text(bridges: Bridges, tmp_path: Path) -> None:
    bridges.add("s1", 1)
    bridges.flows(
        "s1", "priority=4,tcp,tp_dst=0x50/0xfff0 actions=output:2", "in_port=1 actions=resubmit(,3)"
    )
    live: Dump = gathered(bridges.place("s1"), lambda _: None)
    assert [action for _, action in live.unknown] == ["resubmit(,3)"]
    assert sorted(entry.priority for entry in live.entries[0]) == [4, 32768]
    assert live.ports.keys() >= set(PORTS)
    status, found = audit("single,3", f"s1={bridges.place('s1')}")
    assert status == 3 and found["not_followed"][0]["action"] == "resubmit(,3)"
