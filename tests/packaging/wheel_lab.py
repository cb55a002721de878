"""What the tests of packages share: the wheel, environments with it, and commands in them."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.packaging.packaging_lock import locked
from tests.packaging.python_versions import Python
from tests.required_tools import do_without

ROOT = Path(__file__).parents[2]
NEEDED = ("src", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in")
LONGEST_S = 600
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input")


def build_wheel(folder: Path) -> Path:
    """Return the wheel of these sources, built in a folder by whoever of several processes comes first."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / "lock"):
        if not list(folder.glob("*.whl")):
            sources = copy_sources(folder / "sources")
            pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", str(folder), str(sources))
    (wheel,) = folder.glob("*.whl")
    return wheel


def copy_sources(folder: Path) -> Path:
    """Copy what a build reads: it leaves files behind, which a checkout need not have."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in NEEDED:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder)
    return folder


def pip(python: Path | str, *words: str) -> None:
    """Run pip; without an index that answers, do without the test."""
    done = subprocess.run(
        [python, *PIP, *words], env=clean_environment(), capture_output=True, text=True, timeout=LONGEST_S
    )
    if not done.returncode:
        return
    with tempfile.TemporaryDirectory() as folder:
        reach = [sys.executable, *PIP, "download", "--no-deps", "--no-cache-dir", "--dest", folder, "click"]
        if subprocess.run(reach, capture_output=True, timeout=LONGEST_S).returncode:
            do_without("No package index can be reached, from which the wheel's requirements would come.")
    pytest.fail(f"pip {' '.join(words)} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}", pytrace=False)


def clean_environment() -> dict[str, str]:
    """Return our environment without what leads to our own Python, or to this checkout."""
    ours = ("PYTHON", "VIRTUAL_ENV", "PYTEST", "COVERAGE")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


class Installed:
    """The wheel in a virtual environment, with an empty folder to work in, and nothing of this checkout."""

    def __init__(self, python: Python, wheel: Path, folder: Path) -> None:
        self.bin = folder / "env" / "bin"
        self.folder = folder / "empty"
        self.folder.mkdir()
        self.seconds: dict[str, float] = {}
        self.environment = {
            "PATH": f"{self.bin}{os.pathsep}{os.defpath}",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
        }
        begun = time.perf_counter()
        make: list[str | Path] = [python.place, "-m", "venv", folder / "env"]
        subprocess.run(make, env=clean_environment(), check=True, timeout=LONGEST_S)
        # What is never imported need not be compiled.
        pip(self.bin / "python", "install", "--quiet", "--no-compile", str(wheel), "pytest")
        self.note("install", begun)

    def note(self, name: str, begun: float) -> None:
        """Keep how long something took."""
        self.seconds[name] = time.perf_counter() - begun

    def run(self, *words: str, status: int = 0) -> str:
        """Run `penstock …` and return what it prints; it must end with that status."""
        return self._run(words[0], [str(self.bin / "penstock"), *words], status)

    def python(self, code: str) -> str:
        """Run a piece of Python and return what it prints."""
        return self._run("python", [str(self.bin / "python"), "-c", code], 0)

    def _run(self, name: str, words: Sequence[str], status: int) -> str:
        begun = time.perf_counter()
        done = subprocess.run(
            words, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=LONGEST_S
        )
        self.note(name, begun)
        printed = f"{done.stdout}\n{done.stderr}"
        assert done.returncode == status, f"{words} ends with {done.returncode}:\n{printed}"
        return done.stdout
