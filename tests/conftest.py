"""Every test is repeatable, and a test that needs a real program says so.

Hypothesis draws the same examples in each run, on any machine.  A program that is missing is a
visible skip for people and a failure in CI, where a skipped test would pass for a proof.
This file also puts its folder on the import path, for the strategies that tests share.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")

SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where Debian keeps daemons; they are seldom on the PATH of a normal user."""


def find_tool(tool: str, *, package: str) -> Path:
    """Return where a program is; without it, skip the test, or under CI fail it."""
    found = shutil.which(tool, path=os.pathsep.join([os.environ.get("PATH", os.defpath), *SYSTEM_FOLDERS]))
    if found is None:
        do_without(f"{tool} is missing: install the Debian package {package} (make setup does it as root).")
    return Path(found)


def do_without(missing: str) -> NoReturn:
    """Skip a test visibly, or under CI fail it, for want of a real part."""
    if os.environ.get("CI", "").lower() in ("true", "1"):
        pytest.fail(missing, pytrace=False)
    pytest.skip(missing)


@pytest.fixture(scope="session")
def require_tool() -> Callable[..., Path]:
    """Give tests `require_tool("ovs-vswitchd", package="openvswitch-switch")`, which returns the path."""
    return find_tool


@pytest.fixture(scope="session")
def ryu_sources() -> Path:
    """Give tests the folder of Ryu's own apps, which set-up fetches."""
    from penstock.controllers.osken.ryu import source_folders

    folders = source_folders()
    if not folders:
        do_without("The sources of Ryu are missing: make setup fetches them.")
    return folders[0]
