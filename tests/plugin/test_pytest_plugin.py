"""Penstock in pytest, in runs of pytest itself: what fails, how it looks, and what is collected."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from penstock._api import Scenario, check

pytest_plugins = ["pytester"]

EXAMPLES = Path(__file__).parents[2] / "examples"
IS_INSTALLED = bool(entry_points(group="pytest11", name="penstock"))
PLUGIN = () if IS_INSTALLED else ("-p", "penstock.pytest_plugin")
MENDED = "if message.in_port == 1:\n            self.packet_out"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Give a project with the hub of the examples, and a scenario in which its floods go round."""
    monkeypatch.delenv("CI", raising=False)
    hub = (EXAMPLES / "controllers" / "hub.py").read_text()
    pytester.makefile(".py", hub=hub)
    pytester.makefile(
        ".toml",
        ring="""
        topology = "ring,3"
        properties = ["NoForwardingLoops"]
        controller = {native = "hub.py:Hub"}
        hosts.h1 = {kind = "ping", to = "h2"}
        """,
    )
    return pytester


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run pytest in the project as its users do."""
    return project.runpytest_subprocess(*PLUGIN, "-p", "no:cacheprovider", *arguments)


def ring_trace(folder: Path, into: str, name: str = "ring") -> Path:
    """Check the project's hub in a ring, and return the trace of its loop."""
    ring = Scenario(
        name=name,
        topology="ring,3",
        properties=["NoForwardingLoops"],
        controller={"native": "hub.py:Hub"},
        hosts={"h1": {"kind": "ping", "to": "h2"}},
        folder=folder,
    )
    (found,) = check(ring, output=folder / into).violations
    assert found.trace is not None
    return found.trace


def mend(project: pytest.Pytester) -> None:
    """Have the hub flood only what comes from hosts."""
    hub = project.path / "hub.py"
    hub.write_text(hub.read_text().replace("self.packet_out", MENDED))


def test_a_violation_fails_a_test_with_its_story_and_the_command_of_its_report(
    project: pytest.Pytester,
) -> None:
    project.makefile(".py", rules="def wrong(states):\n    return states.nobody\n")
    project.makepyfile(
        test_it="""
        from penstock import check

        def test_hub(penstock):
            assert penstock.check("ring.toml", topology="single,2").conclusive

        def test_ring(penstock):
            penstock.check("ring.toml")

        def test_without_the_fixture(tmp_path):
            check("ring.toml", output=tmp_path).assert_holds()

        def test_property_that_raises(penstock):
            penstock.check("ring.toml", topology="single,2", properties=["rules.py:wrong"])

        def test_typing_mistake(penstock):
            penstock.check("rong.toml")

        def test_proof(penstock):
            penstock.verify("ring.toml", topology="linear,2", properties=["NoForwardingLoops"])

        def test_bounded(penstock):
            penstock.check("ring.toml", topology="single,2", depth=3, conclusive=True)
        """
    )
    ran = run(project, "--junit-xml=junit.xml")
    ran.assert_outcomes(passed=2, failed=5)
    ran.stdout.fnmatch_lines(
        [
            "penstock check of ring: violation of NoForwardingLoops",
            "  1. h1 sends h1#1 *",
            "  ✗  NoForwardingLoops is violated: *",
            "See it with: penstock report *test_ring*/ring-1.jsonl",
            "penstock check of ring: violation of NoForwardingLoops",
            "See it with: penstock report *test_without_the_fixture*/ring-1.jsonl",
            "The property wrong raised AttributeError: *rules.py:2, in its 'at_rest': *",
            "*rules.py*, line 2, in wrong",
            "*rong.toml cannot be read (No such file or directory): check its path.",
            "penstock check of ring: bounded: this is not conclusive.",
        ]
    )
    ran.stdout.no_fnmatch_line("*def test_ring*")
    ran.stdout.no_fnmatch_line("*assert_holds*")
    traces = [project.path / line.split()[-1] for line in ran.outlines if "penstock report " in line]
    assert len(traces) == 2 and all(trace.is_file() for trace in traces)
    written = (project.path / "junit.xml").read_text()
    assert all(f'name="penstock-trace" value="{trace}"' in written for trace in traces)


def test_markers_give_fields_and_choose_tests_and_workers_keep_their_traces_apart(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(
        test_it="""
        import pytest

        pytestmark = pytest.mark.penstock(topology="ring,3")

        @pytest.mark.penstock(topology="single,2", depth=3)
        def test_nearest_marker_wins(penstock):
            result = penstock.check("ring.toml")
            assert result.details.scenario.search == {"depth": 3}

        @pytest.mark.penstock(topology="single,2")
        def test_call_wins(penstock):
            penstock.check("ring.toml", topology="ring,4")

        def test_module_marker(penstock):
            penstock.check("ring.toml")
        """,
        test_other="""
        def test_other():
            pass

        def test_with_fixture(penstock):
            pass
        """,
    )
    ran = run(project, "-n1", "-m", "penstock", "--penstock-output", "found", "--strict-markers")
    ran.assert_outcomes(passed=2, failed=2)
    ran.stdout.fnmatch_lines(["*penstock report found/test_it.py-test_call_wins/ring-1.jsonl"])
    assert sorted(str(path.relative_to(project.path)) for path in project.path.glob("found/*/*-1.jsonl")) == [
        "found/test_it.py-test_call_wins/ring-1.jsonl",
        "found/test_it.py-test_module_marker/ring-1.jsonl",
    ]


def test_traces_in_a_folder_are_tests_until_their_bugs_are_mended(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\npenstock_traces = traces\n")
    project.makepyfile(test_other="def test_other(): pass")
    ring_trace(project.path, "traces")
    known = ring_trace(project.path, "traces/known", "known")
    known.with_suffix(".xfail").write_text("issue 12: floods go round\n")
    for name in ("progress", "ring-covered"):
        (project.path / "traces" / f"{name}.jsonl").write_text("{}\n")
    ring_trace(project.path, "elsewhere")

    ran = run(project, "-rx")
    ran.assert_outcomes(passed=1, failed=1, xfailed=1)
    ran.stdout.fnmatch_lines(
        [
            "*replay of ring-1.jsonl*",
            "penstock replay of ring-1.jsonl: violation of NoForwardingLoops",
            "  ✗  NoForwardingLoops is violated: *",
            "See it with: penstock report traces/ring-1.jsonl",
            "XFAIL traces/known/known-1.jsonl::replay - issue 12: floods go round *",
        ]
    )
    mend(project)
    ran = run(project)
    ran.assert_outcomes(passed=1, failed=2)
    ran.stdout.fnmatch_lines(
        [
            "hub.py changed since ring-1.jsonl was recorded, and this would run hub.py: "
            "give --penstock-trust, or penstock_trust = true, if you trust that."
        ]
    )
    project.makeini("[pytest]\npenstock_traces = traces\npenstock_trust = true\n")
    ran = run(project)
    ran.assert_outcomes(passed=2, failed=1)
    ran.stdout.fnmatch_lines(["*XPASS(strict)* issue 12: floods go round (if the bug is gone, delete *)"])


def test_a_folder_can_be_named_on_the_command_line_and_its_traces_may_be_strangers(
    project: pytest.Pytester,
) -> None:
    trace = ring_trace(project.path, "somewhere")
    trace.write_text(trace.read_text().replace("h1 sends h1#1", "\\u001b[2J h1 sends h1#1"))
    (project.path / "somewhere" / "cut.jsonl").write_text('{"format": "something else"}\n')
    project.makepyfile(test_other="def test_other(): pass")
    ran = run(project, "-n1", "--penstock-traces", "somewhere", "test_other.py", "--color=no")
    ran.assert_outcomes(passed=1, failed=2)
    ran.stdout.fnmatch_lines(["cut.jsonl is not a trace: its first line does not say penstock-trace."])
    assert "\x1b" not in ran.stdout.str() and "\\x1b[2J h1 sends" in ran.stdout.str()


def test_what_was_left_out_is_a_warning_and_with_strict_a_failure(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        def test_bounded(penstock):
            penstock.check("ring.toml", topology="single,2", depth=3)
        """
    )
    ran = run(project)
    ran.assert_outcomes(passed=1, warnings=1)
    ran.stdout.fnmatch_lines(
        ["*PenstockWarning: penstock check of ring: bounded is not conclusive: depth 3*"]
    )
    run(project, "--penstock-strict").assert_outcomes(failed=1)


def test_a_result_in_which_nothing_was_judged_fails(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        def test_nothing(penstock):
            penstock.check("ring.toml", topology="single,2", properties=["NoForgottenPackets"])
        """
    )
    ran = run(project)
    ran.assert_outcomes(failed=1)
    ran.stdout.fnmatch_lines(["*penstock check of ring: bounded: nothing was judged.*"])


def test_no_engine_is_imported_before_one_is_needed() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", "import penstock.pytest_plugin, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    ours = {name for name in loaded if name.startswith("penstock")}
    modules = ["errors", "pytest_plugin", "_results", "_base", "_base.files", "_base.version"]
    modules += ["_old_names", "_verdict", "_verdict.verdict"]
    assert ours == {"penstock", *(f"penstock.{name}" for name in modules)}
    assert not {"os_ken", "z3", "networkx", "rich", "click"} & set(loaded)
