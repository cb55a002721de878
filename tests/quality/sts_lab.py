"""Runs of the case studies of STS, for the tests of what is found in them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from penstock._fuzz.fuzzing import Fuzzing, Report, fuzz
from penstock._fuzz.inputs import input_of
from penstock._fuzz.invariants import invariants_of
from penstock._scenario.scenario import Scenario

STORIES = {
    "failover": ("send h1 to h2 ping 1", "check", "crash c0", "fail h2-s2", "wait 3000", "check"),
    "balancer_errors": (
        *("send h1 to h8 tcp 2", "send h5 to h8 tcp 1", "send h4 to h5 ping 1", "send h4 to h1 tcp 3"),
        *("send h4 to h7 tcp 1", "send h1 to h4 tcp 1", "send h7 to h5 tcp 1", "send h6 to h8 tcp 1"),
        *("wait 100", "check"),
    ),
    "rare_path": ("send h1 to h2 ping 1", "hold s4:c0", "send h2 to h1 ping 1", "release s4:c0", "check"),
    "wrong_algorithm": (
        *("send h1 to h3 ping 1", "wait 100", "send h2 to h4 ping 1", "fail s2-s3", "wait 100"),
        *("fail s1-s2", "wait 100", "fail s3-s4", "wait 100", "recover s1-s2", "wait 100"),
        *("fail s1-s3", "wait 1000", "check"),
    ),
    "thread_race": (
        *("send h1 to h2 ping 1", "fail s1-s3", "send h2 to h1 ping 1", "send h1 to h5 ping 1"),
        *("fail s2-s4", "recover s2-s4", "wait 10"),
    ),
    "memory_leak": ("send h1 to h2 ping 1", *("disconnect s1-c0", "reconnect s1-c0", "wait 10") * 9),
}

Runs = Callable[[str], Report]


def told(scenario: Scenario, folder: Path, story: Sequence[str]) -> Report:
    """Return a run in which just these inputs are given."""

    async def conduct(fuzzing: Fuzzing) -> None:
        for text in story:
            await fuzzing.perform(input_of(text))

    return asyncio.run(fuzz(scenario, folder, invariants=invariants_of, conduct=conduct))
