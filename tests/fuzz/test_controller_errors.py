"""Errors that controllers log are violations: told once, counted, minimised; what we say is none."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.fuzz_lab import scenario
from tests.fuzz.live_lab import live_scenario, scripted
from tests.fuzz.test_log_errors import KEY_ERROR
from tests.tcp_lab import nothing_left

from penstock._controllers.controller import Controller
from penstock._fuzz.building import build_setting
from penstock._fuzz.controller_errors import SETTLING_MS, ControllerErrors
from penstock._fuzz.fuzzing import Report, fuzz
from penstock._fuzz.invariants import invariants_of
from penstock._fuzz.judging import REPEATED
from penstock._fuzz.live_harness import LINES_PER_S, LiveHarness
from penstock._fuzz.summary import lasting, summary, summary_lines
from penstock._minimize.ddmin import minimise
from penstock._replay.live import LiveReproducer
from penstock._replay.live_play import SilentLog
from penstock._replay.recording import load_script
from penstock._report.run_story import Choice, tell_run
from penstock._scenario.options import FuzzOptions
from penstock._trace.trace import read_trace
from penstock._world.component import Event
from penstock._world.transition import Record, Transition


class _Setting:
    options = FuzzOptions(ignored_errors=["*harmless*"])


class _Stage:
    """As much of a stage as the invariant needs."""

    def __init__(self) -> None:
        self.setting, self.clock, self.has_begun = _Setting(), 0, True
        self.log_observers: list[Any] = []

    def now(self) -> int:
        return self.clock


def reading() -> tuple[ControllerErrors, _Stage]:
    stage = _Stage()
    return ControllerErrors(stage), stage  # type: ignore[arg-type]


def hear(errors: ControllerErrors, text: str, controller: str = "c0") -> None:
    for line in text.split("\n"):
        errors.hear(controller, line)


def test_an_error_is_told_once_when_it_is_complete_and_counted() -> None:
    errors, stage = reading()
    hear(errors, KEY_ERROR)
    assert errors.check(stage.now()) == [] and errors.is_undecided
    stage.clock += SETTLING_MS
    (found,) = errors.check(stage.now())
    assert found.persistent and not errors.is_undecided
    assert found.message == "c0 raised KeyError at app.py line 14 in forward: KeyError: 3"
    for _ in range(3):
        stage.clock += 1000
        hear(errors, KEY_ERROR.replace("KeyError: 3", f"KeyError: {stage.clock}"))
        assert not errors.is_undecided
    assert errors.check(stage.now()) == []
    (often,) = errors.repetitions()
    assert (often.verdict, often.times, often.since, often.last) == (REPEATED, 4, 0, 3000 + SETTLING_MS)


def test_lines_that_a_controller_logs_before_anything_is_done_are_usual_for_it() -> None:
    errors, stage = reading()
    stage.has_begun = False
    hear(errors, f"ERROR s1 is not up\nINFO fine\n{KEY_ERROR}")
    stage.has_begun = True
    hear(errors, "ERROR s2 is not up\nERROR something else\nINFO fine")
    assert [found.message.partition(":")[0] for found in errors.check(stage.now())] == [
        "c0 raised KeyError at app.py line 14 in forward",
        "c0 logged an error, ERROR something else",
    ]


def test_usual_lines_are_told_in_a_remark_with_their_number() -> None:
    errors, stage = reading()
    stage.has_begun = False
    hear(errors, "ERROR port 1 is not up\nINFO fine")
    stage.has_begun = True
    hear(errors, "ERROR port 2 is not up\nINFO fine\nSegmentation fault\nINFO no")
    (found,) = errors.check(stage.now())
    assert found.message.startswith("c0 logged an error, Segmentation fault")
    (remark,) = errors.remarks()
    assert remark.endswith("which do not count (2 times): ERROR port 1 is not up")


def test_each_controller_has_a_log_of_its_own() -> None:
    errors, stage = reading()
    for line in KEY_ERROR.split("\n"):
        hear(errors, line, "c0")
        hear(errors, line, "c1")
    stage.clock += SETTLING_MS
    assert [found.message.partition(":")[0] for found in errors.check(stage.now())] == [
        "c0 raised KeyError at app.py line 14 in forward",
        "c1 raised KeyError at app.py line 14 in forward",
    ]


def test_a_flood_of_different_errors_is_told_by_some_of_them() -> None:
    errors, stage = reading()
    words = [
        f"{'abcdefghij'[n // 100]}{'klmnopqrst'[n // 10 % 10]}{'uvwxyzlmno'[n % 10]}" for n in range(1000)
    ]
    for word in words:
        hear(errors, f"ERROR {word}")
    hear(errors, "ERROR this one is harmless")
    stage.clock += SETTLING_MS
    found = errors.check(stage.now())
    assert len(found) == 101 and found[-1].message == "c0 logged an error, further errors: ERROR bku"
    (rest,) = errors.repetitions()
    assert rest.times == 900


def test_what_a_controller_in_process_logs_is_read_as_well() -> None:
    errors, stage = reading()
    events = (Event("log", ("c0", f"ERROR it failed\n{KEY_ERROR}")), Event("log", ("c0", "fine")))
    errors.observe(Record(Transition("deliver", "s1", "c0"), "c0", None, None, (), events, ()))
    (found,) = errors.check(stage.now())
    assert found.message.startswith("c0 raised KeyError at app.py line 14 in forward: ")


def run(folder: Path, *words: str, **fuzz_options: Any) -> Report:
    """Run a scripted controller on links that fail, to the end."""
    inputs = ["send h1 to h2 ping 1", "fail s1-s2", "wait 50", "recover s1-s2", "wait 50"]
    given = live_scenario(
        folder,
        scripted(*words) | {"log_files": ["app.log"], "cwd": str(folder)},
        topology="linear,2",
        openflow="1.3",
        fuzz={"inputs": inputs, "invariants": ["ControllerErrors"], **fuzz_options},
    )
    with nothing_left():
        return asyncio.run(fuzz(given, folder / "runs", invariants=invariants_of))


@pytest.fixture(scope="module")
def raised(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return run(tmp_path_factory.mktemp("raised"), "raises")


def test_a_traceback_in_the_log_of_a_process_is_a_violation_with_its_count(raised: Report) -> None:
    (found,) = lasting(raised)
    what = "c0 raised KeyError at scripted_controller.py line "
    assert found.finding.invariant == "ControllerErrors" and found.finding.message.startswith(what)
    (told,) = summary(raised)["violations"]
    # Two ports change, twice.
    assert told["times"] == 4
    text = "\n".join(summary_lines(raised))
    assert "     It came 4 times, first at " in text and "1 persistent violation found." in text


def test_the_trace_tells_what_the_controller_heard_and_the_traceback(raised: Report) -> None:
    told = "\n".join(tell_run(read_trace(raised.trace), Choice()))
    assert "Input: fail s1-s2" in told and "c0 logs: Traceback (most recent call last):" in told
    assert "PortStatus" in told and "Input: send h1 to h2" not in told
    whole = "\n".join(tell_run(read_trace(raised.trace), Choice(whole=True)))
    assert "ControllerErrors was violated 4 times, first at " in whole


def test_it_is_minimised_to_the_input_that_it_takes(raised: Report) -> None:
    script = load_script(raised.folder)
    minimal = minimise(script, LiveReproducer(script), simplify=False)
    assert [str(cue) for cue in minimal.inputs] == ["fail s1-s2"]
    assert minimal.message.startswith("c0 raised KeyError at ")


def test_a_log_file_that_the_scenario_names_is_read(tmp_path: Path) -> None:
    report = run(tmp_path, "writes=app.log")
    assert [found.finding.message.partition(":")[0] for found in lasting(report)] == [
        "c0 logged an error, ERROR port … has changed"
    ]


def test_ignored_errors_do_not_count(tmp_path: Path) -> None:
    report = run(tmp_path, "raises", ignored_errors=["KeyError: *"])
    assert lasting(report) == []


def test_a_pattern_makes_an_error_of_a_line(tmp_path: Path) -> None:
    report = run(tmp_path, error_patterns=["heard PortStatus"])
    messages = [found.finding.message for found in lasting(report)]
    assert messages and all(text.startswith("c0 logged an error, heard PortStatus(") for text in messages)


def test_what_penstock_says_of_a_controller_is_no_error_of_its(tmp_path: Path) -> None:
    report = run(tmp_path, "odd")
    assert lasting(report) == []


class Quiet(Controller):
    """Does nothing."""


def test_it_is_among_the_usual_invariants(tmp_path: Path) -> None:
    given = scenario(Quiet(), fuzz={"inputs": ["check"]})
    kinds: list[str] = []

    def remember(stage: Any) -> Any:
        found = invariants_of(stage)
        kinds.extend(type(each).__name__ for each in found)
        return found

    asyncio.run(fuzz(given, tmp_path, invariants=remember))
    assert "ControllerErrors" in kinds


def test_of_a_flood_of_lines_the_trace_takes_some_and_all_are_read(tmp_path: Path) -> None:
    given = live_scenario(tmp_path, scripted(), topology="single,2", openflow="1.3")
    written: list[str] = []
    heard: list[str] = []
    stage = LiveHarness(build_setting(given), SilentLog(4), logs=tmp_path)
    stage.recorder.hears = lambda _, text: written.append(text)  # type: ignore[attr-defined]
    stage.log_observers.append(lambda _, text: heard.append(text))
    stage.now = lambda: 500  # type: ignore[method-assign]
    for number in range(LINES_PER_S + 10):
        stage.printed("c0", str(number))
    assert len(heard) == LINES_PER_S + 10
    assert written[:-1] == heard[:LINES_PER_S] and written[-1].startswith("… (it prints more than 1,000 ")
    stage.now = lambda: 1500  # type: ignore[method-assign]
    stage.printed("c0", "later")
    assert written[-1] == "later"
