"""Minimising recorded runs: few inputs are left, none can be left out, and the rest is simple."""

import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from tests.minimize.minimize_lab import fuzzed, long_walk, moving_hosts

from penstock._minimize.ddmin import Minimal, NotReproducedError, minimise
from penstock._minimize.writing import bug_of
from penstock._replay.guided import Attempt, Reproducer
from penstock._replay.in_process import CheckReproducer, VirtualReproducer
from penstock._replay.recording import RecordedInput, Violation, load_script
from penstock._replay.replaying import replay, reproducer_of
from penstock.errors import PenstockError


def assert_one_minimal(minimal: Minimal, reproducer: Reproducer) -> None:
    """Every input is needed: without any one of them the violation does not come."""
    player = reproducer.with_script(minimal.script)
    assert player.run(minimal.inputs).reproduced
    for cue in minimal.inputs:
        rest = [other for other in minimal.inputs if other is not cue]
        assert not player.run(rest).reproduced


@pytest.mark.parametrize("seed", [3, 16])
def test_a_random_walk_of_300_steps_into_bug_vii_ends_with_one_input(tmp_path: Path, seed: int) -> None:
    script = load_script(long_walk(tmp_path, seed))
    assert len(script.inputs) + script.internal() >= 300
    reproducer = CheckReproducer(script)
    minimal = minimise(script, reproducer)
    assert [str(cue) for cue in minimal.inputs] == ["h1 connect web"]
    # The order that matters: the old rule is gone when the packet comes, the new one is not yet there.
    needed = [event.transition for events in minimal.script.expected for event in events]
    assert needed == ["c0 timer 3600s load_balancer.reweigh", "deliver c0:s1", "deliver h1:0"]
    assert_one_minimal(minimal, reproducer)


def test_a_host_that_moved_and_a_packet_before_are_all_that_is_left(tmp_path: Path) -> None:
    script = load_script(moving_hosts(tmp_path))
    reproducer = VirtualReproducer(script)
    minimal = minimise(script, reproducer)
    assert [cue.what.verb for cue in minimal.inputs] == ["send", "move"]
    assert minimal.script.settles
    assert minimal.original > 50 > minimal.replays
    assert [step.number for step in minimal.steps] == list(range(1, minimal.replays + 1))
    sizes = [step.size for step in minimal.steps]
    assert sizes == sorted(sizes, reverse=True)
    assert_one_minimal(minimal, reproducer)


def test_a_failure_to_reproduce_passes_from_process_to_process() -> None:
    error = NotReproducedError(Attempt(reproduced=False, tries=3))
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.attempt == error.attempt


class _Noting(VirtualReproducer):
    """Notes of each replay whether it followed the recorded order."""

    followed: ClassVar[list[bool]] = []

    def run(self, inputs: Sequence[RecordedInput], *, tries: int = 1) -> Attempt:
        self.followed.append(not self.script.settles)
        return super().run(inputs, tries=tries)


def test_where_no_order_matters_none_is_followed_after_the_first_replay(tmp_path: Path) -> None:
    script = load_script(moving_hosts(tmp_path))
    _Noting.followed.clear()
    minimal = minimise(script, _Noting(script))
    assert _Noting.followed == [True] + [False] * (minimal.replays - 1)


def test_a_race_is_kept_with_the_order_that_it_needs(tmp_path: Path) -> None:
    """A packet that is on its way when a switch joins again: the example's premature packet-in."""
    folder = fuzzed(tmp_path, {"apps": ["fuzz/inventory_switch.py"]}, events=250, after_crash="stop")
    script = load_script(folder, invariant="ControllerCrash")
    reproducer = VirtualReproducer(script)
    minimal = minimise(script, reproducer)
    assert minimal.size <= 4
    assert not minimal.script.settles
    assert minimal.script.scenario.topology in ("linear,1", "linear,2")
    assert_one_minimal(minimal, reproducer)
    path = tmp_path / "minimal" / "trace.jsonl"
    path.parent.mkdir()
    reproducer.with_script(minimal.script).record(minimal.inputs, path)
    again = replay(path)
    assert again.reproduced and again.diverged is None


def test_two_runs_with_one_bug_end_in_the_same_sequence(tmp_path: Path) -> None:
    found = []
    for seed in (3, 16):
        script = load_script(long_walk(tmp_path / str(seed), seed))
        found.append(minimise(script, CheckReproducer(script)))
    other = load_script(moving_hosts(tmp_path))
    moved = minimise(other, VirtualReproducer(other), simplify=False)
    assert bug_of(found[0]) == bug_of(found[1])
    assert bug_of(found[0]).name == bug_of(found[1]).name
    assert bug_of(found[0]) != bug_of(moved)


def test_names_do_not_tell_bugs_apart_but_inputs_do(tmp_path: Path) -> None:
    from penstock._fuzz.inputs import input_of
    from penstock._replay.recording import RecordedInput

    script = load_script(moving_hosts(tmp_path))

    def with_inputs(*texts: str) -> Minimal:
        cues = tuple(RecordedInput(input_of(text), line) for line, text in enumerate(texts))
        return Minimal(script, cues, "", 1, 1, 0.0, ())

    one = with_inputs("send h1 to h2 ping 1", "wait 10", "move h2 to s3:3")
    assert bug_of(one) == bug_of(with_inputs("send h3 to h1 ping 1", "wait 500", "move h1 to s2:7"))
    assert bug_of(one) != bug_of(with_inputs("send h3 to h1 ping 1", "wait 500", "move h3 to s2:7"))
    assert bug_of(one) != bug_of(with_inputs("send h1 to h2 ping 1", "move h2 to s3:3"))


def test_a_mended_controller_cannot_be_made_to_fail_again(tmp_path: Path) -> None:
    script = load_script(long_walk(tmp_path))
    options = {"fixes": ["IV", "V", "VI", "VII", "VIII"], "warm_up": 0}
    controller = {"apps": ["load_balancer.py"], "options": options, "timers": 1}
    mended = replace(script, scenario=replace(script.scenario, controller=controller))
    with pytest.raises(NotReproducedError, match="does not reproduce the violation"):
        minimise(mended, reproducer_of(mended))


def test_without_a_violation_there_is_nothing_to_minimise(tmp_path: Path) -> None:
    script = load_script(fuzzed(tmp_path, events=5, rates={"migration": 0}))
    with pytest.raises(PenstockError, match="nothing to minimise"):
        minimise(replace(script, violation=None), VirtualReproducer(script))
    unheard_of = replace(script, violation=Violation("NoForwardingLoops", "pigs fly"))
    with pytest.raises(NotReproducedError):
        minimise(unheard_of, VirtualReproducer(unheard_of))
