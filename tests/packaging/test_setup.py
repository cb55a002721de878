"""tools/setup.sh: which Python it takes, what it installs when, and that nothing is thrown away.

The Pythons are stand-ins that note what they are asked for; tests/packaging/test_matrix.py has real ones.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STAND_IN = """\
#!/usr/bin/env bash
here="$(dirname "$0")"
case "$*" in
*_base_executable*) cat "$here/base" 2>/dev/null || realpath "$0" ;;
*"-m venv "*)
    echo "venv ${@: -1} by $(basename "$0")" >>"$CALLS"
    mkdir -p "${@: -1}/bin"
    cp "$0" "${@: -1}/bin/python"
    realpath "$0" >"${@: -1}/bin/base"
    cp "$0" "${@: -1}/bin/penstock" ;;
*"-m pip --version"*) ;;
*"-m pip "*)
    echo "pip ${@: -1}" >>"$CALLS"
    if [[ "$*" == *faucet* ]]; then cp "$0" "$here/osken-manager"; fi
    if [[ -e "$BROKEN" ]]; then echo "ERROR: no index"; exit 1; fi ;;
*fetch-ryu*) echo "fetch-ryu" >>"$CALLS" ;;
*missing_packages.py*|--version) ;;
*) exec "$REAL" "$@" ;;
esac
"""
DEMO = ["venv .venv by one", "pip .", "fetch-ryu"]
THE_REST = ["pip .[dev]", "fetch-ryu", "venv .cache/faucet-1.10.12 by one", "pip faucet==1.10.12"]


class Checkout:
    """A checkout with two Pythons beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "checkout"
        self.broken = folder / "broken"
        self._calls = folder / "calls"
        self._bin = folder / "bin"
        (self.folder / "tools").mkdir(parents=True)
        self._bin.mkdir()
        shutil.copy(ROOT / "pyproject.toml", self.folder)
        shutil.copy(ROOT / "tools" / "setup.sh", self.folder / "tools")
        for name in ("one", "two"):
            (self._bin / name).write_text(STAND_IN)
            (self._bin / name).chmod(0o755)
        for version in ("3", *(f"3.{minor}" for minor in range(11, 15))):
            (self._bin / f"python{version}").symlink_to("one")

    def set_up(self, what: str, *, python: str = "", ci: str = "", status: int = 0) -> list[str]:
        """Run set-up and return what was asked of the Pythons."""
        self._calls.write_text("")
        done = subprocess.run(
            ["bash", self.folder / "tools" / "setup.sh", what],
            env={
                "PATH": f"{self._bin}{os.pathsep}{os.defpath}",
                "HOME": str(self.folder),
                "CALLS": str(self._calls),
                "BROKEN": str(self.broken),
                "REAL": sys.executable,
                "PYTHON": str(self._bin / python) if python else "",
                "CI": ci,
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.said = done.stderr
        assert done.returncode == status, done.stderr
        return self._calls.read_text().splitlines()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_the_demo_installs_penstock_alone_and_only_once(checkout: Checkout) -> None:
    assert checkout.set_up("demo") == DEMO
    assert checkout.set_up("demo") == []


def test_what_tests_need_is_added_to_what_the_demo_installed(checkout: Checkout) -> None:
    checkout.set_up("demo")
    assert checkout.set_up("all") == THE_REST
    assert checkout.set_up("demo") == []
    assert checkout.set_up("all") == ["fetch-ryu"]  # the stand-in fetched nothing


def test_progress_is_told_with_seconds(checkout: Checkout) -> None:
    checkout.set_up("all")
    assert "setup: installing Penstock and what its tests and pages need into .venv …\nsetup:   done in" in (
        checkout.said
    )
    assert checkout.said.count("done in") == 4


def test_the_python_that_was_chosen_is_kept(checkout: Checkout) -> None:
    assert checkout.set_up("all", python="two")[0] == "venv .venv by two"
    assert checkout.set_up("demo") == []
    (checkout.folder / "pyproject.toml").write_text("# other requirements")
    assert checkout.set_up("demo") == ["pip .", "fetch-ryu"]


def test_another_python_makes_the_environment_anew(checkout: Checkout) -> None:
    checkout.set_up("demo")
    assert checkout.set_up("demo", python="two")[0] == "venv .venv by two"
    assert checkout.set_up("demo", python="two") == []


def test_a_choice_outlives_an_installation_that_failed(checkout: Checkout) -> None:
    checkout.broken.touch()
    checkout.set_up("demo", python="two", status=1)
    assert "ERROR: no index" in checkout.said
    checkout.broken.unlink()
    assert checkout.set_up("demo") == ["pip .", "fetch-ryu"]


def test_an_environment_that_was_never_finished_is_made_anew_with_the_same_python(checkout: Checkout) -> None:
    checkout.set_up("demo", python="two")
    shutil.rmtree(checkout.folder / ".venv" / "bin")
    assert checkout.set_up("demo")[0] == "venv .venv by two"


def test_an_environment_that_somebody_made_is_taken_as_it_is(checkout: Checkout) -> None:
    checkout.set_up("demo", python="two")
    for name in (".penstock-python", ".penstock-setup"):
        (checkout.folder / ".venv" / name).unlink()
    assert checkout.set_up("demo") == ["pip .", "fetch-ryu"]


def test_a_checkout_that_was_moved_gets_a_new_environment(checkout: Checkout) -> None:
    checkout.set_up("demo", python="two")
    checkout.folder = checkout.folder.rename(checkout.folder.with_name("moved"))
    assert checkout.set_up("demo")[0] == "venv .venv by two"


def test_a_python_that_cannot_be_run_is_one_sentence(checkout: Checkout) -> None:
    assert checkout.set_up("demo", python="three", status=1) == []
    assert "does not run Python 3.11 or newer: name one that does." in checkout.said


@pytest.mark.parametrize(("ci", "status"), [("", 0), ("true", 1)])
def test_faucet_is_gone_without_except_in_ci(checkout: Checkout, ci: str, status: int) -> None:
    checkout.set_up("all")
    shutil.rmtree(checkout.folder / ".cache")
    checkout.broken.touch()
    checkout.set_up("all", ci=ci, status=status)
    assert "faucet-1.10.12 could not be installed, so live runs with it are not tested" in checkout.said
    assert not (checkout.folder / ".cache" / "faucet-1.10.12").exists()
