"""The parts: all that Penstock needs or can use, each with how it is tried and what it gives.

This is the one list of them.  `penstock doctor` prints it, tests look up which package brings a program, and
`tools/setup.sh` installs those packages.  The versions that Penstock asks for are in its metadata alone.
"""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from dataclasses import dataclass
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Final, Literal, NamedTuple

from penstock._base.checkout import checkout

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
    matches = filter(None, map(_REQUIREMENT.match, _written()))
    found = [Requirement(match[1].lower(), match[2] or "") for match in matches]
    return {each.name: each for each in found if each.name != "penstock"}


def _written() -> list[str]:
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
