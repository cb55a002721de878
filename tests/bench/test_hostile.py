"""Every attack of `bench.hostile` is held, and the guide lists them all."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.hostile.__main__ import all_attacks
from bench.hostile.attack import Attack, NotHeld, Tried, attempt, demand

ROOT = Path(__file__).parents[2]
ATTACKS = all_attacks()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: f"{attack.kind}: {attack.name}")
def test_an_attack_is_held(attack: Attack, tmp_path: Path) -> None:
    tried = attempt(attack, tmp_path / "place")
    if tried.held is None:
        pytest.skip(tried.happened)
    assert tried.held, tried.happened


def test_there_are_enough_and_each_has_a_name_of_its_own() -> None:
    assert len({(attack.kind, attack.name) for attack in ATTACKS}) == len(ATTACKS) >= 80


def test_the_guide_lists_them() -> None:
    page = (ROOT / "docs" / "attacks.md").read_text()
    for attack in ATTACKS:
        name = attack.name.replace("|", "/").replace("<", "&lt;")
        assert f"| {name} | {attack.expected} |" in page, "run python -m bench.hostile --page FILE"
    assert "**no**" not in page


def test_one_that_succeeds_is_told(tmp_path: Path) -> None:
    def succeed(_folder: Path) -> str:
        demand(False, "it got in")
        return ""

    attack = Attack("kind", "name", "nothing", succeed)
    assert attempt(attack, tmp_path / "place") == Tried(attack, False, "it got in", 0.0)
    with pytest.raises(NotHeld):
        succeed(tmp_path)
