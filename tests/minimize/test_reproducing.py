"""How often to try what does not always show, and how sure one is then."""

import pytest

from penstock._minimize.ddmin import chance_of_missing, tries_needed


def test_as_in_the_paper_twenty_replays_miss_a_bug_of_one_in_five_once_in_a_hundred() -> None:
    assert chance_of_missing(0.2, 20) == pytest.approx(0.0115, abs=0.0005)


@pytest.mark.parametrize(("chance", "confidence"), [(0.2, 0.99), (0.5, 0.95), (0.9, 0.95), (0.05, 0.9)])
def test_as_many_tries_as_needed_and_no_more(chance: float, confidence: float) -> None:
    tries = tries_needed(chance, confidence)
    assert chance_of_missing(chance, tries) <= 1 - confidence + 1e-9
    assert chance_of_missing(chance, tries - 1) > 1 - confidence


def test_what_always_shows_is_tried_once() -> None:
    assert tries_needed(1.0, 0.999) == 1
