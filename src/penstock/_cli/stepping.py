"""`penstock step`: choose each transition, look at any component, go back.

On a terminal it is the full-screen program of `stepper`; else, and with `--plain`, a line is asked for and
answered at a time, which scripts and screen readers can use.
"""

from __future__ import annotations

import pprint
import sys
from collections.abc import Callable
from pathlib import Path

import click

from penstock._base.terminal import say, say_lines
from penstock._cli.stepper.model import Run
from penstock._story.story import numbered
from penstock.errors import PenstockError

HELP = """\
  NUMBER      take that transition (just Enter takes the first)
  TEXT        take the transition of that text
  look NAME   show the state of a component
  queues      show what is in flight
  back [N]    go back N steps (1)
  redo        take the step again that was undone last
  story       tell the run so far
  save FILE   write the run so far as a trace
  help        show this
  quit        leave"""


def step_through(run: Run, *, plain: bool, seed: int = 1) -> int:
    """Let a person step through a run, on the whole screen if there is one."""
    if not plain and sys.stdin.isatty() and sys.stdout.isatty():
        from penstock._cli.stepper.app import step_on_screen

        step_on_screen(run, seed=seed)
        return 0
    return step_by_lines(run)


def step_by_lines(run: Run, ask: Callable[[], str] | None = None) -> int:
    """Let a person step through a run, line by line."""
    say("Choose what happens next; 'help' tells more.")
    say_lines(run.remarks)
    while True:
        say_lines(_choices(run) or ["      no transition is enabled"])
        try:
            words = (
                ask() if ask is not None else click.prompt("step", default="1", show_default=False)
            ).strip()
        except (EOFError, click.Abort):
            return 0
        if words in ("quit", "q", "exit"):
            return 0
        try:
            _obey(run, words)
        except PenstockError as error:
            say(str(error))


def _choices(run: Run) -> list[str]:
    return [f"{number:>4}  {found}" for number, found in enumerate(run.world.enabled(), 1)]


def _obey(run: Run, words: str) -> None:
    command, _, rest = words.partition(" ")
    match command:
        case "help" | "?":
            say_lines(HELP.splitlines())
        case "look":
            say_lines(pprint.pformat(run.world.state(rest), width=110).splitlines())
        case "queues":
            say_lines(_queues(run) or ["nothing is in flight"])
        case "back":
            run.undo(int(rest) if rest.isdecimal() and len(rest) < 10 else 1)
        case "redo":
            run.redo()
            _tell(run, run.at)
        case "story":
            for place in range(1, run.at + 1):
                _tell(run, place)
            if not run.at:
                say("nothing has happened yet")
        case "save":
            say(f"Written: penstock replay {run.save(Path(rest))}")
        case _:
            run.take(_transition(run, words))
            _tell(run, run.at)


def _transition(run: Run, words: str) -> str:
    """Return the text of a transition that was named by its number or its text."""
    if not words.isdecimal() or len(words) >= 10:
        return words
    enabled = run.world.enabled()
    if not 1 <= int(words) <= len(enabled):
        raise PenstockError(f"There is no transition {words}: choose from 1 to {len(enabled)}.")
    return str(enabled[int(words) - 1])


def _tell(run: Run, place: int) -> None:
    say_lines((*numbered(place, run.moments[place].told), *run.news(place)))


def _queues(run: Run) -> list[str]:
    """Return what is in flight."""
    found = [(end, run.world.queue(end)) for end in run.network.channels]
    return [f"{end}: {'; '.join(map(str, queue))}" for end, queue in found if queue]
