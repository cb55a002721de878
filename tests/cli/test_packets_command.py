"""`penstock packets`, as a person or a script uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock._cli.main import commands
from penstock.errors import PenstockError

APP = '''
import zlib

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PortNo
from penstock.packet import ARP, parse


class Gate(Controller):
    """Lets ARP through, and of the rest what it knows."""

    def __init__(self):
        self.known = {}

    def switch_join(self, switch):
        self.install(switch, actions=(Output(PortNo.CONTROLLER),), priority=0)

    def packet_in(self, switch, message):
        packet = parse(message.data)
        self.known[packet.src] = message.in_port
        if packet.find(ARP) or packet.dst in self.known:
            self.packet_out(switch, message, FLOOD)


class Hashing(Gate):
    """Decides by a checksum."""

    def packet_in(self, switch, message):
        if zlib.crc32(message.data[6:12]) % 2:
            self.packet_out(switch, message, FLOOD)


class Asking(Gate):
    """Asks in many ways."""

    def packet_in(self, switch, message):
        packet = parse(message.data)
        if packet.ethertype != 0x806:
            self.seen = 1
        if packet.dst & 4:
            self.seen = 2
        if packet.dst not in {2}:
            self.seen = 3
        if packet.dst >= 0x90:
            self.seen = 4


class Breaking(Gate):
    """Knows only one sender."""

    def packet_in(self, switch, message):
        {1: "h1"}[parse(message.data).src]
'''

SCENARIO = """
topology = "single,2"
[controller]
native = "gate.py:Gate"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "gate.py").write_text(APP)
    for name in ("Gate", "Hashing", "Asking", "Breaking"):
        (tmp_path / f"{name.lower()}.toml").write_text(SCENARIO.replace("Gate", name))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def packets(*arguments: str) -> str:
    done = CliRunner().invoke(
        commands, ["packets", *arguments], catch_exceptions=False, standalone_mode=False
    )
    return done.stdout


def test_each_class_has_its_condition_an_example_and_its_branches(folder: Path) -> None:
    printed = packets("gate.toml", "--host", "h1")
    assert printed.startswith("h1 (3 classes of packets)\n")
    assert "eth_type is ARP" in printed
    assert "for example [ARP who has 10.0.0.2 tell 10.0.0.1]" in printed
    line = 1 + APP.splitlines().index("        if packet.find(ARP) or packet.dst in self.known:")
    assert f"gate.py:{line}  packet.find(ARP): yes" in printed
    assert f"gate.py:{line}  packet.dst in self.known: no" in printed
    assert "h2" not in printed.split("\n")[0]


def test_a_script_gets_the_same_as_json(folder: Path) -> None:
    found = json.loads(packets("gate.toml", "--json"))
    assert [host["host"] for host in found["hosts"]] == ["h1", "h2"]
    (arp,) = (known for known in found["hosts"][0]["classes"] if "ARP" in known["packet"])
    assert bytes.fromhex(arp["data"])[12:14] == b"\x08\x06"
    assert arp["branches"][-1]["taken"] is True
    assert (arp["switch"], arp["port"]) == ("s1", 1)
    assert found["losses"] == []


def test_a_branch_is_told_as_it_stands_in_the_source(folder: Path) -> None:
    known = json.loads(packets("asking.toml", "--host", "h1", "--json"))["hosts"][0]["classes"]
    for told in known:
        data = bytes.fromhex(told["data"])
        dst = int.from_bytes(data[:6])
        truth = {
            "packet.ethertype != 0x806": data[12:14] != b"\x08\x06",
            "packet.dst & 4": bool(dst & 4),
            "packet.dst not in {2}": dst not in {2},
            "packet.dst >= 0x90": dst >= 0x90,
        }
        taken = {branch["expression"]: branch["taken"] for branch in told["branches"]}
        assert taken and all(truth[expression] is way for expression, way in taken.items())
    assert {"packet.dst & 4", "packet.dst not in {2}"} <= taken.keys()


def test_a_handler_that_fails_says_so(folder: Path) -> None:
    printed = packets("breaking.toml", "--host", "h2")
    assert "the handler fails" in printed
    assert "the handler fails" not in packets("breaking.toml", "--host", "h1")


def test_what_could_not_be_followed_is_named_with_its_line(folder: Path) -> None:
    printed = packets("hashing.toml", "--host", "h1")
    line = 1 + APP.splitlines().index("        if zlib.crc32(message.data[6:12]) % 2:")
    assert (
        f"gate.py, line {line}: what depends on 'zlib.crc32(message.data[6:12])' was not followed" in printed
    )
    (loss,) = json.loads(packets("hashing.toml", "--host", "h1", "--json"))["losses"]
    assert (loss["line"], loss["times"] >= 1) == (line, True)


def test_after_some_steps_of_a_trace_there_are_other_classes(folder: Path) -> None:
    options = ["check", "gate.toml", "-p", "NoBlackHoles", "-o", "traces", "--json"]
    CliRunner().invoke(commands, options, catch_exceptions=False, standalone_mode=False)
    (trace,) = Path("traces").glob("*.jsonl")
    before = packets("gate.toml", "--after", str(trace), "--steps", "0")
    assert before == packets("gate.toml")
    after = packets("gate.toml", "--after", str(trace))
    assert "self.known[packet.src]: " in after
    assert "self.known[packet.src]: " not in before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gate.toml", "--host", "h7"], "unknown host 'h7'"),
        (["gate.toml", "--steps", "1"], "name it with --after"),
        (["gate.toml", "--after", "nothing.jsonl"], "nothing.jsonl"),
        (["other.toml"], "other.toml cannot be read"),
    ],
)
def test_bad_input_is_one_sentence(folder: Path, arguments: list[str], said: str) -> None:
    with pytest.raises(PenstockError, match=said):
        packets(*arguments)
