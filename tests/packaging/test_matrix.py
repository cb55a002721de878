"""A wheel is enough: on each Python of this machine, in a clean environment and an empty folder.

There is no source tree, no Makefile and no Ryu.  The tutorial is followed to the letter, then commands that
it leads to are typed.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.packaging.python_versions import Python, pythons
from tests.packaging.wheel_lab import ROOT, Installed
from tools.follow_page import Following, blocks_of

TUTORIAL = blocks_of(ROOT / "docs" / "tutorial.md")
(APP,) = (block.text for block in TUTORIAL if block.said.get("file") == "my_switch.py")


@pytest.mark.parametrize("python", pythons(), ids=lambda python: f"{python.version}-{python.place}")
def test_the_wheel_does_all_that_needs_no_checkout(
    python: Python, wheel: Path, tmp_path: Path, tell_at_end: Callable[[str], None]
) -> None:
    installed = Installed(python, wheel, tmp_path)
    assert_installed_apart(installed)
    assert_doctor(installed)
    assert_demo(installed)
    assert_tutorial(installed)
    assert_fuzzing(installed)
    steps = ", ".join(f"{name} {seconds:.1f}" for name, seconds in installed.seconds.items())
    whole = sum(installed.seconds.values())
    tell_at_end(f"Python {python.version} ({python.place}): {whole:.0f} s: {steps}")


def assert_installed_apart(installed: Installed) -> None:
    place = installed.python("import penstock; print(penstock.__file__)")
    assert Path(place.strip()).is_relative_to(installed.bin.parent)


def assert_doctor(installed: Installed) -> None:
    found = json.loads(installed.run("doctor", "--json"))
    assert found["ready"] and found["checkout"] is None
    states = {part["name"]: part["state"] for part in found["parts"]}
    assert states["Ryu's sources"] == "missing" and states["pytest"] == "working"


def assert_demo(installed: Installed) -> None:
    printed = installed.run("demo")
    assert "Checking Penstock's own little learning switch" in printed
    assert "3 of 3 bugs found." in printed
    for name in ("host-moved", "delayed-path", "loop"):
        assert (installed.folder / "penstock-traces" / f"{name}-1.html").is_file()


def assert_tutorial(installed: Installed) -> None:
    begun = time.perf_counter()
    folder = installed.folder / "tutorial"
    folder.mkdir()
    following = Following(folder, installed.environment)
    following.follow(TUTORIAL)
    assert len(following.ran) >= sum(block.reason is None for block in TUTORIAL)
    installed.note("tutorial", begun)


def assert_fuzzing(installed: Installed) -> None:
    """Fuzz the tutorial's app as it is before it is mended, and go on with what that finds."""
    (installed.folder / "my_switch.py").write_text(APP)
    found = installed.run("fuzz", "my_switch.py", "--topo", "linear,2", "--seed", "1", status=1)
    assert "NoBlackHoles is violated" in found and "1 persistent violation found." in found
    run = "penstock-runs/my_switch-1"
    assert "inputs to 1, none of which can be left out" in installed.run("minimize", run, status=1)
    assert "NoBlackHoles is violated" in installed.run("replay", f"{run}/minimal", status=1)
    assert "The report is in" in installed.run("report", run)
    assert (installed.folder / run / "report.html").read_text().rstrip().endswith("</html>")
    proved = installed.run("verify", "my_switch.py", "--topo", "single,2", "-p", "NoForwardingLoops")
    assert "Proved, for any number of packets." in proved


def test_there_is_a_python_to_test_with() -> None:
    assert pythons(), "no Python on this machine is new enough"
