"""Penstock killed with `kill -9` at random moments: what is left, what is lost, and what a second run says.

    python -m bench.kills [--kills 200] [--seed 1] [--only COMMAND] [--jobs N] [--json]

Each command is run once undisturbed.  Then it is run again and again, and a process of its own is killed at a
random moment of the time that it took: mostly the one that was started, now and then one below it, which that
has to survive.  Five seconds later no process and no temporary file of it may be there, and no file that is
written by halves; each trace that was told can be shown; and the same command, run once more in the
same folder, comes to the answer of the undisturbed run, a minimisation and a campaign from where it was.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench.hostile.attack import Attack, Done, attempt_and_tell, demand, penstock
from penstock._controllers.tcp.ports import free_port

KIND: Final = "kill -9"
EXAMPLES: Final = Path(__file__).parents[1] / "examples"
RUN: Final = "penstock-runs/memory_leak-7"
_OF_OTHERS: Final = 0.25
"""How often it is a process below the one that was started."""
_KILLED: Final = -signal.SIGKILL
_BOUNDED: Final = 3
_NOT_BEGUN: Final = 2
_CAMPAIGN: Final = """\
apps = [
    "{examples}/nice/bug_07.toml",
    "{examples}/mocs/bug_update.toml",
    "{examples}/sts/memory_leak.toml",
]
engines = ["check", "fuzz"]
seconds = 60
jobs = 2

[configs.short]
fuzz = {{events = 100}}
"""
_LIVE: Final = """\
topology = "ring,3"

[controller]
cmd = "{python} -m penstock.launch ryu.app.simple_switch_13 --port {{port}}"
port = {port}

[fuzz]
seed = 3
events = 120
profile = "traffic"
"""


@dataclass(frozen=True, slots=True)
class Command:
    """A command to be killed: what it is given, and what of its answer is the same each time."""

    name: str
    words: tuple[str, ...]
    needs: tuple[str, ...] = ()
    """A command whose run is there before."""
    is_exact: bool = True
    """Whether the answer is the same to the last figure."""


COMMANDS: Final = (
    Command("check", ("check", f"{EXAMPLES}/nice/bug_07.toml", "--all")),
    Command("check to the end", ("check", f"{EXAMPLES}/nice/traffic_engineering_mended.toml")),
    Command("verify", ("verify", f"{EXAMPLES}/mocs/bug_update.toml")),
    Command("verify to the end", ("verify", f"{EXAMPLES}/mocs/cp3_learning.toml")),
    Command("walk", ("walk", f"{EXAMPLES}/scenarios/loop.toml", "--seed", "1")),
    Command("campaign", ("campaign", "campaign.toml")),
    Command("fuzz", ("fuzz", f"{EXAMPLES}/sts/memory_leak.toml")),
    Command("fuzz a process", ("fuzz", "live.toml"), is_exact=False),
    Command("minimize", ("minimize", RUN), ("fuzz", f"{EXAMPLES}/sts/memory_leak.toml")),
    Command(
        "minimize side by side",
        ("minimize", RUN, "--workers", "2"),
        ("fuzz", f"{EXAMPLES}/sts/memory_leak.toml"),
    ),
)


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """What a command comes to if nobody kills it."""

    folder: Path
    """Where all is that it needs."""
    answer: Any
    status: int
    seconds: float


def undisturbed(command: Command, folder: Path) -> Undisturbed:
    """Run a command to its end."""
    folder.mkdir()
    (folder / "live.toml").write_text(_LIVE.format(python=sys.executable, port=free_port()))
    (folder / "campaign.toml").write_text(_CAMPAIGN.format(examples=EXAMPLES))
    if command.needs:
        # A trace says where its scenario is from there, so the run stays in its place.
        penstock(folder, *command.needs)
    prepared = folder.with_name(f"{folder.name}-prepared")
    shutil.copytree(folder, prepared)
    done = penstock(folder, *command.words, "--json")
    return Undisturbed(prepared, _answer(done, command), done.status, done.seconds)


def _answer(done: Done, command: Command) -> Any:
    """Return what a run says that the next must say too."""
    try:
        told = json.loads(done.out)
    except ValueError:
        demand(holds=False, otherwise=f"exit {done.status} and no answer: {done.last_line}")
    if command.words[0] == "campaign":
        jobs = [[job[key] for key in ("name", "result", "work", "bugs")] for job in told["jobs"]]
        bugs = [
            [bug[key] for key in ("bug", "standing", "message", "sequence", "jobs")] for bug in told["bugs"]
        ]
        return [told["result"], told["campaign"], told["complete"], jobs, bugs, told["left_out"]]
    if command.words[0] == "minimize":
        return {key: told[key] for key in ("result", "property", "size", "sequence")}
    if not command.is_exact:
        return told["result"]
    found = [(each["property"], each["message"]) for each in told["violations"]]
    # How much of an explanation is tried depends on how much time there is.
    return [*(told.get(key) for key in ("result", "states", "transitions", "inputs", "internal")), found]


def _kill(moment: float, chance: random.Random, killed: list[str], process: subprocess.Popen[bytes]) -> None:
    """Kill a process of a command after a time."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(moment)
        return
    below = _below(process.pid)
    victim = chance.choice(below) if below and chance.random() < _OF_OTHERS else process.pid
    with contextlib.suppress(ProcessLookupError):
        killed.append("itself" if victim == process.pid else "one below")
        os.kill(victim, signal.SIGKILL)


def _below(process: int) -> list[int]:
    """Return the processes that a process has started, and those have."""
    parents: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(place.read_text().rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(place.parent.name))
    found, ahead = [], [process]
    while ahead:
        children = parents.get(ahead.pop(), [])
        found += children
        ahead += children
    return sorted(found)


def _attempt(command: Command, whole: Undisturbed, seed: str, folder: Path) -> str:
    shutil.copytree(whole.folder, folder, dirs_exist_ok=True)
    chance = random.Random(seed)
    moment = chance.uniform(0.0, whole.seconds)
    killed: list[str] = []
    done = penstock(folder, *command.words, act=partial(_kill, moment, chance, killed))
    who = killed[0] if killed else "nobody any more"
    if who == "itself":
        demand(done.status in (_KILLED, whole.status), f"exit {done.status}: {done.last_line}")
    else:
        # A verdict that was not reached is none.
        allowed = (whole.status, _BOUNDED) if command.is_exact else (whole.status, _BOUNDED, _NOT_BEGUN)
        demand(done.status in allowed, f"{who} was killed: exit {done.status}: {done.last_line}")
    _look_at_what_was_told(folder, done)
    again = penstock(folder, *command.words, "--json")
    answer = _answer(again, command)
    demand(answer == whole.answer, f"the second run said {json.dumps(answer)[:200]}")
    return f"after {moment:.2f} of {whole.seconds:.2f} s, {who}: exit {done.status}, the same answer"


def _look_at_what_was_told(folder: Path, done: Done) -> None:
    """See that the files of a run are whole, as far as they are there, and that those are that were told."""
    for path in folder.rglob("*.json"):
        _parsed(path, path.read_text())
    for path in folder.rglob("*.jsonl"):
        lines = path.read_text().splitlines(keepends=True)
        for number, line in enumerate(lines, 1):
            # A line at the end that is not whole is one that nobody was told of.
            if line.endswith("\n") or number < len(lines):
                _parsed(path, line)
        if "penstock-traces" in path.parts:
            demand(lines and '"end"' in lines[-1], f"{path.name} is not whole")
    lines = [line for line in done.out.splitlines(keepends=True) if line.endswith("\n")]
    told = [line.split()[-1] for line in lines if "penstock replay " in line or "penstock report " in line]
    for trace in told:
        shown = penstock(folder, "show", trace)
        demand(shown.status == 0, f"{trace} was told of and cannot be shown: {shown.last_line}")


def _parsed(path: Path, text: str) -> None:
    try:
        json.loads(text)
    except ValueError:
        demand(holds=False, otherwise=f"{path.name} is not whole: {text[-80:]!r}")


def kills(commands: Sequence[Command], count: int, seed: int, folder: Path) -> Iterator[Attack]:
    """Yield so many kills, of each command in turn."""
    known = {each.name: undisturbed(each, folder / each.name.replace(" ", "-")) for each in commands}
    for number in range(count):
        command = commands[number % len(commands)]
        yield Attack(
            KIND,
            f"{command.name}, {number // len(commands) + 1}",
            "nothing is left, nothing lost, and the same answer",
            partial(_attempt, command, known[command.name], f"{seed} {number}"),
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.kills", description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="commands with this in their names")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    commands = [each for each in COMMANDS if options.only in each.name]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        attacks = list(kills(commands, options.kills, options.seed, Path(folder)))
        found = attempt_and_tell(attacks, options.jobs, as_json=options.json)
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)
    return 0 if all(tried.held for tried in found) else 1


if __name__ == "__main__":
    sys.exit(main())
