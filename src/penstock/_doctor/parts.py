"""The parts: all that Penstock needs or can use, each with how it is tried and what it gives.

This is the one list of them.  `penstock doctor` prints it, tests look up which package brings a program, and
`tools/setup.sh` installs those packages.  The versions that Penstock asks for are in its metadata alone.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

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
_USE_OS_KEN: Final = "from penstock._demo import demo_scenario; demo_scenario('loop').build()"
_USE_PENSTOCK: Final = (
    "from penstock._check.check import check; from penstock._demo import demo_scenario; "
    "assert check(demo_scenario('loop')).findings, 'no bug was found in the demo'"
)

PARTS: Final = (
    Part("Penstock", Package("penstock", _USE_PENSTOCK), "finding a bug of the demo", "required"),
    Part("click", Package("click", "import click"), "the command line", "required"),
    Part("greenlet", Package("greenlet", _USE_GREENLET), "tasks of os-ken programs", "required"),
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
