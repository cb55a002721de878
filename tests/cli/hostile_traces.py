"""Traces and run folders that name code in every way there is, each with a canary: code that leaves a file.

A hostile trace begins as a real one, of a search or of a fuzzing run, and has its header changed by whoever
wants to have something run.  Digests of code are in there too, since nothing keeps a stranger from writing
them; only our seal is not to be had.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock._base.code_files import digest_code
from penstock._check.check import check
from penstock._scenario.scenario import Scenario

APP = """\
from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import NO_MAX_LEN, PortNo

class Program(Controller):
    def switch_join(self, switch):
        self.install(switch, actions=(Output(PortNo.CONTROLLER, NO_MAX_LEN),), priority=0)

    def packet_in(self, switch, message):
        self.packet_out(switch, message, FLOOD)
"""
CANARY = "canary"


def canary_code(folder: Path) -> str:
    """Return Python that leaves the canary, whatever it is taken for, and breaks off nothing."""
    return f"from pathlib import Path\nPath({str(folder / CANARY)!r}).touch()\n"


@dataclass(frozen=True, slots=True)
class Hostile:
    """A way to have code run: what is changed in the header of a trace, and what lies beside it."""

    name: str
    table: Callable[[Path], Mapping[str, Any]]
    """What the scenario says, in place of what it said."""
    files: Callable[[Path], Mapping[str, str]] = lambda _: {}
    header: Callable[[Path], Mapping[str, Any]] = lambda _: {}
    engine: str = "check"
    is_loaded: bool = True
    """Whether it would be loaded if the trace were taken again with the user's consent."""
    is_python: bool = False
    """Whether the trace itself is Python, of which nobody reads the last line as a trace's."""


def _evil(folder: Path) -> Mapping[str, str]:
    code = canary_code(folder)
    return {
        "evil.py": code
        + "class Program: pass\nclass Host: pass\nclass Property: pass\ndef change(v, n): pass\n"
    }


def _app(folder: Path) -> Mapping[str, str]:
    return {"evil.py": canary_code(folder) + APP}


def _topo(folder: Path) -> Mapping[str, str]:
    text = "from mininet.topo import Topo\nclass T(Topo):\n    def build(self): self.addSwitch('s1')\n"
    return {"evil.py": canary_code(folder) + text}


HOSTILE = (
    Hostile("a native controller", lambda _: {"controller": {"native": "evil.py:Program"}}, _app),
    Hostile("an app's file", lambda _: {"controller": {"apps": ["evil.py"]}}, _app),
    Hostile("an app by a class", lambda _: {"controller": {"apps": ["evil.py:Program"]}}, _app),
    Hostile("an app's module", lambda _: {"controller": {"apps": ["evil"]}}, _app),
    Hostile("an app by an absolute path", lambda at: {"controller": {"apps": [f"{at}/evil.py"]}}, _app),
    Hostile("an app by a way round", lambda at: {"controller": {"apps": [f"../{at.name}/evil.py"]}}, _app),
    Hostile(
        "the trace as an app",
        lambda at: {"controller": {"apps": [f"{at}/run.jsonl"]}},
        is_loaded=False,
        is_python=True,
    ),
    Hostile("a Mininet file", lambda _: {"topology": {"mininet": "evil.py"}}, _topo),
    Hostile(
        "the trace as a Mininet file",
        lambda _: {"topology": {"mininet": "run.jsonl"}},
        is_loaded=False,
        is_python=True,
    ),
    Hostile("a Mininet file elsewhere", lambda at: {"topology": {"mininet": f"{at}/evil.py"}}, _topo),
    Hostile("a host's class", lambda _: {"hosts": {"h1": {"kind": "evil.py:Host"}}}, _evil),
    Hostile("a property", lambda _: {"properties": ["evil.py:Property"]}, _evil),
    Hostile(
        "a property's function",
        lambda _: {"properties": [{"name": "FlowAffinity", "is_same_flow": "evil.py:change"}]},
        _evil,
    ),
    Hostile(
        "a strategy's function",
        lambda _: {"search": {"strategies": ["flow-ir:is_same_flow=evil.py:change"]}},
        _evil,
        is_loaded=False,
    ),
    Hostile(
        "a command",
        lambda at: {"controller": {"cmd": f"touch {at / CANARY}", "port": 6653}},
        engine="fuzz",
        is_loaded=False,
    ),
    Hostile(
        "a command as words",
        lambda at: {"controllers": {"c0": {"cmd": ["touch", str(at / CANARY)], "port": 6653}}},
        engine="fuzz",
        is_loaded=False,
    ),
    Hostile("a policy", lambda _: {"fuzz": {"policy": "evil.py:change", "events": 5}}, _evil, engine="fuzz"),
    Hostile(
        "an invariant",
        lambda _: {"fuzz": {"invariants": ["evil.py:change"]}},
        _evil,
        engine="fuzz",
        is_loaded=False,
    ),
    Hostile("a fuzzed app", lambda _: {"controller": {"apps": ["evil.py"]}}, _app, engine="fuzz"),
    Hostile(
        "a socket to listen on",
        lambda at: {"fuzz": {"listen": {"s1": f"punix:{at / CANARY}"}}},
        engine="fuzz",
        is_loaded=False,
    ),
    Hostile(
        "another folder",
        lambda _: {"controller": {"native": "evil.py:Program"}},
        lambda at: {f"deep/{name}": text for name, text in _app(at).items()},
        lambda _: {"folder": "deep"},
    ),
    Hostile(
        "a proof",
        lambda _: {"controller": {"native": "evil.py:Program"}},
        _app,
        lambda _: {
            "verify": {
                "properties": ["G F exists p in h2.rcvq: p.src == h1"],
                "mode": "penstock",
                "timeouts": False,
                "traffic": {},
                "loop": 0,
            }
        },
    ),
    Hostile(
        "an old trace",
        lambda _: {"controller": {"native": "evil.py:Program"}},
        _app,
        lambda _: {"network": None, "code": None, "seal": ""},
    ),
    Hostile(
        "a network without actors",
        lambda _: {"hosts": {"h1": {"kind": "evil.py:Host"}}},
        _evil,
        lambda _: {"actors": []},
    ),
)


def real_trace(folder: Path, engine: str) -> Path:
    """Return a trace of our own: of a search, or of a fuzzing run."""
    from asyncio import run

    from penstock._fuzz.fuzzing import fuzz

    (folder / "own.py").write_text(APP)
    own: dict[str, Any] = {"controller": {"native": "own.py:Program"}, "folder": folder}
    if engine == "fuzz":
        return run(fuzz(Scenario(**own, topology="linear,2", fuzz={"events": 60}), folder / "runs")).trace
    ping = {"h1": {"kind": "ping", "to": "h2"}}
    (finding,) = check(Scenario(**own, topology="ring,3", hosts=ping), output=folder).findings
    assert finding.trace is not None
    return finding.trace


def hostile_run(folder: Path, hostile: Hostile, real: Path) -> Path:
    """Write a hostile trace, with what lies beside it, into a folder of its own; return the trace."""
    folder.mkdir()
    (folder / "own.py").write_text(APP)
    for name, text in hostile.files(folder).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    first, *lines = real.read_text().splitlines()
    header = {**json.loads(first), "folder": "."}
    table = {**header["scenario"], **hostile.table(folder)}
    if "controllers" in table:
        table.pop("controller", None)
    header["scenario"] = table
    header["code"] = digest_code(table, folder)
    for key, value in hostile.header(folder).items():
        if key == "actors":
            header["network"]["actors"] = value
        elif value is None:
            header.pop(key)
        else:
            header[key] = value
    trace = folder / "run.jsonl"
    text = "\n".join([json.dumps(header), *lines]) + "\n"
    if hostile.is_python:
        # JSON is Python but for its names of constants, and what has no end was cut short.
        header = {key: header[key] for key in ("format", "version", "scenario", "folder", "network")}
        rest = [line for line in lines if not re.search(r"\b(true|false|null)\b", line)]
        text = "\n".join([json.dumps(header), *rest, canary_code(folder).strip().replace("\n", "; ")])
        compile(text, "run.jsonl", "exec")
    trace.write_text(text)
    return trace
