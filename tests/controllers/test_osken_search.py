"""Searching all that an unmodified Ryu program can come to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import deque
from pathlib import Path

import pytest
from tests.controllers.osken_lab import control, need_ryu, network_of

from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.depth_first import depth_first
from penstock._explore.search import Bounds, Outcome, Search
from penstock._world.hosts import host
from penstock._world.network import Network
from penstock._world.world import World

COUNTING = """
import json
from test_osken_search import pinging, searched
outcome = searched(pinging(APP, TIMERS))
print(json.dumps([outcome.result, outcome.states, outcome.transitions, outcome.terminal]))
"""


@pytest.fixture(autouse=True)
def _ryu() -> None:
    need_ryu()


def pinging(app: str, timers: int = 0, pings: int = 1) -> Network:
    """Return linear,2 under an app, with h1 pinging h2."""
    controller = control(app, shape="linear,2", timers=timers)
    return network_of(controller, "linear,2", {"h1": host("ping", to="h2", count=pings)} if pings else None)


def searched(network: Network) -> Outcome:
    return depth_first(Search(CompiledNetwork(network), Bounds(states=200_000)))


def stepped(network: Network) -> tuple[int, int]:
    """Search with `World` alone, and return how many states there are and in how many all is at rest."""
    world = World(network)
    first = world.snapshot()
    seen, resting, waiting = {first}, 0, deque([first])
    while waiting:
        here = waiting.popleft()
        world.restore(here)
        transitions = world.enabled()
        resting += not transitions
        for transition in transitions:
            world.restore(here)
            world.take(transition)
            after = world.snapshot()
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return len(seen), resting


def test_the_learning_switch_has_finitely_many_states() -> None:
    outcome = searched(pinging("ryu.app.simple_switch_13"))
    assert outcome.result == "exhausted"
    assert (outcome.states, outcome.terminal) == stepped(pinging("ryu.app.simple_switch_13"))


def test_a_program_whose_task_sleeps_is_searched_with_its_timer() -> None:
    """The task goes on in some branches and not in others, so its stack has to be made again."""
    network = pinging("ryu.app.simple_monitor_13", timers=1, pings=0)
    outcome = searched(network)
    assert outcome.result == "exhausted"
    assert (outcome.states, outcome.terminal) == stepped(network)
    without = searched(pinging("ryu.app.simple_monitor_13", timers=0, pings=0))
    assert without.states < outcome.states


@pytest.mark.parametrize(
    ("app", "timers"), [("ryu.app.simple_switch_13", 0), ("ryu.app.simple_monitor_13", 1)]
)
def test_counts_do_not_depend_on_pythons_hash_seed(app: str, timers: int) -> None:
    counts = []
    for seed in ("1", "2"):
        program = COUNTING.replace("APP", repr(app)).replace("TIMERS", str(timers))
        folders = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[1])])
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": folders},
            capture_output=True,
            text=True,
            check=True,
        )
        counts.append(json.loads(done.stdout))
    assert counts[0] == counts[1]
    assert counts[0][0] == "exhausted"
    assert counts[0][1] > 50
