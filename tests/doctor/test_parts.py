"""The table of parts: complete, true of this machine, and in step with what pyproject.toml asks for."""

import sys
import tomllib
from pathlib import Path

import pytest

from penstock import _doctor
from penstock._doctor import PARTS, Package, Part, Program

ROOT = Path(__file__).parents[2]


def package(trial: str, distribution: str = "click") -> Part:
    return Part("a part", Package(distribution, trial), "trying")


def program(folder: Path, script: str) -> Part:
    tool = folder / "tool"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    return Part("a part", Program(("tool",), "tool-package"), "trying")


@pytest.fixture
def only_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder that is the only one in which programs are looked for."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(_doctor, "SYSTEM_FOLDERS", ())
    return tmp_path


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Penstock be installed apart from its sources."""
    monkeypatch.setattr(_doctor, "checkout", lambda: None)


def test_every_package_that_penstock_asks_for_is_in_it_and_no_other() -> None:
    listed = {part.kind.distribution: part for part in PARTS if isinstance(part.kind, Package)}
    assert listed.keys() - {"penstock"} == _doctor.requirements().keys()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {each.split(">=")[0] for each in project["dependencies"]}
    assert {name for name, part in listed.items() if part.need == "required"} == {"penstock", *needed}


def test_installed_metadata_say_the_same_as_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    here = _doctor.requirements()
    monkeypatch.setattr(_doctor, "checkout", lambda: None)
    installed = _doctor.requirements()
    assert installed.keys() == here.keys()


def test_what_penstock_requires_works_here() -> None:
    required = [part for part in PARTS if part.need == "required"]
    told: list[str] = []
    found = _doctor.probe_all(required, lambda probe: told.append(probe.part.name))
    assert [(probe.part.name, probe.state, probe.reason) for probe in found] == [
        (part.name, "working", "") for part in required
    ]
    assert sorted(told) == sorted(part.name for part in required)


@pytest.mark.parametrize(
    ("trial", "reason"),
    [
        ("raise ImportError('libz3.so: cannot open')", "ImportError: libz3.so: cannot open"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "it is killed by SIGSEGV"),
        ("import sys; sys.exit(7)", "it ends with the status 7"),
    ],
)
def test_a_package_that_breaks_is_named_with_the_reason(trial: str, reason: str) -> None:
    found = _doctor.probe(package(trial))
    assert (found.state, found.reason) == ("broken", reason)
    assert found.version


def test_a_package_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_doctor, "PATIENCE_S", 0.2)
    assert _doctor.probe(package("input = [] \nwhile True: pass")).reason == "it does not answer within 0 s"


def test_a_package_that_is_too_old_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {"click": _doctor.Requirement("click", "999.1")}
    monkeypatch.setattr(_doctor, "requirements", lambda: wanted)
    found = _doctor.probe(package("import click"))
    assert found.state == "broken" and found.reason.endswith("is too old: Penstock needs click>=999.1")


def test_a_package_that_is_not_there_is_missing() -> None:
    assert _doctor.probe(package("import nothing", "no-such-distribution")).state == "missing"


def test_programs_are_run(only_here: Path) -> None:
    working = _doctor.probe(program(only_here, 'echo "tool (Good Tools) 2.13.4-dev"'))
    assert (working.state, working.version, working.place) == (
        "working",
        "2.13.4-dev",
        str(only_here / "tool"),
    )
    broken = _doctor.probe(program(only_here, "echo libcrypto.so.3: not found >&2; exit 127"))
    assert (broken.state, broken.reason) == ("broken", "libcrypto.so.3: not found")
    (only_here / "tool").write_text("#!/no/such/interpreter\n")
    assert (
        "cannot be started"
        in _doctor.probe(Part("a part", Program(("tool",), "tool-package"), "trying")).reason
    )


def test_a_program_is_missing_if_any_of_its_package_is(only_here: Path) -> None:
    program(only_here, "true")
    both = Part("a part", Program(("tool", "other-tool"), "tool-package"), "trying")
    assert _doctor.probe(both).state == "missing"


@pytest.mark.parametrize(
    ("version", "oldest", "is_too_old"),
    [
        ("4.0", "4", False),
        ("4", "4.0", False),
        ("3.99.1", "4.0", True),
        ("10.1", "9.9", False),
        ("2.3.0.dev6", "2.3.0.dev6", False),
        ("2.3.0.dev5", "2.3.0.dev6", True),
        ("1.2+local9", "1.2", False),
    ],
)
def test_versions_are_compared_by_their_numbers(version: str, oldest: str, is_too_old: bool) -> None:
    assert _doctor.is_too_old(version, oldest) is is_too_old


def test_in_a_checkout_make_setup_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_doctor, "checkout", lambda: ROOT)
    monkeypatch.setattr(sys, "prefix", str(ROOT / ".venv"))
    assert _doctor.how_to_get(package("import click")) == "make setup"


def test_elsewhere_pip_and_apt_get_it(
    elsewhere: None, only_here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/some env/bin/python")
    assert _doctor.how_to_get(package("import z3", "z3-solver")) == (
        "'/opt/some env/bin/python' -m pip install --upgrade 'z3-solver>=4.12'"
    )
    tool = program(only_here, "true")
    assert "package manager" in _doctor.how_to_get(tool)
    (only_here / "apt-get").touch(mode=0o755)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert _doctor.how_to_get(tool) == "sudo apt-get install tool-package"
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert _doctor.how_to_get(tool) == "apt-get install tool-package"
