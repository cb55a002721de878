"""Runs to steer, and a person at the keyboard of the full-screen program."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.events import Paste
from textual.pilot import Pilot

from penstock._cli.stepper.app import StepperApp
from penstock._cli.stepper.model import Run
from penstock._scenario.scenario import load_scenario

EXAMPLES = Path(__file__).parents[3] / "examples"

CONTROLLERS = '''
from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PortNo


class Hub(Controller):
    """Floods every packet, and counts them."""

    def __init__(self):
        self.seen = 0

    def switch_join(self, switch):
        self.install(switch, actions=(Output(PortNo.CONTROLLER),), priority=0)

    def packet_in(self, switch, message):
        self.seen += 1
        self.packet_out(switch, message, FLOOD)


class Faulty(Hub):
    """Breaks on the first packet."""

    def packet_in(self, switch, message):
        raise KeyError(switch)
'''

LOOP = """
topology = "ring,3"
properties = ["NoForwardingLoops"]

[controller]
native = "hub.py:Hub"

[hosts.h1]
kind = "client"
to = "h2"

[faults]
drops = 1
"""


def loop_scenario(folder: Path, *changes: tuple[str, str]) -> Path:
    """Write a scenario in which a hub floods a packet round a ring, or one that differs a little."""
    (folder / "hub.py").write_text(CONTROLLERS)
    text = LOOP
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "loop.toml").write_text(text)
    return folder / "loop.toml"


def loop_run(folder: Path, *changes: tuple[str, str]) -> Run:
    return Run(load_scenario(loop_scenario(folder, *changes)))


def balancer_run() -> Run:
    """Return a run of bug V of the NICE paper: a load balancer that forgets a packet in a buffer."""
    return Run(load_scenario(EXAMPLES / "nice" / "bug_05.toml"))


Person = Pilot[None]
WIDE = (200, 40)
"""A window in which all panes are seen and a run is drawn with long arrows."""


def at_the_keyboard(
    run: Run,
    does: Callable[[StepperApp, Person], Awaitable[None]],
    *,
    size: tuple[int, int] = (110, 36),
    folder: Path = Path("penstock-traces"),
) -> None:
    """Have somebody use the real program on a run, in a window of that size."""

    async def used() -> None:
        app = StepperApp(run, folder=folder)
        async with app.run_test(size=size) as person:
            await person.pause()
            await does(app, person)

    asyncio.run(used())


async def types(person: Person, text: str) -> None:
    """Paste a text, then press Enter."""
    person.app.post_message(Paste(text))
    await person.press("enter")
    await person.pause()


async def until(person: Person, is_so: Callable[[], bool], most: int = 2_000) -> None:
    """Wait until something is so, for so many turns of the program at most."""
    for _ in range(most):
        if is_so():
            return
        await person.pause()
    raise AssertionError("it did not come to that")
