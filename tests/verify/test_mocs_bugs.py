"""The three bugs of MOCS's section 4.2: found, told as runs, and invisible where Kuai looks."""

from __future__ import annotations

import pytest
from bench.mocs import BUILDERS

from penstock._scenario.options import Method
from penstock._verify.verification import Verification, verify

BUGS = ("message-reordering", "wrong-nesting", "hasty-update")
MENDED = ("stateless-firewall", "right-nesting", "consistent-update")


def _verified(program: str, method: Method) -> Verification:
    model, properties = BUILDERS[program](2, 2, kuai=method == "kuai")
    return verify(model, properties, method)


@pytest.mark.parametrize("program", BUGS)
@pytest.mark.parametrize("method", ["mocs", "ample", "penstock"])
def test_the_bug_is_found_and_comes_again_when_replayed(program: str, method: Method) -> None:
    found = _verified(program, method)
    assert found.verdict == "violated"
    assert found.diverged == []
    assert found.outcome.violations[0].path


@pytest.mark.parametrize("program", BUGS)
def test_the_bug_is_invisible_in_kuais_model(program: str) -> None:
    assert _verified(program, "kuai").verdict == "proved"


@pytest.mark.parametrize("program", MENDED)
@pytest.mark.parametrize("method", ["mocs", "penstock"])
def test_the_mended_program_is_proved(program: str, method: Method) -> None:
    assert _verified(program, method).verdict == "proved"


def test_reordered_messages_tell_how_ssh_gets_through() -> None:
    story = [str(step) for step in _verified("message-reordering", "penstock").outcome.violations[0].path]
    added = [step for step in story if " add " in step]
    assert len(added) == 1 and "in_port=1" in added[0]
    assert story[-1].startswith("s2 match 1 ")


def test_the_hasty_update_tells_how_a_packet_is_dropped() -> None:
    story = [str(step) for step in _verified("hasty-update", "penstock").outcome.violations[0].path]
    assert [step.split()[1] for step in story if step.startswith("s2")] == ["match"]
    assert not any(" add " in step for step in story)


def test_a_proof_says_what_it_assumes_and_why_each_reduction_was_allowed() -> None:
    found = _verified("right-nesting", "penstock")
    assert any("may come again" in sentence for sentence in found.assumptions)
    assert len(found.reasons) == len(found.eager) > 0
