"""Looking at a stranger's trace runs nothing that it names; running it again takes the user's consent."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.cli.hostile_traces import APP, CANARY, HOSTILE, Hostile, canary_code, hostile_run, real_trace

from penstock._api import minimize, replay
from penstock._base.users_code import load_file, nothing_runs
from penstock._cli.main import commands
from penstock._report.serving import serving
from penstock._scenario.scenario import scenario_of
from penstock._trace.consent import Consent, consent_given, runnable
from penstock._trace.trace import read_trace
from penstock.errors import PenstockError

LOOKING = (
    ("show",),
    ("show", "--whole", "--picture"),
    ("report", "-o", "-OUT-"),
    ("report", "--json"),
    ("report", "--no-states", "--json"),
    *(
        ("export", name, "-o", "-OUT-")
        for name in ("pcap", "shiviz", "dot", "mermaid", "itf", "junit", "sarif")
    ),
    ("export", "mermaid", "--picture", "network", "-o", "-OUT-"),
    ("trace-packet",),
    ("trace-packet", "--from", "h1", "--to", "h2"),
    ("openflow",),
    ("openflow", "--reduce"),
    ("diff",),
    ("plot",),
    ("bugs",),
)
RUNNING = (("replay",), ("minimize",), ("step", "--plain"))
NEEDS_CODE = ("export pcap", "export itf", "openflow", "trace-packet --from")
"""What may be refused, in one sentence, where a trace does not carry enough."""


def said(arguments: tuple[str, ...], trace: Path, typed: str = "") -> Result:
    """Run a command on a trace; nothing but one sentence may go wrong."""
    words = [str(trace.parent / "out.file") if word == "-OUT-" else word for word in arguments]
    places = [trace, trace] if arguments[0] == "diff" else [trace]
    if arguments[0] in ("plot", "bugs"):
        places = [trace.parent]
    result = CliRunner().invoke(commands, [*words, *map(str, places)], standalone_mode=False, input=typed)
    error = result.exception
    assert error is None or isinstance(error, PenstockError), result.exc_info
    return result


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Give a trace of our own of each engine."""
    return {engine: real_trace(tmp_path_factory.mktemp(engine), engine) for engine in ("check", "fuzz")}


@pytest.fixture(autouse=True)
def fresh_modules() -> Iterator[None]:
    """Leave no module behind that a test has loaded: the next one has others of the same names."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if "/pytest-" in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand where modules can be imported from the folder of the run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "run")


def named(hostile: Hostile) -> str:
    return hostile.name


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("hostile", HOSTILE, ids=named)
def test_no_look_at_a_strangers_trace_runs_anything(
    hostile: Hostile, real: dict[str, Path], tmp_path: Path
) -> None:
    trace = hostile_run(tmp_path / "run", hostile, real[hostile.engine])
    for arguments in LOOKING:
        result = said(arguments, trace)
        assert not (trace.parent / CANARY).exists(), arguments
        if result.exception is not None:
            text = str(result.exception)
            assert text.endswith((".", "…", "?")) and "\n" not in text
            assert arguments[0] in ("plot", "bugs") or " ".join(arguments).startswith(NEEDS_CODE), text
        else:
            assert result.output.strip()


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("hostile", HOSTILE, ids=named)
@pytest.mark.parametrize("command", RUNNING, ids=" ".join)
def test_a_strangers_trace_is_not_run_again_unasked(
    hostile: Hostile, command: tuple[str, ...], real: dict[str, Path], tmp_path: Path
) -> None:
    trace = hostile_run(tmp_path / "run", hostile, real[hostile.engine])
    result = said(command, trace)
    assert not (trace.parent / CANARY).exists()
    assert isinstance(result.exception, PenstockError)
    text = str(result.exception)
    assert "\n" not in text and text.endswith(".")
    if "where nobody can choose the steps" not in text:
        assert text.startswith("run.jsonl ") and "this would run " in text and "--trust" in text


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("hostile", [each for each in HOSTILE if each.is_loaded], ids=named)
def test_what_is_agreed_to_runs_and_is_named_before(
    hostile: Hostile, real: dict[str, Path], tmp_path: Path
) -> None:
    trace = hostile_run(tmp_path / "run", hostile, real[hostile.engine])
    result = said(("report", "--run", "-o", "-OUT-"), trace)
    assert (trace.parent / CANARY).exists()
    assert result.stderr.startswith("Running ") and "evil" in result.stderr.splitlines()[0]


def forget_loaded(folder: Path) -> None:
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(folder)):
            del sys.modules[name]


# What traces carry.


def test_a_report_without_any_code_at_hand_is_whole(real: dict[str, Path], tmp_path: Path) -> None:
    for engine, trace in real.items():
        alone = tmp_path / engine / "run.jsonl"
        alone.parent.mkdir()
        shutil.copy(trace, alone)
        document = json.loads(said(("report", "--json"), alone).output)
        assert document["states"] and document["states_until"] is None
        assert [node["name"] for node in document["topology"]["nodes"] if node["kind"] == "switch"]
        assert any(step["changes"] for step in document["steps"])
        (remark,) = document["remarks"]
        assert remark == (
            "The controller's state is not shown, since nothing was run: --run runs own.py for it."
        )


def test_a_network_from_a_file_is_drawn_without_the_file(tmp_path: Path) -> None:
    from penstock._check.check import check
    from penstock._scenario.scenario import Scenario

    (tmp_path / "own.py").write_text(APP)
    (tmp_path / "drawn.py").write_text(
        "from mininet.topo import Topo\nclass Drawn(Topo):\n    def build(self):\n"
        "        for s in 'left7', 'right9': self.addSwitch(s)\n"
        "        self.addLink('left7', 'right9'); self.addLink('left7', 'right9')\n"
        "        for h in 'ann', 'bob': self.addHost(h)\n"
        "        self.addLink('ann', 'left7'); self.addLink('bob', 'right9')\n"
    )
    hosts = {"ann": {"kind": "ping", "to": "bob"}}
    table: dict[str, Any] = {"topology": {"mininet": "drawn.py"}, "controller": {"native": "own.py:Program"}}
    (finding, *_) = check(Scenario(**table, hosts=hosts, folder=tmp_path), output=tmp_path / "out").findings
    assert finding.trace is not None
    (tmp_path / "drawn.py").unlink()
    document = json.loads(said(("report", "--json"), finding.trace).output)
    assert {node["name"] for node in document["topology"]["nodes"]} == {"ann", "bob", "left7", "right9", "c0"}
    assert len(document["topology"]["links"]) == 4 and document["states"]
    drawn = said(("export", "dot", "-o", "-"), finding.trace)
    assert "left7" in drawn.output


def test_what_a_trace_carries_is_what_its_controller_would_say_again(
    real: dict[str, Path], tmp_path: Path
) -> None:
    for engine, trace in real.items():
        inert, run = tmp_path / f"{engine}.pcapng", tmp_path / f"{engine}-run.pcapng"
        for into, more in ((inert, ()), (run, ("--run",))):
            result = CliRunner().invoke(
                commands, ["export", "pcap", str(trace), "-o", str(into), *more], standalone_mode=False
            )
            assert result.exception is None
        assert inert.read_bytes() == run.read_bytes()


# Our own traces.


FLOODING = "from penstock import FLOOD as WORD\n"


def own(folder: Path, helper: str = FLOODING) -> Path:
    """Return a trace of a controller with a module of its own beside it."""
    folder.mkdir(exist_ok=True)
    (folder / "helper_of_own.py").write_text(helper)
    (folder / "own.py").write_text(
        "from helper_of_own import WORD\n" + APP.replace("message, FLOOD", "message, WORD")
    )
    (folder / "own.toml").write_text(
        'topology = "ring,3"\n[controller]\nnative = "own.py:Program"\n[hosts.h1]\nkind = "ping"\nto = "h2"\n'
    )
    result = CliRunner().invoke(
        commands, ["check", str(folder / "own.toml"), "-o", str(folder)], standalone_mode=False
    )
    assert result.return_value == 1, result.output
    forget_loaded(folder)
    return folder / "own-1.jsonl"


@pytest.mark.parametrize("command", [("replay",), ("step", "--plain")], ids=" ".join)
def test_our_own_trace_runs_again_without_a_word(command: tuple[str, ...], tmp_path: Path) -> None:
    assert said(command, own(tmp_path / "run"), "quit\n").exception is None


def test_a_run_that_is_moved_as_a_whole_is_still_our_own(tmp_path: Path) -> None:
    own(tmp_path / "run")
    shutil.move(tmp_path / "run", tmp_path / "elsewhere")
    assert said(("replay",), tmp_path / "elsewhere" / "own-1.jsonl").return_value == 1


@pytest.mark.parametrize("file", ["own.py", "helper_of_own.py"])
def test_code_that_has_changed_since_is_asked_about(file: str, tmp_path: Path) -> None:
    trace = own(tmp_path / "run")
    (trace.parent / file).write_text((trace.parent / file).read_text() + canary_code(trace.parent))
    refused = said(("replay",), trace).exception
    assert str(refused) == (
        f"{file} changed since own-1.jsonl was recorded, and this would run own.py: "
        "give --trust if you trust that."
    )
    assert not (trace.parent / CANARY).exists()
    assert said(("replay", "--trust"), trace).return_value == 1
    assert (trace.parent / CANARY).exists()


def test_a_module_that_was_not_there_is_asked_about(tmp_path: Path) -> None:
    trace = own(tmp_path / "run")
    (trace.parent / "helper_of_own.py").unlink()
    (trace.parent / "helper_of_own").mkdir()
    (trace.parent / "helper_of_own" / "__init__.py").write_text(FLOODING + canary_code(trace.parent))
    assert "changed since" in str(said(("replay",), trace).exception)
    assert not (trace.parent / CANARY).exists()


def test_a_module_that_is_imported_by_its_name_alone_counts(tmp_path: Path) -> None:
    hidden = "import importlib\nWORD = importlib.import_module('hidden_' + 'one').WORD\n"
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "hidden_one.py").write_text(FLOODING)
    trace = own(tmp_path / "run", hidden)
    assert "hidden_one.py" in json.loads(trace.read_text().splitlines()[0])["code"]


@pytest.mark.parametrize("key", ["scenario", "code", "seal"])
def test_a_header_that_was_changed_is_no_longer_ours(key: str, tmp_path: Path) -> None:
    trace = own(tmp_path / "run")
    first, *lines = trace.read_text().splitlines()
    header = json.loads(first)
    header[key] = {
        "scenario": {**header["scenario"], "name": "other"},
        "code": {**header["code"], "more.py": ""},
        "seal": "0" * 64,
    }[key]
    trace.write_text("\n".join([json.dumps(header), *lines]) + "\n")
    assert str(said(("replay",), trace).exception).startswith("own-1.jsonl was not recorded here, and ")


def test_another_users_trace_is_asked_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = own(tmp_path / "run")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "theirs"))
    assert "was not recorded here" in str(said(("replay",), trace).exception)
    key = tmp_path / "theirs" / "penstock" / "key"
    assert key.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("spoilt", ["readable by others", "a link", "too short"])
def test_a_key_that_others_may_know_seals_nothing(
    spoilt: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "states" / "penstock" / "key"
    key.parent.mkdir(parents=True)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    real = tmp_path / "real" if spoilt == "a link" else key
    real.write_bytes(b"k" * (8 if spoilt == "too short" else 32))
    real.chmod(0o644 if spoilt == "readable by others" else 0o600)
    if spoilt == "a link":
        key.symlink_to(real)
    trace = own(tmp_path / "run")
    assert json.loads(trace.read_text().splitlines()[0])["seal"] == ""
    assert "was not recorded here" in str(said(("replay",), trace).exception)


# Who is asked, and how.


def test_without_a_terminal_the_status_is_2(real: dict[str, Path], tmp_path: Path) -> None:
    trace = hostile_run(tmp_path / "run", HOSTILE[14], real["fuzz"])
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "replay", str(trace)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        "penstock: run.jsonl was not recorded here, and this would run "
        f"the command 'touch {trace.parent / CANARY}': give --trust if you trust that.\n"
    )
    assert not (trace.parent / CANARY).exists()


def test_what_would_run_is_told_without_steering_the_terminal(real: dict[str, Path], tmp_path: Path) -> None:
    names = {"native": "\x1b[2J\nevil.py:Program"}
    trace = hostile_run(tmp_path / "run", Hostile("", lambda _: {"controller": names}), real["check"])
    text = str(said(("replay",), trace).exception)
    assert "this would run \\x1b[2J\\nevil.py: give" in text


@pytest.mark.parametrize(("answer", "runs"), [("n", False), ("y", True)])
def test_on_a_terminal_the_user_is_asked(answer: str, runs: bool, tmp_path: Path) -> None:
    trace = own(tmp_path / "run")
    (trace.parent / "own.py").write_text((trace.parent / "own.py").read_text() + canary_code(trace.parent))
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "penstock", "replay", str(trace)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        text = everything_from(ours)
    assert "own.py changed since own-1.jsonl was recorded.  Run own.py? [y/N]" in text
    assert (trace.parent / CANARY).exists() is runs
    assert process.returncode == (1 if runs else 2)


def everything_from(terminal: int) -> str:
    """Return all that is printed on a terminal until nobody is there any more."""
    found = b""
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:
            break
        if not data:
            break
        found += data
    os.close(terminal)
    return found.decode()


def test_a_program_says_that_it_trusts_a_trace(real: dict[str, Path], tmp_path: Path) -> None:
    trace = hostile_run(tmp_path / "run", HOSTILE[0], real["check"])
    for function in (replay, minimize):
        with pytest.raises(PenstockError, match=r"was not recorded here, and .*: give trust=True if"):
            function(trace)
    assert not (trace.parent / CANARY).exists()
    replay(trace, trust=True)
    assert (trace.parent / CANARY).exists()


def test_a_served_report_runs_nothing(real: dict[str, Path], tmp_path: Path) -> None:
    from urllib.request import urlopen

    for number, hostile in enumerate(HOSTILE[:16:3]):
        trace = hostile_run(tmp_path / f"run{number}", hostile, real[hostile.engine])
        with serving(trace) as (address, _):
            with urlopen(f"{address}document.json") as answer:
                assert json.load(answer)["format"] == "penstock-report"
            with urlopen(address) as answer:
                assert b"<html" in answer.read()
        assert not (trace.parent / CANARY).exists()


# The barrier itself.


def test_the_scenario_of_a_trace_is_built_with_a_consent_only(real: dict[str, Path]) -> None:
    trace = read_trace(real["check"])
    with pytest.raises(TypeError, match="needs a Consent"):
        scenario_of(trace.scenario, Path())  # type: ignore[arg-type]
    with pytest.raises(PenstockError, match="changed since it was agreed to"):
        runnable(trace, real["check"].parent, Consent("another"))
    assert runnable(trace, real["check"].parent, consent_given(trace)).name == "scenario"


def test_nothing_is_loaded_while_a_file_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text(canary_code(tmp_path))
    with nothing_runs(), pytest.raises(PenstockError, match="only reads the trace"):
        load_file(tmp_path / "evil.py", "test")
    assert not (tmp_path / CANARY).exists()
