"""A run whose switches can be called on while it goes on: what `listen` in `[fuzz]` asks for.

    listen = {s1 = "ptcp:6654"}       # ovs-ofctl -O OpenFlow13 dump-flows tcp:127.0.0.1:6654

What callers do is recorded like all else (see `listening`).  On virtual time nobody is served while inputs
are performed, because none of them waits for anything; a caller is heard while the console waits.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from functools import partial

from penstock._fuzz.harness import Harness
from penstock._fuzz.listening import SERVICES, Listening
from penstock._fuzz.live_harness import LiveHarness
from penstock._fuzz.virtual_harness import FEWEST_STEPS
from penstock._world.signals import FABRIC


@contextlib.asynccontextmanager
async def open_to_callers(stage: Harness) -> AsyncIterator[dict[str, str]]:
    """Have the switches listen that a scenario names; give how each is called."""
    proceed = stage.proceed if isinstance(stage, LiveHarness) else partial(stage.run, FEWEST_STEPS)
    listening = Listening(stage.world, proceed)
    for switch in stage.setting.switches:
        for service in SERVICES:
            # Also where nobody can call: a session that nobody holds is no session.
            stage.world.take(f"{FABRIC} disconnect {switch}-{service}")
    proceed()
    try:
        yield {
            switch: await listening.listen(switch, address)
            for switch, address in stage.setting.options.listen.items()
        }
    finally:
        listening.close()
