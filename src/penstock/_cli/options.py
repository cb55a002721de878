"""Options that several commands have, each written once; those that fields describe are in `scenarios`.

Only click is needed here, so that `penstock doctor` can say what else is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from penstock._base.files import TRACES
from penstock._base.text import hint

if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:
    _Choice = click.Choice  # generic only in newer versions

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]

A_PATH: Final = click.Path(path_type=Path)


class OneOf(_Choice):
    """One of some names; of one that is unknown it is said which was perhaps meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"unknown value {value!r}: {hint(value, self.choices)}", param, ctx)


def with_options(*options: Decorator) -> Decorator:
    """Give a command some options, in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def output_option(told: str, default: Path | None = None) -> Decorator:
    """Say where a command writes."""
    return click.option("--output", "-o", type=A_PATH, default=default, show_default=True, help=told)


json_option: Final = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
trace_argument: Final = click.argument("trace", type=A_PATH)
traces_option: Final = output_option("Where traces are written.", TRACES)
ci_options: Final = with_options(
    click.option("--junit", type=A_PATH, help="Also write results as JUnit XML."),
    click.option("--sarif", type=A_PATH, help="Also write findings as SARIF."),
)
