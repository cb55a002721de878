"""Traces, folders of runs and disks: what a stranger wrote, and what cannot be written."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from tests.cli.hostile_traces import CANARY, HOSTILE, Hostile, hostile_run, real_trace
from tests.malicious_traces import shapes, steering, write_hostile

from bench.hostile.attack import Attack, Done, NotTried, demand, penstock, run

TRACES: Final = "traces"
FOLDERS: Final = "folders of runs, and disks"

LOOKING: Final = (
    ("show",),
    ("report", "-o", "out.html"),
    ("export", "pcap", "-o", "out.pcapng"),
    ("export", "itf", "-o", "out.itf.json"),
    ("export", "dot", "-o", "out.dot"),
    ("openflow",),
    ("trace-packet",),
    ("diff",),
)
RUNNING: Final = (("replay",), ("minimize",), ("step", "--plain"))
_SIZE: Final = 250_000


@cache
def real_trace_of(engine: str) -> Path:
    """Return a trace of our own, of which hostile ones are made."""
    return real_trace(Path(mkdtemp(prefix=f"hostile-{engine}-")), engine)


_IN_ONE: Final = """
import sys
from click.testing import CliRunner
from penstock._cli.main import commands
from penstock.errors import PenstockError

for words in eval(sys.stdin.read()):
    done = CliRunner().invoke(commands, words, standalone_mode=False)
    is_input = isinstance(done.exception, PenstockError)
    if done.exception is not None and not is_input:
        raise done.exception
    print(2 if is_input else done.return_value or 0, words)
"""


def _asked_in_one(folder: Path, commands: tuple[tuple[str, ...], ...], trace: str) -> list[tuple[int, str]]:
    """Have one process run several commands; return the exit status of each."""
    asked = [_words(words, trace) for words in commands]
    done = run([sys.executable, "-c", _IN_ONE], folder, typed=repr(asked))
    demand(done.status == 0, f"exit {done.status}: {done.last_line[:160]}")
    rows = [line.split(" ", 1) for line in done.out.splitlines()]
    return [(int(status), words) for status, words in rows]


def _words(words: tuple[str, ...], trace: str) -> list[str]:
    names = [trace, trace] if words[0] == "diff" else [trace]
    first = words[:2] if words[0] == "export" else words[:1]
    return [*first, *names, *words[len(first) :]]


def _asked(folder: Path, words: tuple[str, ...], trace: str) -> Done:
    return penstock(folder, *_words(words, trace))


def _canary(
    hostile: Hostile, commands: tuple[tuple[str, ...], ...], statuses: tuple[int, ...], folder: Path
) -> str:
    place = folder / "run"
    trace = hostile_run(place, hostile, real_trace_of(hostile.engine))
    ended = _asked_in_one(place, commands, trace.name)
    demand(not (place / CANARY).exists(), "it ran")
    for status, words in ended:
        demand(status in statuses, f"{words}: exit {status}")
    refused = sum(status == 2 for status, _ in ended)
    return f"nothing ran; {len(commands)} commands, {refused} of them one sentence"


_NUMBERS: Final = {
    "a line of 5 MB": '{"step": 1, "transition": "' + "x" * 5_000_000,
    "a number of a million digits": '{"step": ' + "9" * 1_000_000 + "}\n",
    "a number of 4,000 digits": '{"step": 1, "input": "x", "at": ' + "9" * 4_000 + "}\n",
    "10,000 lists in each other": '{"step": 1, "causes": ' + "[" * 10_000 + "]" * 10_000 + "}\n",
    "NaN": '{"step": 1, "transition": "x", "node": "n", "at": NaN}\n',
    "a key twice": '{"step": 1, "step": 2, "transition": "x", "node": "n"}\n',
    "no text": "\udcff\udcfe\n",
}


def _damaged(text: str, folder: Path) -> str:
    path = write_hostile(folder / "some.jsonl", [])
    header = path.read_text().splitlines()[0]
    path.write_bytes(f"{header}\n{text}".encode("utf-8", "surrogateescape"))
    for command in ("show", "report", "trace-packet"):
        done = penstock(folder, command, "some.jsonl")
        told = f"{command}: exit {done.status}: {done.said[:160]}"
        demand(done.status == 2 and done.said.count("\n") == 1, told)
        demand(done.seconds < 30, f"{command} took {done.seconds} s")
    return f"one sentence: {done.last_line[:120]}"


def _large(shape: str, folder: Path) -> str:
    lines = dict(shapes(_SIZE))[shape]
    fuzzed = {"engine": "fuzz"} if any("at" in line for line in lines) else {}
    write_hostile(folder / "some.jsonl", lines, **fuzzed)
    longest = 0.0
    for words in (("show",), ("report",), ("trace-packet",), ("export", "dot", "-o", "out.dot")):
        done = _asked(folder, words, "some.jsonl")
        demand(done.status in (0, 2), f"{' '.join(words)}: exit {done.status}: {done.last_line[:160]}")
        longest = max(longest, done.seconds)
    demand(longest < 60, f"it took {longest} s")
    return f"4 commands, each in {longest} s or less"


def _steering(words: tuple[str, ...], folder: Path) -> str:
    write_hostile(folder / "trace.jsonl", steering(), engine="fuzz")
    done = _asked(folder, words, "trace.jsonl")
    demand(done.status == 0, f"exit {done.status}: {done.last_line[:160]}")
    demand(not any(line.startswith("0 violations") for line in done.said.splitlines()), "a line was forged")
    return "spelt out"


def _special(kind: str, folder: Path) -> str:
    path = folder / "some.jsonl"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    for command in ("show", "replay", "report", "minimize"):
        done = penstock(folder, command, "some.jsonl")
        demand(done.status == 2, f"{command}: exit {done.status}: {done.last_line[:160]}")
        demand(done.seconds < 30, f"{command} took {done.seconds} s")
    return f"one sentence: {done.last_line[:120]}"


# Folders.


_APP: Final = """
from penstock._controllers.controller import Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PortNo

class App(Controller):
    def switch_join(self, switch):
        self.install(switch, actions=(Output(PortNo.CONTROLLER),), priority=0)

    def packet_in(self, switch, message):
        raise KeyError("no such thing")
"""
_SCENARIO: Final = """
topology = "single,2"
[controller]
native = "app.py:App"
[hosts.h1]
kind = "client"
to = "h2"
"""


def _scenario(folder: Path) -> Path:
    folder.mkdir()
    (folder / "app.py").write_text(_APP)
    (folder / "some.toml").write_text(_SCENARIO)
    return folder


_LINKS: Final = {
    "report.html": ("report", "."),
    "report.html.part": ("report", "."),
    "progress.jsonl": ("minimize", "."),
    "minimal": ("minimize", "."),
    "some-1.html": ("report", "some-1.jsonl"),
    "out.dot": ("export", "dot", ".", "-o", "out.dot"),
}


def _linked(name: str, folder: Path) -> str:
    place = _scenario(folder / "run")
    done = penstock(place, "check", "some.toml", "-o", ".")
    demand(done.status == 1, f"exit {done.status}")
    command = _LINKS[name]
    if command[1] != "some-1.jsonl":
        (place / "some-1.jsonl").rename(place / "trace.jsonl")
    victim = folder / "victim"
    if name == "minimal":
        victim.mkdir()
    else:
        victim.write_text("mine")
    (place / name).symlink_to(victim)
    done = penstock(place, *command)
    mine = list(victim.iterdir()) == [] if name == "minimal" else victim.read_text() == "mine"
    demand(mine, "it was written through the link")
    if done.status == 0:
        demand(
            not (place / name).is_symlink() or name.endswith(".part"), "a link was taken for a file of ours"
        )
    return f"exit {done.status}; what it leads to is as it was"


@contextlib.contextmanager
def _disk(folder: Path, options: str) -> Iterator[Path]:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        raise NotTried("nobody may mount a small disk here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _disk_takes_nothing(command: str, kind: str, folder: Path) -> str:
    own = _scenario(folder / "app")
    given = {"verify": ["-p", "ControllerCrash"], "fuzz": ["--events", "3000", "--all"]}.get(command, [])
    with _disk(folder / "disk", "size=64k" if kind == "full" else "size=64k,ro") as disk:
        if kind == "full" and command != "fuzz":
            with contextlib.suppress(OSError), (disk / "ballast").open("wb", buffering=0) as file:
                while file.write(b"x" * 4096):
                    pass
        done = penstock(own, command, "some.toml", *given, "-o", str(disk / "traces"))
        demand(not list(disk.rglob("*.part")), "an unfinished file was left")
    told = f"exit {done.status}: {done.last_line[:160]}"
    if command == "fuzz" and kind == "read-only":
        demand(done.status == 2 and "cannot be written" in done.said, told)
        return told
    demand(done.status == 1 and "ControllerCrash" in done.said and "cannot be written" in done.said, told)
    return "exit 1, the finding in full, and one sentence on the disk"


def _output_takes_nothing(folder: Path) -> str:
    own = _scenario(folder / "app")
    wrapped = f"exec {sys.executable} -m penstock check some.toml > /dev/full"
    done = run(["sh", "-c", wrapped], own)
    demand(done.status == 1, f"exit {done.status}: {done.last_line[:160]}")
    demand((own / "penstock-traces" / "some-1.jsonl").is_file(), "the trace is missing")
    return "exit 1, the trace is written, one sentence"


def attacks() -> Iterator[Attack]:
    """Yield the attacks of these kinds."""
    for each in HOSTILE:
        yield Attack(
            TRACES, f"{each.name}, looked at", "nothing runs", partial(_canary, each, LOOKING, (0, 2))
        )
    for each in HOSTILE:
        yield Attack(
            TRACES,
            f"{each.name}, run again",
            "refused without consent",
            partial(_canary, each, RUNNING, (2,)),
        )
    for name, text in _NUMBERS.items():
        yield Attack(TRACES, name, "one sentence", partial(_damaged, text))
    for name, _ in shapes(1000):
        yield Attack(TRACES, f"a long run: {name}", "linear time", partial(_large, name))
    for words in (
        ("show",),
        ("show", "--picture"),
        ("trace-packet",),
        ("report",),
        ("export", "dot", "-o", "-"),
    ):
        yield Attack(TRACES, f"escape sequences in {' '.join(words)}", "spelt out", partial(_steering, words))
    for kind in ("pipe", "device", "folder"):
        yield Attack(TRACES, f"a {kind} in place of a trace", "one sentence", partial(_special, kind))
    for name in _LINKS:
        yield Attack(FOLDERS, f"a link for {name}", "nothing is written through it", partial(_linked, name))
    for command in ("check", "walk", "verify", "fuzz"):
        for kind in ("full", "read-only"):
            yield Attack(
                FOLDERS,
                f"a {kind} disk for {command}",
                "the finding is told",
                partial(_disk_takes_nothing, command, kind),
            )
    yield Attack(FOLDERS, "a full disk for what is printed", "the verdict stands", _output_takes_nothing)
