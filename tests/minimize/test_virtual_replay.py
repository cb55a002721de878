"""Replays on virtual time: a whole run comes out the same, a part of it as far as it can."""

import json
from pathlib import Path

import pytest
from tests.minimize.minimize_lab import LEARNING, RYU, fuzzed, moving_hosts

from penstock._fuzz.inputs import input_of
from penstock._replay.in_process import VirtualReproducer
from penstock._replay.recording import RecordedInput, Recording, load_script
from penstock._replay.replaying import replay
from penstock.errors import PenstockError


@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"order": "random", "profile": "everything"},
        {"interval_ms": 5, "after_crash": "restart"},
        {"check_every": 3, "deliveries": 2},
    ],
    ids=["usual", "random order", "intervals", "rare checks"],
)
def test_a_whole_run_comes_out_the_same_to_the_letter(
    tmp_path: Path, seed: int, options: dict[str, object]
) -> None:
    controller, topology = (LEARNING, "ring,3") if seed % 2 else (RYU, "linear,3")
    folder = fuzzed(tmp_path, controller, topology, seed=seed, events=70, **options)
    result = replay(folder)
    assert (result.diverged, result.difference) == (None, "")
    assert result.lines > 70
    assert result.reproduced is bool(result.property)


def test_a_changed_trace_is_told_from_the_run(tmp_path: Path) -> None:
    path = fuzzed(tmp_path, events=30) / "trace.jsonl"
    lines = path.read_text().splitlines()
    number = next(n for n, line in enumerate(lines) if n > 20 and "deliver" in line and "sends" in line)
    changed = json.loads(lines[number])
    changed["sends"] = ["s1:1 something else"]
    path.write_text("\n".join([*lines[:number], json.dumps(changed), *lines[number + 1 :]]) + "\n")
    result = replay(path)
    assert result.diverged == changed["step"]
    assert "something else" in result.difference


def test_a_part_of_a_run_follows_what_it_can_and_counts_the_rest(tmp_path: Path) -> None:
    script = load_script(moving_hosts(tmp_path))
    reproducer = VirtualReproducer(script)
    whole = reproducer.run(script.inputs)
    assert whole.reproduced and whole.is_exact and (whole.absent, whole.unexpected) == (0, 0)
    without_sends = [cue for cue in script.inputs if cue.what.verb != "send"]
    part = reproducer.run(without_sends)
    assert not part.reproduced
    assert part.absent > 0
    assert part.followed < whole.followed


def test_inputs_that_have_become_impossible_are_skipped(tmp_path: Path) -> None:
    script = load_script(moving_hosts(tmp_path))
    recoveries = [cue for cue in script.inputs if cue.what.verb == "recover"]
    attempt = VirtualReproducer(script).run(recoveries)
    assert attempt.skipped == tuple(cue.line for cue in recoveries)
    assert attempt.divergence is None  # something was left out from the start, so nothing can diverge


def test_two_replays_of_the_same_part_are_the_same(tmp_path: Path) -> None:
    script = load_script(moving_hosts(tmp_path))
    reproducer = VirtualReproducer(script)
    for part in (script.inputs[::2], script.inputs[1::2], script.inputs[20:]):
        one, other = reproducer.run(part), reproducer.run(part)
        assert (one.reproduced, one.followed, one.absent, one.unexpected) == (
            other.reproduced,
            other.followed,
            other.absent,
            other.unexpected,
        )


def race_in(folder: Path, seed: int) -> tuple[Recording, RecordedInput] | None:
    """Return a run in which a link failed while something was on it, with that input."""
    rates = {"link_failure": 2, "packet": 4}
    script = load_script(fuzzed(folder, seed=seed, deliveries=1, events=120, rates=rates))
    fails = (cue for cue in script.inputs if cue.what.verb == "fail")
    raced = (cue for cue in fails if any(event.lost for event in script.doings[cue.line]))
    return next(((script, cue) for cue in raced), None)


def test_a_message_that_was_lost_on_its_way_is_not_let_through(tmp_path: Path) -> None:
    """What raced with a failure races with it again, also when other inputs are gone."""
    script, raced = next(race for seed in range(1, 30) if (race := race_in(tmp_path, seed)) is not None)
    lost = [flight for event in script.doings[raced.line] for flight in event.lost]
    kept = [
        cue
        for cue in script.inputs
        if cue.line <= raced.line and cue.what.verb in ("send", "inject", "fail", "recover")
    ]
    path = tmp_path / "again.jsonl"
    VirtualReproducer(script).record(kept, path)
    again = load_script(path)
    last = [cue for cue in again.inputs if str(cue) == str(raced)][-1]
    assert [flight for event in again.doings[last.line] for flight in event.lost] == lost


def test_processes_cannot_be_replayed_on_virtual_time(tmp_path: Path) -> None:
    from dataclasses import replace

    script = load_script(fuzzed(tmp_path, events=5))
    process = replace(script.scenario, controller={"cmd": "true {port}"})
    with pytest.raises(PenstockError, match="cannot be replayed in virtual time"):
        VirtualReproducer(replace(script, scenario=process))


def test_a_policy_that_fails_is_an_input_that_is_skipped(tmp_path: Path) -> None:
    script = load_script(fuzzed(tmp_path, events=5))
    unknown = RecordedInput(input_of("policy nobody 1"), script.inputs[0].line)
    assert VirtualReproducer(script).run([unknown]).skipped == (unknown.line,)
