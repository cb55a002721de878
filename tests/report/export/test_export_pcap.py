"""Wireshark reads what went over the wires of a run, message for message."""

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.report.export.export_lab import (
    INPUTS,
    SWITCH10,
    SWITCH13,
    control_messages,
    exported,
    fuzzed,
    process,
    proved,
    refused,
    rewritten,
    searched,
)
from tests.required_tools import find_tool

from penstock._report.export.pcap import CONTROLLER_PORT, Conversation, Station
from penstock._trace.trace import ProofTrace, Trace, read_trace, trace_file
from penstock.packet import TCP, TcpFlags, parse

ERROR = "8388608"
WARNING = "6291456"
CHECKED = ("-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE")

Make = Callable[[Path], Path]
RUNS: dict[str, tuple[Make, str]] = {
    "check": (searched, "openflow_v4"),
    "moving": (lambda folder: searched(folder, "scenarios/host_moves"), "openflow_v4"),
    "virtual": (fuzzed, "openflow_v4"),
    "live 1.3": (lambda folder: fuzzed(folder, controller=process(SWITCH13)), "openflow_v4"),
    "live 1.0": (lambda folder: fuzzed(folder, controller=process(SWITCH10), openflow="1.0"), "openflow_v1"),
    "verify": (proved, "openflow_v1"),
}


def tshark(capture: Path, *arguments: str) -> list[str]:
    """Return what tshark says of a capture, line by line."""
    tool = find_tool("tshark")
    done = subprocess.run(
        [tool, "-n", "-r", capture, *CHECKED, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.splitlines()


def fields(capture: Path, wanted: str, *names: str) -> list[list[str]]:
    """Return some fields of the packets that a filter lets through."""
    options = [option for name in names for option in ("-e", name)]
    return [line.split("\t") for line in tshark(capture, "-Y", wanted, "-T", "fields", *options)]


def captured(run: Path, folder: Path) -> Path:
    """Return the capture of a run, with which there was nothing wrong."""
    target = folder / "run.pcapng"
    # The trace of a proof has sets of packets, and only its controller knows which messages they lead to.
    is_proof = isinstance(read_trace(trace_file(run)), ProofTrace)
    _, remark = exported("pcap", run, *(["--run"] if is_proof else []), "-o", target)
    assert remark.startswith("Running ") and remark.count("\n") == 1 if is_proof else remark == ""
    return target


@pytest.fixture(scope="module", params=RUNS)
def run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, ryu_sources: Path
) -> tuple[Trace, Path, str]:
    assert ryu_sources.is_dir()
    make, protocol = RUNS[request.param]
    folder = tmp_path_factory.mktemp("run")
    path = make(folder)
    return read_trace(trace_file(path)), captured(path, folder), protocol


def test_each_control_message_is_dissected_and_no_other(run: tuple[Trace, Path, str]) -> None:
    trace, capture, protocol = run
    assert len(tshark(capture, "-Y", protocol)) == control_messages(trace) > 2
    assert tshark(capture, "-Y", "openflow and not (openflow_v1 or openflow_v4)") == []


def test_nothing_is_malformed_and_no_checksum_is_wrong(run: tuple[Trace, Path, str]) -> None:
    _, capture, _ = run
    assert tshark(capture, "-Y", "_ws.malformed") == []
    assert tshark(capture, "-Y", f"_ws.expert.severity == {ERROR}") == []
    assert tshark(capture, "-Y", "ip.checksum.status == 0 or tcp.checksum.status == 0") == []


def test_sequence_numbers_have_neither_gaps_nor_repetitions(run: tuple[Trace, Path, str]) -> None:
    _, capture, _ = run
    control = "frame.interface_name == control and "
    wrong = "tcp.analysis.lost_segment or tcp.analysis.retransmission or tcp.analysis.out_of_order or "
    wrong += "tcp.analysis.duplicate_ack or tcp.analysis.ack_lost_segment or tcp.analysis.window_full"
    assert tshark(capture, "-Y", f"{control}({wrong})") == []
    warned = fields(
        capture, f"{control}_ws.expert.severity == {WARNING}", "tcp.flags.reset", "_ws.expert.message"
    )
    # Of some messages of 1.0 Wireshark says that it does not look into them yet.
    assert all(reset == "1" or "not dissected yet" in told for reset, told in warned)


def test_each_frame_is_on_the_interface_of_its_link(run: tuple[Trace, Path, str]) -> None:
    trace, capture, _ = run
    sent = Counter(
        send.partition(" ")[0]
        for line in trace.lines
        for send in line.sends
        if send.partition(" ")[0].rpartition(":")[2].isdecimal()
    )
    seen = Counter(
        name for (name,) in fields(capture, "frame.interface_name != control", "frame.interface_name")
    )
    assert sum(seen.values()) == sum(sent.values())
    for name, many in seen.items():
        # A host that moved has sent on more links than one.
        assert 0 < many <= sum(sent[end] for end in name.split("-"))


def test_packets_are_in_the_order_of_their_steps_which_their_comments_tell(
    run: tuple[Trace, Path, str],
) -> None:
    trace, capture, _ = run
    rows = fields(capture, "frame.comment", "frame.time_epoch", "frame.comment")
    moments = [float(row[0]) for row in rows]
    assert moments == sorted(moments)
    told = [int(row[1].split()[1].rstrip(":")) for row in rows if row[1].startswith("step ")]
    assert told == sorted(told)
    at = {line.number: line.number if line.at is None else line.at for line in trace.lines}
    assert all(
        float(row[0]) * 1000 >= at[int(row[1].split()[1].rstrip(":"))] - 1e-6
        for row in rows
        if row[1].startswith("step ")
    )


@pytest.fixture(scope="module")
def virtual(tmp_path_factory: pytest.TempPathFactory, ryu_sources: Path) -> Path:
    assert ryu_sources.is_dir()
    return fuzzed(tmp_path_factory.mktemp("virtual"))


def test_a_session_that_breaks_is_reset_and_opens_on_a_new_port(virtual: Path, tmp_path: Path) -> None:
    capture = captured(virtual, tmp_path)
    resets = fields(capture, "tcp.flags.reset == 1", "ip.src", "tcp.srcport")
    opened = fields(
        capture, f"tcp.flags == 0x002 and tcp.dstport == {CONTROLLER_PORT}", "ip.src", "tcp.srcport"
    )
    assert len(resets) == 1 and len(opened) == 3
    assert resets[0] in opened and len({port for _, port in opened}) == 3
    assert [ip for ip, _ in opened].count(resets[0][0]) == 2


def test_addresses_have_the_names_of_components(virtual: Path, tmp_path: Path) -> None:
    capture = captured(virtual, tmp_path)
    tool = find_tool("tshark")
    done = subprocess.run(
        [tool, "-r", capture, "-Y", "openflow_v4", "-T", "fields", "-e", "ip.src_host", "-N", "n"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    # The addresses after the first are those of a packet inside.
    assert {line.partition(",")[0] for line in done.stdout.split()} == {"s1", "s2", "c0"}


def test_what_wireshark_cannot_read_of_1_0_open_vswitch_can(tmp_path: Path) -> None:
    """Its dissector takes for granted that there are actions, and bytes of a packet."""
    ofctl = find_tool("ovs-ofctl")
    trace = searched(tmp_path, "nice/bug_08")
    capture = captured(trace, tmp_path)
    assert len(tshark(capture, "-Y", "openflow_v1")) == control_messages(read_trace(trace))
    payloads = [
        bytes.fromhex(row[0]) for row in fields(capture, "openflow_v1 and _ws.malformed", "tcp.payload")
    ]
    assert payloads
    for octets in payloads:
        done = subprocess.run([ofctl, "ofp-print", octets.hex()], capture_output=True, text=True, check=True)
        assert done.stdout.startswith("OFPT_") and "***" not in done.stdout


def test_a_long_message_is_cut_into_segments_and_read_as_one(tmp_path: Path) -> None:
    talk = Conversation(Station("s1", 2, 0xC6120001), Station("c0", 4, 0xC6130001), 0)
    assert len(list(talk.open())) == 3
    message = bytes(range(256)) * 20
    segments = [parse(frame).find(TCP) for frame in talk.say("s1", message)]
    found = [segment for segment in segments if segment is not None]
    assert b"".join(segment.payload for segment in found) == message
    assert [bool(segment.flags & TcpFlags.PSH) for segment in found] == [False, False, False, True]
    talk.take("c0", len(message))
    answer = parse(talk.acknowledge("c0")).find(TCP)
    assert answer is not None and answer.ack == found[-1].seq + len(found[-1].payload)


def test_a_run_that_goes_another_way_is_captured_up_to_there(tmp_path: Path) -> None:
    def change(line: dict[str, object]) -> None:
        if line.get("step") == 8:
            line["sends"] = ["c0:s1 Nonsense"]

    strange = rewritten(searched(tmp_path), tmp_path / "strange.jsonl", change)
    target = tmp_path / "strange.pcapng"
    _, remark = exported("pcap", strange, "-o", target)
    assert "diverges at step 8" in remark
    seen = fields(target, "frame.comment", "frame.comment")
    assert seen[-1][0].startswith("step 7:")


def test_a_trace_that_was_cut_short_is_captured_as_far_as_it_goes(virtual: Path, tmp_path: Path) -> None:
    whole = (virtual / "trace.jsonl").read_bytes()
    header, _, rest = whole.partition(b"\n")
    table = json.loads(header)
    table["folder"] = str((virtual / table["folder"]).resolve())
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(json.dumps(table).encode() + b"\n" + rest[: len(rest) // 2])
    trace = read_trace(cut)
    assert trace.cut_short and 2 < control_messages(trace) < control_messages(
        read_trace(virtual / "trace.jsonl")
    )
    capture = captured(cut, tmp_path)
    assert len(tshark(capture, "-Y", "openflow_v4")) == control_messages(trace)


def test_a_trace_whose_controller_is_gone_is_refused_in_one_sentence(tmp_path: Path) -> None:
    def change(line: dict[str, object]) -> None:
        if "scenario" in line:
            scenario = line["scenario"]
            assert isinstance(scenario, dict)
            scenario["controller"] = {"apps": ["nowhere.py"]}

    orphan = rewritten(searched(tmp_path), tmp_path / "orphan.jsonl", change)
    assert exported("pcap", orphan, "-o", "-")[0], "what is looked at needs no controller"
    assert "nowhere.py" in refused("pcap", orphan, "--run", "-o", tmp_path / "x.pcapng")
    assert not list(tmp_path.glob("x.pcapng*"))


def test_the_same_run_gives_the_same_capture(virtual: Path) -> None:
    first, _ = exported("pcap", virtual, "-o", "-")
    second, _ = exported("pcap", virtual, "-o", "-")
    assert first == second and first[:4] == b"\x0a\x0d\x0d\x0a"
    assert INPUTS[0].encode() not in first
