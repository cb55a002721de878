"""Trying the parts: each is used in a process of its own, so that one that crashes or hangs is only named."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Final, Literal, assert_never

from penstock._base import ryu_names
from penstock._base.checkout import cache_folder, checkout
from penstock._base.version import VERSION
from penstock._doctor.parts import (
    FaucetEnvironment,
    Package,
    Part,
    Program,
    Requirement,
    RyuSources,
    find_program,
    is_too_old,
    requirements,
)

PATIENCE_S: Final = 60.0
_FAUCETS: Final = ("faucet-env", "faucet")
"""Folders of virtual environments with Faucet, as docs/howto/faucet.md names them."""

_VERSION: Final = re.compile(r"\d+\.\d+[\w.+~-]*\w")

State = Literal["working", "missing", "broken"]


@dataclass(frozen=True, slots=True)
class Probe:
    """How a part was found: its version and place as far as they are known, and what is wrong with it."""

    part: Part
    state: State
    version: str = ""
    place: str = ""
    reason: str = ""


def probe_all(parts: Sequence[Part], told: Callable[[Probe], None] = lambda _: None) -> list[Probe]:
    """Try all parts, several at a time; `told` hears of each as it is done."""
    with ThreadPoolExecutor(max_workers=(os.cpu_count() or 1) + 1) as pool:
        probes = {pool.submit(probe, part): part.name for part in parts}
        done = {}
        for future in as_completed(probes):
            done[probes[future]] = future.result()
            told(future.result())
    return [done[part.name] for part in parts]


def probe(part: Part) -> Probe:
    """Try one part."""
    match part.kind:
        case Package():
            return _probe_package(part, part.kind)
        case Program():
            return _probe_program(part, part.kind)
        case RyuSources():
            return _probe_ryu(part)
        case FaucetEnvironment():
            return _probe_faucet(part)
        case _:
            assert_never(part.kind)


def _probe_package(part: Part, package: Package) -> Probe:
    """Use a Python package; one that works but is older than Penstock asks for counts as broken."""
    name = package.distribution
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        if name != "penstock":
            return Probe(part, "missing")
        version = VERSION  # run from its sources
    oldest = requirements().get(name)
    if oldest is not None and oldest.oldest and is_too_old(version, oldest.oldest):
        return Probe(part, "broken", version, reason=f"version {version} is too old: Penstock needs {oldest}")
    tried = _run(part, [sys.executable, "-c", package.trial])
    return replace(tried, version=version, place="")


def _probe_program(part: Part, program: Program) -> Probe:
    """Run a program for its version."""
    for command in program.commands:
        if find_program(command) is None:
            return Probe(part, "missing")
    return _run(part, [str(find_program(program.commands[0])), *program.arguments])


def _probe_ryu(part: Part) -> Probe:
    for folder in ryu_names.source_folders():
        if not (folder / "app").is_dir():
            return Probe(part, "broken", reason=f"{folder} has no folder app in it: remove it")
        return Probe(part, "working", place=str(folder))
    return Probe(part, "missing")


def _probe_faucet(part: Part) -> Probe:
    environments = [*map(Path, _FAUCETS), *sorted(cache_folder().glob("faucet-*"))]
    managers = [folder / "bin" / "osken-manager" for folder in environments]
    for manager in (*managers, find_program("faucet")):
        if manager is not None and manager.is_file():
            return _run(part, [str(manager), "--version"])
    return Probe(part, "missing")


def _run(part: Part, command: Sequence[str]) -> Probe:
    """Run what tries a part: it works if the command succeeds, and its version is what is printed as one."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE_S,
            text=True,
            errors="replace",
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Probe(part, "broken", reason=f"it does not answer within {PATIENCE_S:.0f} s")
    except OSError as error:
        return Probe(part, "broken", reason=f"{command[0]} cannot be started: {error.strerror}")
    if done.returncode:
        return Probe(part, "broken", place=command[0], reason=_failure(done.returncode, done.stdout))
    version = _VERSION.search(done.stdout)
    return Probe(part, "working", version[0] if version else "", command[0])


def _failure(status: int, output: str) -> str:
    """Return why a process failed, in one line: mostly the last that it printed."""
    if status < 0:
        return f"it is killed by {signal.Signals(-status).name}"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else f"it ends with the status {status}"


# How to get a part: a command for this machine and this installation.


_FAUCET: Final = (
    f"{shlex.quote(sys.executable)} -m venv faucet-env && faucet-env/bin/python -m pip install faucet"
)
"""As docs/howto/faucet.md has it: an environment of its own, since Faucet wants another os-ken."""


def how_to_get(part: Part) -> str:
    """Return the command that gets a part, or brings it up to date."""
    match part.kind:
        case Package() as package:
            return _get_package(package)
        case Program() as program:
            return _get_program(program)
        case RyuSources():
            return "penstock fetch-ryu"
        case FaucetEnvironment():
            return "make setup" if _in_checkout() else _FAUCET
        case _:
            assert_never(part.kind)


def _in_checkout() -> bool:
    """Tell whether Penstock runs in the environment that `make setup` keeps."""
    root = checkout()
    return root is not None and Path(sys.prefix).resolve() == (root / ".venv").resolve()


def _get_package(package: Package) -> str:
    if _in_checkout():
        return "make setup"
    wanted = requirements().get(package.distribution, Requirement(package.distribution, ""))
    pip = [sys.executable, "-m", "pip", "install"]
    how = "--force-reinstall" if package.distribution == "penstock" else "--upgrade"
    return shlex.join([*pip, how, str(wanted)])


def _get_program(program: Program) -> str:
    if find_program("apt-get") is None:
        return f"install {program.debian} (as Debian calls it) with this system's package manager"
    if os.geteuid():
        return f"sudo apt-get install {program.debian}"
    return "make setup" if _in_checkout() else f"apt-get install {program.debian}"
