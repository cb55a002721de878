"""`penstock step`: choose each transition, look at any component, go back."""

from __future__ import annotations

import pprint
from collections.abc import Callable

import click

from penstock.check import states_of
from penstock.errors import PenstockError
from penstock.properties.watch import Watch
from penstock.report.story import last_line, tell
from penstock.scenario import Scenario
from penstock.world.network import GlobalState
from penstock.world.transition import Record
from penstock.world.world import World

HELP = """\
  NUMBER      take that transition (just Enter takes the first)
  TEXT        take the transition of that text
  look NAME   show the state of a component
  queues      show what is in flight
  back [N]    go back N steps (1)
  story       tell the run so far
  help        show this
  quit        leave"""


class Stepper:
    """A run that a person steers; it can go back as far as it went."""

    def __init__(self, scenario: Scenario) -> None:
        built = scenario.build()
        self.world = World(built.network)
        self.world.restore(built.start)
        self.watch = Watch(built.network, built.properties)
        self.records: list[Record] = []
        self._past: list[tuple[GlobalState, tuple[list[object], dict[str, str]]]] = []

    def take(self, text: str) -> list[str]:
        """Take a transition by its number or text; return the lines that tell it."""
        enabled = self.world.enabled()
        if text.isdecimal() and len(text) < 10:
            if not 1 <= int(text) <= len(enabled):
                raise PenstockError(f"There is no transition {text}: choose from 1 to {len(enabled)}.")
            text = str(enabled[int(text) - 1])
        before = (self.world.snapshot(), self.watch.snapshot())
        record = self.world.take(text)
        self._past.append(before)
        self.records.append(record)
        lines = list(tell([record], first=len(self.records)))
        broken = self.watch.observe(record, states_of(self.world))
        if self.world.is_at_rest():
            broken |= self.watch.at_rest(states_of(self.world))
        return lines + [last_line(name, message) for name, message in broken.items()]

    def back(self, steps: int) -> None:
        """Go back some steps."""
        if not 1 <= steps <= len(self._past):
            raise PenstockError(f"It is not possible to go back {steps} steps: {len(self._past)} were taken.")
        for _ in range(steps):
            state, watched = self._past.pop()
            self.records.pop()
        self.world.restore(state)
        self.watch.restore(watched)

    def choices(self) -> list[str]:
        """Return what can happen now, numbered."""
        return [f"{number:>4}  {found}" for number, found in enumerate(self.world.enabled(), 1)]

    def look(self, name: str) -> str:
        """Return a component's state for people to read."""
        return pprint.pformat(self.world.state(name), width=110)

    def queues(self) -> list[str]:
        """Return what is in flight."""
        network = self.world.network
        found = [(end, self.world.queue(end)) for end in network.channels]
        return [f"{end}: {'; '.join(map(str, queue))}" for end, queue in found if queue]


def step_through(scenario: Scenario, ask: Callable[[], str] | None = None) -> int:
    """Let a person step through a scenario."""
    stepper = Stepper(scenario)
    click.echo("Choose what happens next; 'help' tells more.")
    while True:
        for line in stepper.choices() or ["      nothing can happen any more"]:
            click.echo(line)
        try:
            words = (
                ask() if ask is not None else click.prompt("step", default="1", show_default=False)
            ).strip()
        except (EOFError, click.Abort):
            return 0
        if words in ("quit", "q", "exit"):
            return 0
        try:
            _obey(stepper, words)
        except PenstockError as error:
            click.echo(str(error))


def _obey(stepper: Stepper, words: str) -> None:
    command, _, rest = words.partition(" ")
    match command:
        case "help" | "?":
            click.echo(HELP)
        case "look":
            click.echo(stepper.look(rest))
        case "queues":
            click.echo("\n".join(stepper.queues()) or "nothing is in flight")
        case "back":
            stepper.back(int(rest) if rest.isdecimal() and len(rest) < 10 else 1)
        case "story":
            click.echo("\n".join(tell(stepper.records)) or "nothing has happened yet")
        case _:
            click.echo("\n".join(stepper.take(words)))
