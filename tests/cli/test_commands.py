"""The commands, as a person or a script uses them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from tests.cli.command_lab import penstock

from penstock._cli.main import commands

SWITCH = '''
from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PortNo


class Hub(Controller):
    """Floods every packet."""

    def switch_join(self, switch):
        self.install(switch, actions=(Output(PortNo.CONTROLLER),), priority=0)

    def packet_in(self, switch, message):
        self.packet_out(switch, message, FLOOD)


class Faulty(Hub):
    """Breaks on the first packet."""

    def packet_in(self, switch, message):
        raise KeyError(switch)


class FaultyJoin(Hub):
    """Breaks as soon as a switch joins."""

    def switch_join(self, switch):
        raise ValueError(switch)


class Quits(Hub):
    """Ends the program instead of handling a packet."""

    def packet_in(self, switch, message):
        raise SystemExit(0)


class Endless(Hub):
    """Never comes to an end."""

    def packet_in(self, switch, message):
        while True:
            pass


class Ordered(Hub):
    """Depends on the order in which it met two switches."""

    def __init__(self):
        self.met = {}

    def packet_in(self, switch, message):
        self.met[switch] = True
        if list(self.met) == ["s1", "s3", "s2"]:
            raise ValueError("in the wrong order")
        super().packet_in(switch, message)


class Refuses:
    def __init__(self):
        raise RuntimeError("not today")
'''

SCENARIO = """
topology = "ring,3"
properties = ["NoForwardingLoops", "ControllerCrash"]

[controller]
native = "hub.py:Hub"

[hosts.h1]
kind = "client"
to = "h2"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hub.py").write_text(SWITCH)
    (tmp_path / "loop.toml").write_text(SCENARIO)
    return tmp_path


def test_a_violation_is_told_as_a_story_and_written_as_a_trace(folder: Path) -> None:
    printed = penstock(folder, "check", "loop.toml", status=1)
    assert "  1. h1 sends h1#1 [UDP 10.0.0.1:7 > 10.0.0.2:7 1 byte]." in printed
    assert "Controller c0 handles s1's packet-in" in printed
    assert "NoForwardingLoops is violated: h1#1" in printed
    assert "penstock replay penstock-traces/loop-1.jsonl" in printed
    assert (folder / "penstock-traces" / "loop-1.jsonl").is_file()


def test_json_prints_one_object_with_what_the_design_names(folder: Path) -> None:
    found = json.loads(penstock(folder, "check", "loop.toml", "--json", status=1))
    assert found["result"] == "violation"
    assert {"states", "transitions", "seconds", "peak_rss_mb", "violations"} <= set(found)
    violation = found["violations"][0]
    assert violation["property"] == "NoForwardingLoops"
    assert violation["confirmed"] is True
    assert violation["steps"] == len((folder / violation["trace"]).read_text().splitlines()) - 3


def test_nothing_to_find_is_said_with_what_was_judged(folder: Path) -> None:
    printed = penstock(folder, "check", "loop.toml", "--topo", "linear,2", status=0)
    assert "every ordering was searched" in printed
    assert "NoForwardingLoops: judged" in printed


def test_a_property_that_was_never_exercised_is_pointed_out(folder: Path) -> None:
    printed = penstock(folder, "check", "loop.toml", "--topo", "linear,2", "-p", "DirectPaths", status=3)
    assert "DirectPaths: never exercised" in printed
    assert "No violation found, but DirectPaths was never exercised: it needs " in printed


def test_a_bound_without_a_violation_has_a_status_of_its_own(folder: Path) -> None:
    printed = penstock(folder, "check", "loop.toml", "--depth", "3", status=3)
    assert "stopped at depth 3" in printed


def test_a_trace_is_replayed_and_shown(folder: Path) -> None:
    told = penstock(folder, "check", "loop.toml", status=1).split("Replay it with")[0].splitlines()[2:-1]
    trace = "penstock-traces/loop-1.jsonl"
    assert penstock(folder, "replay", trace, status=1).splitlines() == [line for line in told if line]
    assert penstock(folder, "show", trace, status=0).splitlines() == [line for line in told if line]
    replayed = json.loads(penstock(folder, "replay", trace, "--json", status=1))
    assert replayed["reproduced"] is True
    assert replayed["diverged_at"] is None


def test_a_replay_that_differs_says_where(folder: Path) -> None:
    penstock(folder, "check", "loop.toml", status=1)
    fixed = SWITCH.replace("self.packet_out(switch, message, FLOOD)", "pass")
    (folder / "hub.py").write_text(fixed)
    printed = penstock(folder, "replay", "penstock-traces/loop-1.jsonl", "--trust", status=3)
    assert "The replay differs from the trace at step 3" in printed


def test_an_exception_in_a_handler_is_a_violation_with_its_traceback(folder: Path) -> None:
    (folder / "loop.toml").write_text(SCENARIO.replace("hub.py:Hub", "hub.py:Faulty"))
    found = subprocess.run(
        [sys.executable, "-m", "penstock", "check", "loop.toml"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 1
    assert "ControllerCrash is violated" in found.stdout
    assert "raise KeyError(switch)" in found.stdout


@pytest.mark.parametrize(
    ("controller", "broken", "told"),
    [
        ("FaultyJoin", "ControllerCrash", "raise ValueError(switch)"),
        ("Quits", "ControllerCrash", "SystemExit"),
        ("Endless", "ControllerHang", "packet_in: it computed for more than 2 s"),
        ("Ordered", "ControllerCrash", "in the wrong order"),
    ],
)
def test_a_controller_that_misbehaves_is_found(folder: Path, controller: str, broken: str, told: str) -> None:
    (folder / "loop.toml").write_text(SCENARIO.replace("hub.py:Hub", f"hub.py:{controller}"))
    command = [sys.executable, "-m", "penstock", "check", "loop.toml", "-p", broken]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert found.returncode == 1, found.stdout + found.stderr
    assert f"{broken} is violated" in found.stdout
    assert told in found.stdout
    again = json.loads(penstock(folder, "replay", "penstock-traces/loop-1.jsonl", "--json", status=1))
    assert again["reproduced"] is True


def test_a_property_broken_from_the_start_is_confirmed(folder: Path) -> None:
    (folder / "mine.py").write_text(
        "from penstock._properties.base import invariant\n\n\n"
        "@invariant(reads=('h1',))\ndef sent(h1):\n    return h1.sent == 7\n"
    )
    (folder / "loop.toml").write_text(f'{SCENARIO}\n[search]\nstart = "cold"\n')
    found = json.loads(penstock(folder, "check", "loop.toml", "-p", "mine.py:sent", "--json", status=1))
    assert found["violations"][0]["steps"] == 0
    assert found["violations"][0]["confirmed"] is True


def test_a_folder_that_cannot_be_written_to_is_named_before_the_search(folder: Path) -> None:
    (folder / "taken").touch()
    printed = penstock(folder, "check", "loop.toml", "-o", "taken", status=2)
    assert "Traces cannot be written to taken" in printed


def test_a_bound_judges_the_states_at_it(folder: Path) -> None:
    (folder / "mine.py").write_text(
        "from penstock._properties.base import at_rest\n\n\n@at_rest\ndef never(states):\n    return False\n"
    )
    common = ("check", "loop.toml", "--topo", "linear,2", "-p", "mine.py:never", "--json")
    steps = json.loads(penstock(folder, *common, status=1))["violations"][0]["steps"]
    for order in ("breadth-first", "depth-first"):
        found = penstock(folder, *common, "--depth", str(steps), "--order", order, status=1)
        assert json.loads(found)["violations"][0]["steps"] == steps
        penstock(folder, *common, "--depth", str(steps - 1), "--order", order, status=3)


def test_what_was_found_before_a_property_failed_is_kept(folder: Path) -> None:
    (folder / "mine.py").write_text(
        "from penstock._properties.base import Property, Violated\n\n\n"
        "class First(Property):\n"
        "    def see(self, record):\n        return record.node == 'h1' or None\n\n"
        "    def next(self, state, seen):\n        raise Violated('h1 did something')\n\n\n"
        "class Late(Property):\n"
        "    def see(self, record):\n"
        "        if record.node == 's1' and 'h3#' in str(record.message):\n            return 1 / 0\n"
    )
    both = ("-p", "mine.py:First", "-p", "mine.py:Late")
    (folder / "loop.toml").write_text(SCENARIO + '[hosts.h3]\nkind = "client"\nto = "h2"\n')
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "check", "loop.toml", "--topo", "single,3", "--all", *both],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "The property Late raised ZeroDivisionError" in done.stderr
    assert (folder / "penstock-traces" / "loop-1.jsonl").is_file()


def test_a_walk_is_decided_by_its_seed(folder: Path) -> None:
    runs = [
        json.loads(penstock(folder, "walk", "loop.toml", "--json", "--seed", "4", status=1)) for _ in "ab"
    ]
    for run in runs:
        del run["seconds"], run["peak_rss_mb"]
    assert runs[0] == runs[1]


def test_stepping_by_hand_looks_around_and_goes_back(folder: Path) -> None:
    typed = "1\nlook h1\nqueues\nback\nstory\n99\nnonsense\nquit\n"
    printed = penstock(folder, "step", "loop.toml", status=0, typed=typed)
    assert "  1. h1 sends h1#1" in printed
    assert "HostState(sent=1" in printed
    assert "h1:0: h1#1" in printed
    assert "nothing has happened yet" in printed
    assert "There is no transition 99" in printed
    assert "'nonsense' is no transition of this network" in printed


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("topology", "topolgy"), "unknown key 'topolgy' in the scenario: did you mean 'topology'?"),
        (('"ring,3"', '"rnig,3"'), "unknown topology 'rnig,3'"),
        (("hub.py:Hub", "hub.py:Hbu"), "hub.py has no 'Hbu'"),
        (("hub.py:Hub", "none.py:Hub"), "There is no file none.py"),
        (
            ("hub.py:Hub", "hub.py:Refuses"),
            "hub.py:Refuses raised RuntimeError: not today at hub.py:",
        ),
        (('kind = "client"', 'kind = "clint"'), "unknown kind of host 'clint'"),
        (('to = "h2"', 'to = "h9"'), "unknown host 'h9' for h1"),
        (("[hosts.h1]", "[hosts.h7]"), "h7"),
        (('"NoForwardingLoops"', '"NoForwardingLoop"'), "did you mean 'NoForwardingLoops'?"),
        (
            ("[controller]", "[faults]\nlink_failures = -1\n[controller]"),
            "link_failures = -1 in [faults]",
        ),
        (("[controller]", "[search]\ndepth = 0\n[controller]"), "invalid depth = 0 in [search]: must be"),
        (("[controller]", "[controller"), "is not valid TOML"),
        (('topology = "ring,3"', 'topology = "ring,3"\nname = "../up"'), "invalid scenario name"),
        (('"ring,3"', "5"), "in the scenario: must be"),
        (('["NoForwardingLoops", "ControllerCrash"]', "[5]"), "in the scenario: must be"),
        (("[controller]", '[search]\ncompact = "no"\n[controller]'), "must be true or false"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(folder: Path, change: tuple[str, str], sentence: str) -> None:
    (folder / "loop.toml").write_text(SCENARIO.replace(*change))
    printed = penstock(folder, "check", "loop.toml", status=2)
    assert sentence in printed
    assert len(printed.strip().splitlines()) == 1


def test_a_property_that_raises_is_at_fault_itself(folder: Path) -> None:
    (folder / "mine.py").write_text(
        "from penstock._properties.base import Property\n\n\n"
        "class Mine(Property):\n    def see(self, record):\n        return 1 / 0\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "check", "loop.toml", "-p", "mine.py:Mine"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "return 1 / 0" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("penstock: The property Mine raised ZeroDivisionError")


def test_ctrl_c_stops_the_search_and_says_what_was_covered(folder: Path) -> None:
    os.mkfifo(folder / "started")
    (folder / "mine.py").write_text(
        "from penstock._properties.base import Property\n\n\n"
        "class Mine(Property):\n"
        "    told = []\n\n"
        "    def see(self, record):\n"
        "        if record.node == 'h1' and not self.told:\n"
        "            self.told.append(open('started', 'w').write('yes'))\n"
    )
    endless = SCENARIO.replace("ring,3", "linear,3").replace('to = "h2"', 'to = "h3"\ncount = 60')
    (folder / "loop.toml").write_text(endless)
    command = [sys.executable, "-m", "penstock", "check", "loop.toml", "-p", "mine.py:Mine"]
    # Whoever runs the tests in the background may have Ctrl-C ignored, and children inherit that.
    launcher = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
        "os.execv(sys.argv[1], sys.argv[1:])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", launcher, *command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            assert (folder / "started").read_text() == "yes"
            running.send_signal(signal.SIGINT)
            printed, complained = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == 3, complained
    assert "stopped at Ctrl-C" in printed
    assert "states, " in printed
    assert "Traceback" not in complained


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "is not a trace, or was cut in its first line"),
        (b"hello\n", "is not a trace, or was cut"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"[" * 100_000, "is not a trace, or was cut"),
        (b'{"format": "other"}\n', "its first line does not say"),
        (b'{"format": "penstock-trace", "version": 9}\n', "this Penstock reads version 2"),
        (b'{"format": "penstock-trace", "version": 2}\n', "no scenario in its first line"),
        (
            b'{"format": "penstock-trace", "version": 2, "scenario": {}, "folder": "."}\n{"step": "x"}\n',
            "the trace is damaged",
        ),
    ],
)
def test_a_stranger_s_file_is_refused_in_one_sentence(folder: Path, text: bytes, sentence: str) -> None:
    (folder / "strange.jsonl").write_bytes(text)
    printed = penstock(folder, "show", "strange.jsonl", status=2)
    assert sentence in printed
    assert len(printed.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("check",), "Missing argument 'SCENARIO': see penstock check --help."),
        (
            ("export",),
            "Missing argument 'FORMAT'. Choose from: pcap, shiviz, dot, mermaid, itf, junit, sarif: see ",
        ),
        (("doctor", "x"), "Got unexpected extra argument (x): see penstock doctor --help."),
        (("check", "loop.toml", "--ping", "h1,h1"), "invalid --ping 'h1,h1': write it as h1,h2."),
        (("show", "."), "There is no trace.jsonl in .: give a trace, or the folder of a run."),
    ],
    ids=str,
)
def test_a_wrong_command_line_is_told_in_one_line_with_the_way_on(
    folder: Path, command: tuple[str, ...], sentence: str
) -> None:
    printed = penstock(folder, *command, status=2)
    assert printed.startswith(f"penstock: {sentence}")
    assert len(printed.strip().splitlines()) == 1


def test_without_a_command_all_of_them_are_listed(folder: Path) -> None:
    assert penstock(folder, status=2).startswith("Usage: penstock ")


def test_control_characters_of_a_stranger_s_trace_do_not_reach_the_terminal(folder: Path) -> None:
    penstock(folder, "check", "loop.toml", status=1)
    trace = folder / "penstock-traces" / "loop-1.jsonl"
    evil = "\\u001b]0;evil\\u0007\\u009b2J\\r"
    text = (
        trace.read_text()
        .replace("h1 sends", f"{evil}h1 sends")
        .replace('"message": "h1#1 (', f'"message": "{evil}(')
    )
    trace.write_text(text)
    shown = penstock(folder, "show", str(trace), status=0)
    assert "evil" in shown
    assert not set(shown) & set("\x1b\x07\x9b\r")
    # The verdict was tampered with too, so it does not come again.
    replayed = penstock(folder, "replay", str(trace), status=3)
    assert not set(replayed) & set("\x1b\x07\x9b\r")


def test_runs_with_other_hash_seeds_find_the_same_counts_and_traces(folder: Path) -> None:
    found = []
    for seed in ("0", "12345"):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "penstock",
                "check",
                "loop.toml",
                "--json",
                "--all",
                "-o",
                f"traces-{seed}",
            ],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        )
        report = json.loads(done.stdout)
        traces = [Path(folder / v["trace"]).read_bytes() for v in report["violations"]]
        found.append((report["states"], report["transitions"], report["exercised"], traces))
    assert found[0] == found[1]


_LISTED = """
import sys
from penstock._cli.main import commands
commands(["--help"], standalone_mode=False)
print(sorted(each for each in sys.modules if each.startswith(("penstock._world", "z3", "os_ken"))))
"""


def test_the_list_of_commands_waits_for_none_of_them() -> None:
    done = subprocess.run([sys.executable, "-c", _LISTED], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\n[]\n")
    for name in commands.list_commands(click.Context(commands)):
        assert commands.get_command(click.Context(commands), name) is not None
        assert f"\n  {name} " in done.stdout
