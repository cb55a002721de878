"""Explaining a violation that a search found: its run is taken again, with the program's code noted."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from penstock._engine.building import Built
from penstock._explain.cause import cause_of
from penstock._explain.counterfactual import try_others
from penstock._explain.past import Past, packet_names
from penstock._story.explanation import Explanation
from penstock._world.transition import Record

_STEP: Final = re.compile(r"\bstep (\d+)")


MOST_SECONDS: Final = 3.0
"""How long it may take to try out what a violation takes."""


def explain(
    built: Built, records: Sequence[Record], name: str, message: str, *, seconds: float = MOST_SECONDS
) -> Explanation:
    """Return why a run, whose steps were taken with code noted, ends in a violation."""
    until = time.monotonic() + seconds
    past = Past(enumerate(records, 1), built.joining)
    watcher = next((each for each in built.properties if each.name == name), None)
    cause = cause_of(past, message, arrival=watcher is not None and watcher.blames_arrival)
    others = try_others(built, records, name, packet_names(message), until)
    found = replace(
        cause,
        moved=others.moved,
        left_out=tuple(others.left_out),
        enough=tuple(others.enough),
        untried=others.untried,
    )
    told = {int(number) for line in found.lines(name) for number in _STEP.findall(line)}
    return replace(found, needless=tuple(number for number in others.needless if number not in told))


def explain_joining(built: Built, message: str) -> Explanation:
    """Return why something broke while the switches connected."""
    return cause_of(Past(enumerate(built.joining, 1)), message)
