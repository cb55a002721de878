"""Which reproducer a script needs."""

from __future__ import annotations

from penstock._fuzz.building import build_setting
from penstock._minimize.check_replay import CheckReproducer
from penstock._minimize.live_peek import LivePeekingReproducer
from penstock._minimize.live_replay import LiveReproducer
from penstock._minimize.peek import PeekingReproducer
from penstock._minimize.recording import Recording
from penstock._minimize.timings import USUAL, Waiting
from penstock._minimize.virtual_replay import VirtualReproducer


def reproducer_of(
    script: Recording, *, wide: bool = False, waiting: Waiting = USUAL
) -> VirtualReproducer | CheckReproducer | LiveReproducer:
    """Return what replays a script: by its engine, and by whether its controllers run in process.

    `waiting` says how processes are waited for, where there are any, and whether to look ahead.
    """
    if script.engine == "check":
        return CheckReproducer(script, wide=wide)
    setting = build_setting(script.scenario)
    if setting.commands:
        live = LivePeekingReproducer if waiting.peek else LiveReproducer
        return live(script, setting=setting, wide=wide, waiting=waiting)
    return (PeekingReproducer if waiting.peek else VirtualReproducer)(script, setting=setting, wide=wide)
