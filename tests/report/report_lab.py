"""Runs of every engine for tests of reports, and a reader that applies changes as the page does."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from penstock._check.check import check
from penstock._cli.main import commands
from penstock._controllers.tcp import ports
from penstock._scenario.options import options_of
from penstock._scenario.scenario import load_scenario
from penstock._verify.proof import prove

EXAMPLES = Path(__file__).parents[2] / "examples"


def checked(folder: Path) -> Path:
    """Return the trace of a search: a host moves, and the learning switch sends to where it was."""
    (finding,) = check(load_scenario(EXAMPLES / "nice" / "bug_01.toml"), output=folder).findings
    assert finding.trace is not None
    return finding.trace


def fuzzed(folder: Path) -> Path:
    """Return the folder of a fuzzing run on virtual time that ends with a violation."""
    _fuzz(EXAMPLES / "fuzz" / "host_moves.toml", folder)
    return folder / "host_moves-1"


def fuzzed_live(folder: Path) -> Path:
    """Return the folder of a fuzzing run whose controller was a process of its own."""
    command = [
        sys.executable,
        "-m",
        "penstock.launch",
        "ryu.app.simple_switch_13",
        "--port",
        "{port}",
    ]
    scenario = folder / "process.toml"
    scenario.write_text(
        f'topology = "linear,2"\n[controller]\ncmd = {json.dumps(command)}\nport = {ports.free_port()}\n'
        "[fuzz]\nevents = 12\n"
    )
    _fuzz(scenario, folder)
    return folder / "process-1"


def _fuzz(scenario: Path, folder: Path) -> None:
    result = CliRunner().invoke(commands, ["fuzz", str(scenario), "-o", str(folder)], standalone_mode=False)
    assert result.return_value in (1, 3), result.output


def minimised(run: Path) -> Path:
    """Minimise a run; return the folder of what is left."""
    result = CliRunner().invoke(commands, ["minimize", str(run)], standalone_mode=False)
    assert result.return_value == 1, result.output
    return run / "minimal"


def lasso(folder: Path) -> Path:
    """Return the trace of a proof that failed with a run that goes on for ever."""
    scenario = load_scenario(EXAMPLES / "mocs" / "cp2_stateful.toml")
    options = options_of({"properties": ["G F exists p in h2.rcvq: p.src == h1"], "fair": True})
    (finding,) = prove(scenario, options, output=folder).findings
    assert finding.trace is not None and finding.loop
    return finding.trace


State = dict[tuple[str, str], list[str]]


def states(document: dict[str, Any]) -> Iterator[State]:
    """Yield the states of a document: at the start, and after each step."""
    texts = document["strings"]
    state: State = {
        (texts[component], texts[section]): [texts[line] for line in lines]
        for component, section, lines in document["start"]
    }
    yield {key: list(lines) for key, lines in state.items()}
    for step in document["steps"]:
        for component, section, removed, added in step["changes"]:
            lines = state.setdefault((texts[component], texts[section]), [])
            for line in removed:
                lines.remove(texts[line])
            lines += [texts[line] for line in added]
        yield {key: list(lines) for key, lines in state.items() if lines}
