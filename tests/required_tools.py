"""Real programs that tests need: where they are, and what becomes of a test without them."""

import os
from pathlib import Path
from typing import NoReturn

import pytest

from penstock._doctor import debian_package, find_program


def find_tool(tool: str) -> Path:
    """Return where a program is; without it, skip the test, or under CI fail it."""
    package = debian_package(tool)
    found = find_program(tool)
    if found is None:
        do_without(f"{tool} is missing: install the Debian package {package} (make setup does it as root).")
    return found


def do_without(missing: str) -> NoReturn:
    """Skip a test visibly, or under CI fail it, for want of a real part."""
    if os.environ.get("CI", "").lower() in ("true", "1"):
        pytest.fail(missing, pytrace=False)
    pytest.skip(missing)
