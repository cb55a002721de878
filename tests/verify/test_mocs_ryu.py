"""An unmodified Ryu learning switch: no loops on a line, proved; loops on a ring, with the run."""

from __future__ import annotations

from pathlib import Path

from penstock._controllers.osken.binding import OsKenController
from penstock._engine.building import joined
from penstock._verify.invariants import NoLoops
from penstock._verify.lifting import Lifting, lift
from penstock._verify.verification import Verification, verify
from penstock._world.assembly import build_network
from penstock._world.frame import Frame
from penstock._world.switch import SwitchOptions
from penstock._world.topology import topology
from penstock.openflow.messages import V13
from penstock.packet import udp_datagram


def _verified(shape: str) -> Verification:
    """Have each host send to the next, and look for loops."""
    drawing = topology(shape)
    app = OsKenController(
        ("ryu.app.simple_switch_13",), {node.name: node.dpid for node in drawing.switches}, version=V13
    )
    network = build_network(drawing, controllers=app, switches=SwitchOptions(counters=False))
    hosts = drawing.hosts
    traffic = {
        sender.name: (
            Frame(
                udp_datagram(
                    eth_src=sender.mac,
                    eth_dst=receiver.mac,
                    ip_src=sender.ip,
                    ip_dst=receiver.ip,
                    udp_src=1,
                    udp_dst=2,
                ).to_bytes()
            ),
        )
        for sender, receiver in zip(hosts, (*hosts[1:], hosts[0]), strict=True)
    }
    how = Lifting(receiving=False, history=True)
    return verify(lift(network, joined(network, "c0").start, traffic, how), [NoLoops()])


def test_on_a_line_no_packet_comes_back(ryu_sources: Path) -> None:
    assert _verified("linear,2").verdict == "proved"


def test_on_a_ring_a_flooded_packet_comes_back(ryu_sources: Path) -> None:
    found = _verified("ring,3")
    assert found.verdict == "violated" and not found.diverged
    story = [str(step) for step in found.outcome.violations[0].path]
    assert [step.split()[1] for step in story] == ["nomatch", "ctrl", "fwd"] * 3
    assert "comes back to s1" in found.outcome.violations[0].message
