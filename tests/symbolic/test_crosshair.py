"""Two engines that know nothing of each other find the same paths through Ryu's learning switch.

Penstock explores the unmodified app; CrossHair explores a function that decides as the app does, on
plain numbers.  A table is a row of comparisons there: CrossHair would try values one by one where a
symbolic key goes into a dictionary.  Not only the numbers must agree: each of CrossHair's witnesses
must be a packet of another one of Penstock's classes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import crosshair.core_and_libs  # noqa: F401 - has CrossHair know the built-in types
import pytest
from crosshair.core import deep_realize, explore_paths
from crosshair.options import DEFAULT_OPTIONS, AnalysisOptionSet
from crosshair.statespace import RootNode
from tests.symbolic.corpus_lab import QUESTION, ready_app

from penstock._concolic.paths import Exploration
from penstock._concolic.terms import evaluate
from penstock._controllers.probing import Reaction

ETH_LLDP = 0x88CC
SECONDS = 60.0

Packet = tuple[int, int, int]
"""Ethernet type, sender, receiver."""


def learning_switch(known: tuple[int, ...]) -> Callable[[int, int, int], str | None]:
    """Return what simple_switch_13 decides about a packet once it knows some stations."""

    def decide(eth_type: int, src: int, dst: int) -> str | None:
        if not (0x600 <= eth_type < 1 << 16 and 0 < src < 1 << 48 and 0 <= dst < 1 << 48):
            return None
        if eth_type == ETH_LLDP:
            return "ignored"
        table = known
        for station in known:
            if src == station:
                break
        else:
            table = (*known, src)
        for station in table:
            if dst == station:
                return "forwarded"
        return "flooded"

    return decide


def paths_by_crosshair(function: Callable[[int, int, int], str | None]) -> list[Packet]:
    """Return a packet for every path that CrossHair finds, which must be all there are."""
    witnesses: list[Packet] = []

    def note(space: Any, _before: Any, arguments: Any, result: Any, error: Any, _stack: Any) -> bool:
        assert error is None
        if result is not None:
            space.detach_path()
            witnesses.append(deep_realize(arguments).args)
        return False

    root = RootNode()
    limits = AnalysisOptionSet(
        per_condition_timeout=SECONDS,
        per_path_timeout=SECONDS,
        max_iterations=sys.maxsize,
        max_uninteresting_iterations=sys.maxsize,
    )
    explore_paths(
        lambda arguments: function(*arguments.args),
        signature(function, eval_str=True),
        DEFAULT_OPTIONS.overlay(limits),
        root,
        note,
    )
    assert root.child.is_exhausted()
    return witnesses


def paths_by_penstock(known: tuple[int, ...]) -> Exploration[Reaction]:
    """Return the paths through the app itself, once it has heard of some stations."""
    app = ready_app("ryu.app.simple_switch_13", followed=True)
    state = app.state
    for station in known:
        heard = QUESTION.message({**QUESTION.frames.usual, "eth_src": station})
        state = app.controller.receive(state, "s1", heard).state
    return type(app)(app.controller, state).explored("s1")


@pytest.mark.parametrize(("stations", "paths"), [(2, 11), (10, 123)])
def test_crosshair_finds_the_same_paths(ryu_sources: Path, stations: int, paths: int) -> None:
    # LLDP; from each known station to each of them or none; from a new one, to itself too.
    assert paths == 1 + stations * (stations + 1) + (stations + 2)
    known = tuple(range(1, stations + 1))

    ours = paths_by_penstock(known)
    theirs = paths_by_crosshair(learning_switch(known))

    assert ours.complete and not ours.losses
    assert len(ours.paths) == len(theirs) == paths
    taken = set()
    for eth_type, src, dst in theirs:
        inputs = {**QUESTION.frames.usual, "eth_type": eth_type, "eth_src": src, "eth_dst": dst}
        (way,) = (
            at
            for at, path in enumerate(ours.paths)
            if all(evaluate(condition, inputs) for condition in path.condition)
        )
        taken.add(way)
    assert len(taken) == paths
