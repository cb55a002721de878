"""Dice that no snapshot of a controller reaches, so that what it does by chance differs between replays."""

from __future__ import annotations

from random import Random

_dice = Random(0)
_chance = 1.0


def load(chance: float, seed: int) -> None:
    """Have what is left to chance happen that often from now on."""
    global _dice, _chance
    _dice, _chance = Random(seed), chance


def happens() -> bool:
    """Tell whether what is left to chance happens this time."""
    return _dice.random() < _chance
