"""How to get a part: a command for this machine and this installation."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Final, assert_never

from penstock._base.checkout import checkout
from penstock._doctor.parts import FaucetEnvironment, Package, Part, Program, RyuSources, find_program
from penstock._doctor.requirements import Requirement, requirements

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
