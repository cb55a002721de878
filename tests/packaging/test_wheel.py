"""What is in the wheel and in the source archive, and what they say of themselves."""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

import pytest
from tests.packaging.wheel_lab import ROOT, clean_environment, copy_sources, pip

SOURCES = ROOT / "src" / "penstock"
BUILD_SDIST = "from setuptools.build_meta import build_sdist; import sys; print(build_sdist(sys.argv[1]))"


def requirements() -> list[str]:
    return list(tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"])


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def about(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return HeaderParser().parsestr(archive.read(metadata).decode())


def test_all_files_of_the_package_are_in_it(names: set[str]) -> None:
    files = {
        path.relative_to(SOURCES.parent).as_posix()
        for path in SOURCES.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"penstock/py.typed", "penstock/_demo/learning_switch.py", "penstock/_demo/loop.toml"} <= files
    assert files == {name for name in names if ".dist-info/" not in name}


def test_it_says_what_it_is(about: Message, names: set[str]) -> None:
    assert about["License-Expression"] == "Apache-2.0"
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    classifiers = about.get_all("Classifier", [])
    assert "Typing :: Typed" in classifiers
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)} <= set(classifiers)
    assert about["Requires-Python"] == ">=3.11"


def test_the_source_archive_has_what_the_wheel_has(tmp_path: Path, names: set[str]) -> None:
    pip(sys.executable, "install", "--quiet", "--target", str(tmp_path / "backend"), *requirements())
    sources = copy_sources(tmp_path / "sources")
    build = [sys.executable, "-c", BUILD_SDIST, str(tmp_path)]
    environment = clean_environment() | {"PYTHONPATH": str(tmp_path / "backend")}
    subprocess.run(build, cwd=sources, env=environment, check=True, capture_output=True)
    (packed,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        members = {name.partition("/")[2].removeprefix("src/") for name in archive.getnames()}
    assert {name for name in names if name.startswith("penstock/")} <= members
    assert {"LICENSE", "README.md", "pyproject.toml"} <= members
