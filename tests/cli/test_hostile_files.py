"""Whatever a disk, an app, a trace or a folder is like: one sentence, nothing lost, nothing overwritten."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command_lab import penstock
from tests.disk_lab import fill, small_disk
from tests.malicious_traces import STEERING, shapes, steering, write_hostile

from penstock._api import check
from penstock._base.reading import LONGEST_LINE

APP = """
import os
from penstock._controllers.controller import Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PortNo

class App(Controller):
    def switch_join(self, switch):
        self.install(switch, actions=(Output(PortNo.CONTROLLER),), priority=0)

    def packet_in(self, switch, message):
        {does}
"""
SCENARIO = """
topology = "single,2"
[controller]
native = "app.py:App"
[hosts.h1]
kind = "client"
to = "h2"
"""


def scenario(folder: Path, does: str = "raise KeyError('no such thing')") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "app.py").write_text(APP.format(does=does), encoding="utf-8")
    (folder / "some.toml").write_text(SCENARIO)
    return folder


def is_clean(text: str) -> bool:
    return all(c == "\n" or c.isprintable() for c in text)


# Disks.


@pytest.mark.parametrize("command", ["check", "walk", "verify"])
@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_a_finding_is_told_in_full_whatever_the_disk_takes(tmp_path: Path, command: str, kind: str) -> None:
    folder = scenario(tmp_path / "app")
    given = ["-p", "ControllerCrash"] if command == "verify" else []
    with small_disk(tmp_path / "disk", *(["ro"] if kind == "read-only" else [])) as disk:
        if kind == "full":
            fill(disk)
        said = penstock(folder, command, "some.toml", *given, "-o", str(disk / "traces"), status=1)
        assert not list(disk.rglob("*.part"))
    assert "ControllerCrash" in said and "no such thing" in said and "1 violation found." in said
    (sentence,) = (line for line in said.splitlines() if line.startswith("penstock:"))
    assert "cannot be written" in sentence
    assert ("No space left on device; make room" if kind == "full" else "Read-only file system") in sentence


def test_a_violation_is_not_left_out_of_what_ci_reads(tmp_path: Path) -> None:
    folder = scenario(tmp_path / "app")
    with small_disk(tmp_path / "disk", "ro") as disk:
        penstock(folder, "check", "some.toml", "-o", str(disk), "--junit", "junit.xml", status=1)
    assert not (folder / "junit.xml").exists()
    with small_disk(tmp_path / "other", "ro") as disk:
        said = penstock(folder, "check", "some.toml", "--junit", str(disk / "junit.xml"), status=1)
    assert "1 violation found." in said and "Read-only file system" in said


def test_an_output_that_takes_no_more_does_not_change_the_verdict(tmp_path: Path) -> None:
    folder = scenario(tmp_path / "app")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "penstock", "check", "some.toml"],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 1
    told = "penstock: Cannot write to the standard output: No space left on device; make room, or "
    assert done.stderr.strip().splitlines()[-1].startswith(told)
    assert (folder / "penstock-traces" / "some-1.jsonl").is_file()


def test_a_run_that_fills_the_disk_tells_what_it_found(tmp_path: Path) -> None:
    folder = scenario(tmp_path / "app")
    with small_disk(tmp_path / "disk") as disk:
        said = penstock(folder, "fuzz", "some.toml", "--all", "--events", "3000", "-o", str(disk), status=1)
        assert not list(disk.rglob("*.part"))
    assert "ControllerCrash is violated" in said and "stopped by a trace that cannot be written" in said
    (sentence,) = (line for line in said.splitlines() if line.startswith("penstock:"))
    assert "The trace cannot be written" in sentence and "No space left on device" in sentence


@pytest.mark.parametrize("command", [["check", "some.toml"], ["fuzz", "some.toml", "--events", "20"]])
def test_an_app_that_moves_away_takes_nothing_along(tmp_path: Path, command: list[str]) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = scenario(tmp_path / "app", f"os.chdir({str(elsewhere)!r}); raise KeyError(switch)")
    penstock(folder, *command, status=1)
    assert list(elsewhere.iterdir()) == []
    written = {path.name for path in folder.rglob("*.json*")}
    assert "some-1.jsonl" in written if command[0] == "check" else {"trace.jsonl", "summary.json"} <= written


def test_nor_does_it_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = scenario(tmp_path / "app", "os.chdir('/'); raise KeyError(switch)")
    monkeypatch.chdir(folder)
    result = check("some.toml", output="traces")
    assert Path.cwd() == folder
    assert result.violations[0].trace == Path("traces/some-1.jsonl") and Path("traces/some-1.jsonl").is_file()


# Links.


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("report.html", ["report", "--no-run"]),
        ("progress.jsonl", ["minimize"]),
        ("minimal", ["minimize"]),
        ("progress.svg", ["plot"]),
    ],
)
def test_links_in_the_folder_of_a_run_are_not_written_through(
    tmp_path: Path, name: str, command: list[str]
) -> None:
    run = scenario(tmp_path / "run")
    penstock(run, "check", "some.toml", "-o", ".", status=1)
    (run / "some-1.jsonl").rename(run / "trace.jsonl")
    if name == "progress.svg":
        (run / "progress.jsonl").write_text('{"format": "penstock-minimisation"}\n')
    victim = tmp_path / "victim"
    victim.mkdir() if name == "minimal" else victim.write_text("mine")
    (run / name).symlink_to(victim)
    (run / f"{name}.part").symlink_to(victim)
    said = penstock(run, command[0], str(run), *command[1:], status=2)
    assert "a link, and Penstock does not write through links" in said
    assert list(victim.iterdir()) == [] if name == "minimal" else victim.read_text() == "mine"


# Words.


@pytest.mark.parametrize("command", ["check", "fuzz", "verify"])
def test_what_an_app_says_steers_nothing(tmp_path: Path, command: str) -> None:
    folder = scenario(tmp_path / "app", f"raise KeyError({STEERING!a} + chr(10) + '0 violations found.')")
    given = {"verify": ["-p", "ControllerCrash"], "fuzz": ["--events", "20"], "check": []}[command]
    said = penstock(folder, command, "some.toml", *given, status=1)
    assert is_clean(said) and "\\x1b[2J" in said
    assert not any(line.startswith("0 violations") for line in said.splitlines())


@pytest.mark.parametrize(
    "command",
    [
        ["show"],
        ["show", "--whole"],
        ["show", "--picture"],
        ["trace-packet"],
        *(["export", form, "-o", "-"] for form in ("shiviz", "dot", "mermaid", "junit", "sarif")),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("fuzzed", [True, False])
def test_what_a_trace_says_steers_nothing(tmp_path: Path, command: list[str], fuzzed: bool) -> None:
    lines = [line for line in steering() if fuzzed or "transition" in line or "step" not in line]
    path = write_hostile(tmp_path / "trace.jsonl", lines, **({"engine": "fuzz"} if fuzzed else {}))
    words = command[:2] if command[0] == "export" else command[:1]
    said = penstock(tmp_path, *words, str(path), *command[len(words) :], status=0)
    assert is_clean(said.replace("\t", " "))
    assert not any(line.startswith("0 violations") for line in said.splitlines()) or words == [
        "export",
        "junit",
    ]


def test_nor_does_what_is_in_a_report(tmp_path: Path) -> None:
    path = write_hostile(tmp_path / "trace.jsonl", steering(), engine="fuzz")
    penstock(tmp_path, "report", str(path), "--no-run", status=0)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert is_clean(page.replace("\t", " "))
    document = json.loads(page.partition('id="document">')[2].partition("</script>")[0])
    assert is_clean(json.dumps(document, ensure_ascii=False).replace("\t", " "))
    assert any("\\x1b[2J" in text for text in document["strings"])


# Files.


BROKEN = {
    "a line of 5 MB": '{"step": 1, "transition": "' + "x" * 5_000_000,
    "a number of a million digits": '{"step": ' + "9" * 1_000_000 + "}\n",
    "a number of 4,000 digits": '{"step": 1, "input": "x", "at": ' + "9" * 4_000 + "}\n",
    "a number beyond all counts": '{"step": 1, "input": "x", "at": 1' + "0" * 30 + "}\n",
    "10,000 lists in each other": '{"step": 1, "causes": ' + "[" * 10_000 + "]" * 10_000 + "}\n",
    "no number": '{"step": 1, "transition": "x", "node": "n", "at": NaN}\n',
    "a key twice": '{"step": 1, "step": 2, "transition": "x", "node": "n"}\n',
    "no text": "\udcff\udcfe\n",
}


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("command", ["show", "report", "trace-packet", "diff", "plot"])
def test_a_file_that_is_damaged_is_one_sentence(tmp_path: Path, broken: str, command: str) -> None:
    path = write_hostile(tmp_path / "some.jsonl", [])
    form = "penstock-minimisation" if command == "plot" else "penstock-trace"
    header = path.read_text().splitlines()[0].replace("penstock-trace", form)
    path.write_bytes(f"{header}\n{BROKEN[broken]}".encode("utf-8", "surrogateescape"))
    said = penstock(tmp_path, command, *["some.jsonl"] * (2 if command == "diff" else 1), status=2)
    assert said.startswith("penstock: Line 2 of some.jsonl ") and said.count("\n") == 1
    assert len(BROKEN["a line of 5 MB"]) > LONGEST_LINE


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
@pytest.mark.parametrize("command", ["show", "replay", "report", "diff", "plot", "minimize"])
def test_what_is_no_file_is_one_sentence(tmp_path: Path, kind: str, command: str) -> None:
    path = tmp_path / "some.jsonl"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    said = penstock(tmp_path, command, *["some.jsonl"] * (2 if command == "diff" else 1), status=2)
    *before, last = said.splitlines()
    assert last.startswith("penstock: ") and before in ([], ["reading the trace …"])


def test_what_lies_beside_a_trace_may_be_anything(tmp_path: Path) -> None:
    write_hostile(tmp_path / "trace.jsonl", [], engine="fuzz")
    os.mkfifo(tmp_path / "summary.json")
    (tmp_path / "progress.jsonl").symlink_to("/dev/zero")
    (tmp_path / "minimal").mkdir()
    (tmp_path / "minimal" / "summary.json").write_text("[" * 10_000)
    (tmp_path / "minimal" / "trace.jsonl").write_text("9" * 100_000)
    penstock(tmp_path, "report", ".", "--no-run", status=0)
    said = penstock(tmp_path, "bugs", ".", status=2)
    assert said.startswith("penstock: ") and said.count("\n") == 1


SIZE = 250_000
"""How long hostile runs are here: the square of that is more than the guard below waits for."""

ALL = """
import sys
from click.testing import CliRunner
from penstock._cli.main import commands
from penstock.errors import PenstockError

for arguments in eval(sys.stdin.read()):
    done = CliRunner().invoke(commands, arguments, standalone_mode=False)
    # What is too much for a format is refused in a sentence.
    assert done.exception is None or isinstance(done.exception, PenstockError), (arguments, done.exception)
"""


@pytest.mark.parametrize("shape", [name for name, _ in shapes(1000)])
def test_no_run_keeps_a_command_that_looks_at_it_busy(tmp_path: Path, shape: str) -> None:
    lines = dict(shapes(SIZE))[shape]
    fuzzed = {"engine": "fuzz"} if any("at" in line for line in lines) else {}
    path = str(write_hostile(tmp_path / "some.jsonl", lines, **fuzzed))
    exports = ("shiviz", "dot", "mermaid", "junit", "sarif")
    asked = [
        ["show", path],
        ["show", path, "--whole", "--picture"],
        ["report", path, "--no-run"],
        ["trace-packet", path],
        ["trace-packet", path, "1"],
        ["diff", path, path],
        *(["export", form, path, "-o", str(tmp_path / form)] for form in exports),
    ]
    # A guard, not a measurement: what takes the square of its input is far beyond it.
    subprocess.run([sys.executable, "-c", ALL], input=repr(asked), text=True, timeout=300, check=True)
