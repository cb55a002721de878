"""The Pythons of this machine that Penstock is made for: those on the PATH, and pyenv's."""

import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

OLDEST = (3, 11)
_ABOUT = "import os, sys; print(sys.version.split()[0], os.path.realpath(sys.executable))"


class Python(NamedTuple):
    """A Python: its version, and the program."""

    version: str
    place: Path


@cache
def pythons() -> tuple[Python, ...]:
    """Return each of them once, however many names it has, the oldest first."""
    found = {python for place in _places() if (python := _asked(place)) is not None}
    return tuple(sorted(found, key=lambda python: (_numbers(python.version), python.place)))


def _places() -> Iterator[Path]:
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for place in sorted(Path(folder or ".").glob("python3*")):
            if re.fullmatch(r"python3(\.\d+)?", place.name):
                yield place
    yield from sorted(pyenv_root().glob("versions/*/bin/python"))


def pyenv_root() -> Path:
    """Return where pyenv keeps its versions."""
    return Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")


def _asked(place: Path) -> Python | None:
    """Return what a program says of itself; None if it is no Python that is new enough, or a virtual one."""
    try:
        done = subprocess.run([place, "-I", "-c", _ABOUT], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = done.stdout.strip().split(" ", 1)
    # pyenv's shims stand for versions that may not be chosen here.
    if done.returncode or len(said) != 2 or tuple(_numbers(said[0])[:2]) < OLDEST:
        return None
    return Python(said[0], Path(said[1]))


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]
