"""Several workers end where one does, and leave nothing behind, however they end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.minimize.minimize_lab import EXAMPLES, long_walk, moving_hosts, performed

from penstock._cli.main import commands
from penstock._controllers.tcp import ports
from penstock._minimize.ddmin import Minimal, minimise
from penstock._minimize.parallel import Work, minimise_in_parallel
from penstock._minimize.progress import FILE
from penstock._minimize.workers import Answer, DaskCrew, LocalCrew, Task, play, refuse_fixed_ports
from penstock._replay.replaying import Origin, reproducer_of
from penstock._scenario.scenario import Scenario
from penstock.errors import PenstockError

LIMIT_S = 60


def walked(folder: Path) -> Path:
    return long_walk(folder, 16)


@dataclass(frozen=True)
class Case:
    """A run, and what one worker makes of it."""

    origin: Origin
    alone: Minimal
    answers: bytes
    """The file of answers that was written on the way."""


@pytest.fixture(scope="module", params=[moving_hosts, walked], ids=["fuzz", "walk"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A run on virtual time, and a walk."""
    origin = Origin.of(request.param(tmp_path_factory.mktemp("runs")))
    script = origin.script()
    folder = tmp_path_factory.mktemp("alone")
    found = minimise(script, reproducer_of(script), folder=folder)
    return Case(origin, found, (folder / FILE).read_bytes())


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Origin:
    return Origin.of(walked(tmp_path_factory.mktemp("walks")))


@pytest.fixture(scope="module")
def pair() -> Iterator[LocalCrew]:
    with closing(LocalCrew(2)) as crew:
        yield crew


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    distributed = pytest.importorskip("distributed")
    options = {"dashboard_address": None, "threads_per_worker": 1, "processes": True}
    with distributed.LocalCluster(n_workers=2, **options) as running:
        yield running.scheduler_address


def essence(minimal: Minimal) -> tuple[object, ...]:
    """Return everything about a minimisation but how long it took."""
    steps = tuple(replace(step, seconds=0.0) for step in minimal.steps)
    return replace(minimal, seconds=0.0, steps=()), steps


def test_two_workers_take_the_same_steps_as_one(case: Case, pair: LocalCrew) -> None:
    work: list[Work] = []
    found = minimise_in_parallel(case.origin, pair, report=work.append)
    assert essence(found) == essence(case.alone)
    assert 0 < work[0].used <= work[0].guessed


def test_a_crew_is_free_when_a_minimisation_ends(case: Case, pair: LocalCrew) -> None:
    # What was begun on a guess is nobody's answer any more; another minimisation would take it for its own.
    minimise_in_parallel(case.origin, pair)
    assert not pair.has_news()
    for number in range(pair.size):
        pair.begin(number, task_of(case.origin))
    heard: set[int] = set()
    while len(heard) < pair.size:
        heard |= {number for number, _ in pair.news()}
    assert heard == set(range(pair.size))


def test_a_cluster_takes_the_same_steps_as_one_worker(case: Case, cluster: str) -> None:
    work: list[Work] = []
    with closing(DaskCrew(cluster)) as crew:
        assert crew.size == 2
        found = minimise_in_parallel(case.origin, crew, report=work.append)
    assert essence(found) == essence(case.alone)
    assert 0 < work[0].used <= work[0].guessed


def test_several_go_on_where_one_was_stopped(case: Case, pair: LocalCrew, tmp_path: Path) -> None:
    written = case.answers.splitlines(keepends=True)
    half = len(written) // 2
    (tmp_path / FILE).write_bytes(b"".join(written[:half]))
    found = minimise_in_parallel(case.origin, pair, folder=tmp_path)
    assert found.resumed == half - 1
    assert essence(replace(found, resumed=0)) == essence(case.alone)
    assert len((tmp_path / FILE).read_bytes().splitlines()) == len(written)


# Workers that die.


def task_of(origin: Origin) -> Task:
    script = origin.script()
    return Task(origin, script.digest(), script.digest(), {}, script.inputs, 1)


def test_a_worker_that_is_killed_is_replaced(walk: Origin) -> None:
    with closing(LocalCrew(1)) as crew:
        (first,) = crew.processes
        os.kill(first, signal.SIGKILL)
        crew.begin(7, task_of(walk))
        ((number, answer),) = crew.news()
        assert (number, answer.unwrap().reproduced) == (7, True)
        assert crew.processes != (first,)


def test_workers_that_die_again_and_again_are_given_up(walk: Origin) -> None:
    with closing(LocalCrew(1)) as crew:
        crew.begin(1, replace(task_of(walk), changes={"settles": _Deadly()}))
        with pytest.raises(PenstockError, match="3 workers in a row have died of the same replay"):
            list(crew.news())


class _Deadly:
    """Something that no process survives to read."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return os._exit, (9,)


def test_a_worker_that_reads_another_script_says_so(walk: Origin) -> None:
    answer = play(replace(task_of(walk), digest="another", variant="another"))
    assert answer == Answer(None, answer.error)
    with pytest.raises(
        PenstockError,
        match=r"has changed since it was read: leave the trace as it is",
    ):
        answer.unwrap()


# A real process.

INPUTS = (
    *("send h1 to h3 ping 1", "fail s2-s3", "recover s2-s3", "send h1 to h2 ping 1"),
    *("wait 1000", "move h2 to {s1}"),
)


def live(cmd_port: str) -> Scenario:
    words = [
        sys.executable,
        "-m",
        "penstock.launch",
        "migration_black_hole.py",
        "--port",
        cmd_port,
    ]
    return Scenario(
        controller={"cmd": words, "port": ports.free_port()},
        topology="linear,3",
        folder=EXAMPLES / "sts",
        fuzz={"persistent_ms": 300, "rates": {"migration": 1}, "invariants": ["NoBlackHoles"]},
    )


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Origin:
    """A run with a real process."""
    return Origin.of(performed(tmp_path_factory.mktemp("real"), live("{port}"), *INPUTS))


def test_real_processes_are_replayed_side_by_side(real: Origin, pair: LocalCrew) -> None:
    script = real.script()
    found = minimise_in_parallel(real, pair, simplify=False)
    assert found.size < len(script.inputs)
    assert [cue.what.verb for cue in found.inputs][-1] == "move"
    assert reproducer_of(script).run(found.inputs, tries=3).reproduced


def test_a_replay_that_is_called_off_ends_and_the_worker_goes_on(real: Origin, tmp_path: Path) -> None:
    script = real.script()
    progress = tmp_path / "begun"
    controller = script.scenario.controller
    assert isinstance(controller, dict)
    words = ["sh", "-c", f"touch {progress}; exec sleep {LIMIT_S} {{port}}"]
    waiting = replace(script, scenario=replace(script.scenario, controller={**controller, "cmd": words}))
    task = task_of(real)
    for_ever = replace(task, variant=waiting.digest(), changes={"scenario": waiting.scenario})
    with closing(LocalCrew(1)) as crew:
        crew.begin(1, for_ever)
        until(progress.exists, "a controller that never listens")
        crew.call_off(1)
        assert list(crew.news()) == [(1, Answer(None, called_off=True))]
        (worker,) = crew.processes
        crew.begin(2, replace(task, tries=3))
        ((number, answer),) = crew.news()
        assert (number, answer.unwrap().reproduced) == (2, True)
        assert crew.processes == (worker,)


def test_a_controller_with_a_fixed_port_is_refused(real: Origin, pair: LocalCrew) -> None:
    fixed = replace(real.script(), scenario=live("6653"))
    with pytest.raises(PenstockError, match=r"write \{port\} into the cmd of c0"):
        refuse_fixed_ports(fixed)


def processes_of(mark: str) -> dict[int, str]:
    """Return the processes that have something in their environment, with their commands."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes():
                found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
    return found


def until(condition: Callable[[], object], what: str) -> None:
    limit = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < limit, f"{what} within {LIMIT_S} s"
        time.sleep(0.02)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_nothing_is_left_running(real: Origin, tmp_path: Path, end: signal.Signals) -> None:
    mark = f"PENSTOCK_TEST={tmp_path}"
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock", "minimize", real.trace, "-o", str(tmp_path), "--workers", "2"],
        env={**os.environ, "PENSTOCK_TEST": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    progress = tmp_path / FILE
    try:
        until(lambda: progress.exists() and progress.read_bytes().count(b"\n") > 1, "an answer")
        until(lambda: "-m penstock.launch" in str(processes_of(mark)), "a controller at work")
        # As from a terminal, an interrupt reaches the whole group.
        (os.killpg if end == signal.SIGINT else os.kill)(process.pid, end)
        _, said = process.communicate(timeout=LIMIT_S)
        until(lambda: not processes_of(mark), "nothing left")
        assert "Traceback" not in said
    finally:
        for left in processes_of(mark):
            os.kill(left, signal.SIGKILL)
        process.wait()


# The command.


def test_workers_and_a_cluster_exclude_each_other(walk: Origin, tmp_path: Path) -> None:
    words = [
        "minimize",
        walk.trace,
        "-o",
        str(tmp_path),
        "--workers",
        "2",
        "--scheduler",
        "tcp://127.0.0.1:1",
    ]
    with pytest.raises(PenstockError, match="give one of them"):
        CliRunner().invoke(commands, words, standalone_mode=False, catch_exceptions=False)


def test_a_cluster_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("penstock._minimize.workers._CONNECTING_S", 0.2)
    address = f"tcp://127.0.0.1:{ports.free_port()}"
    with pytest.raises(PenstockError, match=f"No Dask scheduler answers at {address}"):
        DaskCrew(address)


def test_the_command_minimises_on_a_cluster(case: Case, cluster: str, tmp_path: Path) -> None:
    words = ["minimize", case.origin.trace, "-o", str(tmp_path), "--scheduler", cluster]
    result = CliRunner().invoke(commands, words, standalone_mode=False, catch_exceptions=False)
    assert result.return_value == 1
    inputs = (tmp_path / "minimal" / "inputs.txt").read_text().splitlines()
    assert inputs == [str(cue) for cue in case.alone.inputs]
