"""What Penstock needs or can use: the one list of parts, how each is tried, how to get what is missing.

The parts: all that Penstock needs or can use, each with how it is tried and what it gives.

This is the one list of them.  `penstock doctor` prints it, tests look up which package brings a program, and
`tools/setup.sh` installs those packages.  The versions that Penstock asks for are in its metadata alone.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Final, Literal, NamedTuple, assert_never

from penstock._base import ryu_names
from penstock._base.ryu_names import cache_folder, checkout
from penstock._base.version import VERSION

Need = Literal["required", "optional", "development"]

SYSTEM_FOLDERS: Final = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where Debian keeps daemons; they are seldom on the PATH of a normal user."""


@dataclass(frozen=True, slots=True)
class Package:
    """A Python package, by the name it is installed under, with statements that use it."""

    distribution: str
    trial: str


@dataclass(frozen=True, slots=True)
class Program:
    """Programs that one Debian package brings, and the arguments with which the first tells its version."""

    commands: tuple[str, ...]
    debian: str
    arguments: tuple[str, ...] = ("--version",)


@dataclass(frozen=True, slots=True)
class RyuSources:
    """The sources of Ryu, fetched or installed."""


@dataclass(frozen=True, slots=True)
class FaucetEnvironment:
    """Faucet, in a virtual environment of its own or installed."""


@dataclass(frozen=True, slots=True)
class Part:
    """Something that Penstock needs or can use."""

    name: str
    kind: Package | Program | RyuSources | FaucetEnvironment
    gives: str
    need: Need = "optional"


_USE_OXIDD: Final = (
    "from oxidd.bdd import BDDManager; m = BDDManager(1000, 1000, 1); "
    "m.add_vars(1); assert m.var(0) != m.true()"
)
_USE_Z3: Final = "import z3; x = z3.Int('x'); s = z3.Solver(); s.add(x > 1); assert s.check() == z3.sat"
_USE_GREENLET: Final = "from greenlet import greenlet; assert greenlet(lambda: 1).switch() == 1"
_USE_MSGSPEC: Final = "import msgspec; assert msgspec.convert([1], tuple[int, ...]) == (1,)"
_USE_OS_KEN: Final = (
    "from penstock._demo import demo_scenario; from penstock._engine.building import build; "
    "build(demo_scenario('loop'))"
)
_USE_PENSTOCK: Final = (
    "from penstock._check.check import check; from penstock._demo import demo_scenario; "
    "assert check(demo_scenario('loop')).findings, 'no bug was found in the demo'"
)

PARTS: Final = (
    Part("Penstock", Package("penstock", _USE_PENSTOCK), "finding a bug of the demo", "required"),
    Part("click", Package("click", "import click"), "the command line", "required"),
    Part("greenlet", Package("greenlet", _USE_GREENLET), "tasks of os-ken programs", "required"),
    Part("msgspec", Package("msgspec", _USE_MSGSPEC), "the options of scenarios", "required"),
    Part("networkx", Package("networkx", "import networkx"), "topologies", "required"),
    Part("os-ken", Package("os-ken", _USE_OS_KEN), "os-ken and Ryu apps in process", "required"),
    Part("oxidd", Package("oxidd", _USE_OXIDD), "exact sets of packets: fuzzing runs, audits", "required"),
    Part("rich", Package("rich", "import rich.console"), "progress on the terminal", "required"),
    Part("textual", Package("textual", "import textual.app"), "penstock step", "required"),
    Part("Z3", Package("z3-solver", _USE_Z3), "which packets a handler tells apart", "required"),
    Part("Ryu's sources", RyuSources(), "Ryu's own apps (ryu.app.*), the demo's among them"),
    Part("pytest", Package("pytest", "import pytest"), "checks as tests, and traces as regression tests"),
    Part("Dask", Package("distributed", "import distributed"), "penstock minimize --scheduler"),
    Part("Faucet", FaucetEnvironment(), "fuzzing Faucet (docs/howto/faucet.md)"),
    Part(
        "Open vSwitch",
        Program(("ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-ofctl"), "openvswitch-switch"),
        "ovs-ofctl on the switches of a fuzzing run, and comparing the switch model with Open vSwitch",
    ),
    Part(
        "ovs-testcontroller",
        Program(("ovs-testcontroller",), "openvswitch-testcontroller"),
        "fuzzing a controller in C (docs/howto/c_controller.md)",
    ),
    Part("tshark", Program(("tshark",), "tshark"), "reading the captures of penstock export pcap"),
    Part("Graphviz", Program(("dot",), "graphviz", ("-V",)), "drawing the graphs of penstock export dot"),
    Part("faketime", Program(("faketime",), "faketime"), "penstock replay --faketime"),
    Part(
        "OpenSSL",
        Program(("openssl",), "openssl", ("version",)),
        "certificates for TLS",
    ),
    Part("Chromium", Program(("chromium",), "chromium"), "tests and pictures of reports", "development"),
    Part("SPIN", Program(("spin",), "spin", ("-V",)), "the oracle of searches and formulas", "development"),
    Part("gcc", Program(("gcc",), "gcc"), "compiling what SPIN makes", "development"),
    Part("coverage", Package("coverage", "import coverage"), "branches that packets reach", "development"),
    Part("CrossHair", Package("crosshair-tool", "import crosshair"), "the oracle of paths", "development"),
    Part("furo", Package("furo", "import furo"), "the theme of the pages", "development"),
    Part("Hypothesis", Package("hypothesis", "import hypothesis"), "generated tests", "development"),
    Part("import-linter", Package("import-linter", "import importlinter"), "floors", "development"),
    Part("jsonschema", Package("jsonschema", "import jsonschema"), "checking exports", "development"),
    Part("Mininet", Package("mininet", "import mininet.topo"), "the oracle of topologies", "development"),
    Part("mypy", Package("mypy", "import mypy.api"), "types", "development"),
    Part("MyST", Package("myst-parser", "import myst_parser"), "pages in Markdown", "development"),
    Part(
        "Playwright", Package("playwright", "import playwright.sync_api"), "Chromium in tests", "development"
    ),
    Part("pytest-xdist", Package("pytest-xdist", "import xdist"), "tests on all cores", "development"),
    Part("python-openflow", Package("python-openflow", "import pyof"), "the codec's oracle", "development"),
    Part("ruff", Package("ruff", "import ruff"), "lint and format", "development"),
    Part("Sphinx", Package("sphinx", "import sphinx.application"), "building the pages", "development"),
)


def find_program(command: str) -> Path | None:
    """Return where a program is, daemons included, or None."""
    folders = [os.environ.get("PATH", os.defpath), *SYSTEM_FOLDERS]
    found = shutil.which(command, path=os.pathsep.join(folders))
    return None if found is None else Path(found)


def debian_package(command: str) -> str:
    """Return the Debian package that brings a program of the table."""
    return next(program.debian for program in programs() if command in program.commands)


def programs() -> list[Program]:
    """Return the programs of the table."""
    return [part.kind for part in PARTS if isinstance(part.kind, Program)]


# Which Python packages Penstock asks for: as its pyproject.toml says, or its installed metadata.


_REQUIREMENT: Final = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*(?:>=\s*([^\s;,]+))?")


class Requirement(NamedTuple):
    """A Python package that Penstock asks for, and the oldest version that will do."""

    name: str
    oldest: str

    def __str__(self) -> str:
        return f"{self.name}>={self.oldest}" if self.oldest else self.name


def requirements() -> dict[str, Requirement]:
    """Return all that Penstock asks for by name, whether always or for one of its extras."""
    matches = filter(None, map(_REQUIREMENT.match, _requirements()))
    found = [Requirement(match[1].lower(), match[2] or "") for match in matches]
    return {each.name: each for each in found if each.name != "penstock"}


def _requirements() -> list[str]:
    root = checkout()
    if root is None:
        return metadata.requires("penstock") or []
    # What was installed from a checkout may be older than what is in it now.
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]


def is_too_old(version: str, oldest: str) -> bool:
    """Tell whether a version comes before another; what is not a number in them does not count."""
    return _numbers(version) < _numbers(oldest)


def _numbers(version: str) -> list[int]:
    numbers = [int(each) for each in re.findall(r"\d+", version.partition("+")[0])]
    while numbers and not numbers[-1]:
        numbers.pop()  # 4.0 is no newer than 4
    return numbers


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
