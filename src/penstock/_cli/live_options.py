"""The options of commands that replay real processes: what is waited for, and how long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from penstock._minimize.timings import EPSILON_MS

_OPTIONS: Final = (
    click.option(
        "--careful", is_flag=True, help="With processes, keep all distances in time, and all patience."
    ),
    click.option(
        "--epsilon",
        type=click.IntRange(1),
        default=EPSILON_MS,
        show_default=True,
        metavar="MS",
        help="With processes, how much later than recorded an event may come.",
    ),
    click.option(
        "--wait-for",
        type=click.Choice(["data", "logs"]),
        multiple=True,
        help="With processes, wait for data packets or log lines too.",
    ),
    click.option(
        "--barriers", is_flag=True, help="Halt a process that logs something earlier than it did then."
    ),
    click.option("--faketime", is_flag=True, help="Have the clocks of processes follow the recorded one."),
)


def live_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of live replays."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
