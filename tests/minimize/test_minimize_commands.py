"""`penstock replay` and `penstock minimize`, as a user types them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.minimize.minimize_lab import app_in_a_process, fuzzed, moving_hosts, performed

from penstock._api import replay
from penstock._cli.main import commands
from penstock._replay.live import LiveReproducer
from penstock._replay.live_play import Waiting
from penstock._replay.recording import load_script


def penstock(*words: str) -> tuple[int, str]:
    """Run a command; return its exit status and what it printed."""
    result = CliRunner().invoke(commands, words, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert isinstance(result.return_value, int)
    return result.return_value, result.stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return moving_hosts(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def minimal(run: Path) -> Path:
    status, printed = penstock("minimize", str(run))
    assert status == 1
    assert "  1. send" in printed and "  2. move" in printed
    assert "inputs to 2, none of which can be left out" in printed
    return run / "minimal"


def test_a_run_is_replayed_by_its_folder(run: Path) -> None:
    status, printed = penstock("replay", str(run))
    assert status == 1
    assert "lines matched" in printed
    assert "NoBlackHoles is violated again" in printed
    status, printed = penstock("replay", str(run / "trace.jsonl"), "--json")
    found = json.loads(printed)
    assert (status, found["reproduced"], found["diverged_at"]) == (1, True, None)


def test_a_run_without_a_violation_goes_alike(tmp_path: Path) -> None:
    status, printed = penstock("replay", str(fuzzed(tmp_path, events=5, rates={"migration": 0})))
    assert status == 0
    assert "lines matched" in printed


def test_the_minimal_sequence_is_written_to_be_read_and_replayed(minimal: Path) -> None:
    assert len((minimal / "inputs.txt").read_text().splitlines()) == 2
    again = str(minimal / "again")
    status, printed = penstock("fuzz", str(minimal / "scenario.toml"), "-o", again, "--json")
    found = json.loads(printed)
    assert (status, found["stopped_by"]) == (1, "the first persistent violation")
    summary = json.loads((minimal / "summary.json").read_text())
    assert summary["size"] == 2 and summary["property"] == "NoBlackHoles"
    status, printed = penstock("replay", str(minimal))
    assert status == 1
    assert "lines matched, after 2 inputs" in printed


def test_the_written_test_fails_until_the_controller_is_mended(minimal: Path, tmp_path: Path) -> None:
    (test,) = minimal.glob("test_*.py")
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(minimal),
        str(test),
    ]
    broken = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert broken.returncode == 1
    assert "does not reach" in broken.stdout
    # A controller that forgets nobody, because it learns nothing: it floods whatever comes.
    mended = tmp_path / "mended"
    mended.mkdir()
    (mended / "flood.py").write_text(FLOODING)
    lines = (minimal / "trace.jsonl").read_text().splitlines()
    header = json.loads(lines[0])
    header["scenario"]["controller"] = {"native": "flood.py:Flooding"}
    header["folder"] = "."
    (mended / "trace.jsonl").write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
    (mended / test.name).write_text(test.read_text())
    words[-2:] = [str(mended), str(mended / test.name)]
    fixed = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert fixed.returncode == 0, fixed.stdout


@pytest.mark.parametrize("wide", [False, True])
def test_a_trace_says_whether_any_violation_of_its_invariant_will_do(
    run: Path, tmp_path: Path, wide: bool
) -> None:
    penstock("minimize", str(run), "-o", str(tmp_path), *["--wide"] * wide)
    path = tmp_path / "minimal" / "trace.jsonl"
    assert not replay(path, exact=False).ok
    # As if other hosts had been said not to reach each other.
    changed = re.sub(r"h\d does not reach h\d", "h8 does not reach h9", path.read_text())
    path.write_text(changed)
    assert replay(path, exact=False).ok is not wide


FLOODING = """
from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PortNo


class Flooding(Controller):
    def switch_join(self, switch):
        self.install(switch, actions=(Output(PortNo.FLOOD),), priority=0)
"""


def test_what_cannot_be_reproduced_is_said(minimal: Path, tmp_path: Path) -> None:
    lines = (minimal / "trace.jsonl").read_text().splitlines()
    header = json.loads(lines[0])
    header["scenario"]["topology"] = "linear,1"
    header["folder"] = "."
    (tmp_path / "trace.jsonl").write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
    status, printed = penstock("minimize", str(tmp_path), "--trust")
    assert status == 3
    assert "does not reproduce the violation. The first difference is at line" in printed
    status, printed = penstock("minimize", str(tmp_path), "--trust", "--json")
    assert (status, json.loads(printed)["result"]) == (3, "not reproduced")


# A violation that lasts long enough for a hasty look, but not for good.

PASSING = """
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls


class Passing(app_manager.OSKenApp):
    \"\"\"Drops what comes from h1 for two seconds, and for good once h2 has spoken too.\"\"\"

    heard = False

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def joined(self, event):
        self.add(event.msg.datapath, 0, event.msg.datapath.ofproto.OFPP_CONTROLLER)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def asked(self, event):
        if event.msg.match["in_port"] == 1:
            Passing.heard = True
            self.add(event.msg.datapath, 8, 7, 2, in_port=1)
        elif Passing.heard:
            self.add(event.msg.datapath, 9, 7, in_port=1)

    def add(self, path, priority, port, seconds=0, **match):
        parser, ofproto = path.ofproto_parser, path.ofproto
        actions = [parser.OFPActionOutput(port, 128)]
        apply = [parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions)]
        rule = {"match": parser.OFPMatch(**match), "instructions": apply, "hard_timeout": seconds}
        path.send_msg(parser.OFPFlowMod(path, priority=priority, **rule))
"""


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a process in which half of the inputs breaks something for a moment."""
    folder = tmp_path_factory.mktemp("hasty")
    scenario = app_in_a_process(folder, PASSING, persistent_ms=4000, check_every=100)
    return performed(folder / "runs", scenario, "send h1 to h2 ping", "send h2 to h1 ping", "check")


def test_a_result_that_does_not_stand_is_found_again_with_care(hasty: Path) -> None:
    script = load_script(hasty)
    assert LiveReproducer(script).run(script.inputs[:1]).reproduced
    assert not LiveReproducer(script, waiting=Waiting(careful=True)).run(script.inputs[:1]).reproduced
    status, printed = penstock("minimize", str(hasty), "--json")
    assert (status, json.loads(printed)["size"]) == (1, 2)
    inputs = (hasty / "minimal" / "inputs.txt").read_text().splitlines()
    assert [text.split()[:2] for text in inputs] == [["send", "h1"], ["send", "h2"]]


def test_a_trace_without_a_suffix_is_minimised_beside_it(run: Path, tmp_path: Path) -> None:
    trace = tmp_path / "found"
    trace.write_text((run / "trace.jsonl").read_text())
    assert penstock("minimize", str(trace))[0] == 1
    assert (tmp_path / "found-minimised" / "minimal" / "trace.jsonl").is_file()


def test_a_look_ahead_leads_to_as_few_inputs(run: Path, tmp_path: Path) -> None:
    status, printed = penstock("minimize", str(run), "--peek", "-o", str(tmp_path), "--json")
    assert (status, json.loads(printed)["size"]) == (1, 2)


def test_a_proof_with_real_processes_is_refused_before_anything_is_played(
    hasty: Path, tmp_path: Path
) -> None:
    told = CliRunner().invoke(commands, ["minimize", str(hasty), "-o", str(tmp_path / "out"), "--shortest"])
    assert str(told.exception) == "Replays of real processes prove nothing: leave out --shortest."
    assert not (tmp_path / "out").exists()


def test_a_live_replay_waits_as_it_is_told(hasty: Path) -> None:
    status, printed = penstock("replay", str(hasty), "--careful", "--epsilon", "200", "--json")
    assert (status, json.loads(printed)["reproduced"]) == (1, True)


def test_what_is_being_done_is_told_from_the_first_moment(run: Path, tmp_path: Path) -> None:
    words = ["minimize", str(run), "-o", str(tmp_path / "out")]
    told = CliRunner().invoke(commands, words, standalone_mode=False).stderr.splitlines()
    assert told[0] == "reading the trace …"
    assert told[1].startswith("all inputs: replaying ")
    assert told[-1].startswith("writing the minimal sequence … (")
    phases = [line.partition(":")[0] for line in told]
    assert {"units", "single inputs"} <= set(phases)
    quiet = CliRunner().invoke(commands, [*words, "--json"], standalone_mode=False)
    assert quiet.stderr == ""


def test_replays_with_processes_say_what_is_started(hasty: Path, tmp_path: Path) -> None:
    script = load_script(hasty)
    told: list[str] = []
    LiveReproducer(script, announce=told.append).run(script.inputs[:1], tries=1)
    LiveReproducer(script, announce=told.append).with_script(script)._tell(2, 1, 3)
    assert told == ["starting c0 and playing 1 input", "starting c0 and playing 2 inputs, try 1 of 3"]
