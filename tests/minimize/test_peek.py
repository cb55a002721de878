"""Looking ahead from a checkpoint finds which expected events will come, and changes nothing else."""

from pathlib import Path

from tests.minimize.minimize_lab import moving_hosts

from penstock._replay.in_process import (
    PeekingReproducer,
    ReplayStage,
    SilentRecorder,
    VirtualReproducer,
    drive,
)
from penstock._replay.recording import load_script


def test_what_will_not_come_is_not_expected(tmp_path: Path) -> None:
    script = load_script(moving_hosts(tmp_path))
    kept = [cue for cue in script.inputs if cue.what.verb != "send"]
    inferred = PeekingReproducer(script).infer(kept)
    assert inferred.inputs == tuple(kept)
    assert 0 < inferred.internal() < script.internal()
    attempt = VirtualReproducer(inferred).run(inferred.inputs)
    assert attempt.followed >= inferred.internal()
    assert attempt.absent == 0


def test_a_look_ahead_leads_to_the_same_verdicts(tmp_path: Path) -> None:
    script = load_script(moving_hosts(tmp_path))
    plain, peeking = VirtualReproducer(script), PeekingReproducer(script)
    for part in (script.inputs, script.inputs[1:], script.inputs[::2], script.inputs[30:]):
        assert plain.run(part).reproduced == peeking.run(part).reproduced


def test_a_stage_comes_back_to_its_checkpoint(tmp_path: Path) -> None:
    script = load_script(moving_hosts(tmp_path))
    setting = VirtualReproducer(script).setting
    stage = ReplayStage(setting, SilentRecorder(setting.version))
    stage.offer_all()
    stage.run()
    drive(stage.perform(script.inputs[0].what))
    before = stage.checkpoint()
    pending = list(stage.pending())
    for cue in script.inputs[1:6]:
        drive(stage.perform(cue.what))
        drive(stage.settle(100))
    assert stage.checkpoint() != before
    stage.return_to(before)
    assert stage.checkpoint() == before
    assert list(stage.pending()) == pending
