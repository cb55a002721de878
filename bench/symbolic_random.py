"""Random packets: what one would try who did not ask the controller which packets it tells apart.

Each field of a packet is with even odds any number that fits into it, or one of the values that
packets usually have; so is what decides a packet's shape.  What no packet can be is drawn again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence

from bench.symbolic_apps import App, Delivery, History, Station
from penstock._concolic.solving.compiled import Evaluator
from penstock._concolic.space import Inputs, Space


def random_histories(app: App, befores: Sequence[History], seed: int) -> Iterator[History]:
    """Yield histories with one more packet than some, a random one."""
    chance = random.Random(seed)
    evaluate = Evaluator()
    while True:
        inputs = _drawn(app.frames.space, chance)
        if all(evaluate(term, inputs) for term in app.frames.space.constraints):
            delivery = Delivery(chance.choice(app.inlets), app.frames.data(inputs))
            yield (*chance.choice(befores), delivery)


def _drawn(space: Space, chance: random.Random) -> Inputs:
    return {
        variable.name: chance.choice(variable.preferred)
        if chance.random() < 0.5
        else chance.getrandbits(variable.width)
        for variable in space.variables
    }


def handled_within(app: App, befores: Sequence[History], seed: int, seconds: float) -> list[History]:
    """Return the random histories that an app, which is not followed, gets done in some time."""
    station = Station(app, followed=False)
    for before in befores:
        station.after(before)
    histories = random_histories(app, befores, seed)
    next(histories)  # the first one takes longest to make, which says nothing about the others
    found = []
    until = time.perf_counter() + seconds
    for history in histories:
        station.given(station.after(history[:-1]), history[-1])
        found.append(history)
        if time.perf_counter() >= until:
            break
    return found
