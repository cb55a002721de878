"""Real programs that tests need: where they are, and what becomes of a test without them."""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

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
