"""`penstock`: the commands.

Exit status: 0 nothing found and the search was exhaustive; 1 a violation; 2 bad input, said in one
sentence; 3 stopped by a bound with nothing found.

Each command's module is imported when it is called, so that none has to wait for what others need.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Final

import click

from penstock import __version__
from penstock.errors import PenstockError
from penstock.properties.base import PropertyFault
from penstock.world.network import ComponentRaised

STOPPED: Final = 3
BAD_INPUT: Final = 2

_COMMANDS: Final = {
    "bugs": "running:bugs",
    "check": "searching:check",
    "demo": "demonstration:demo",
    "diff": "looking:diff",
    "export": "exporting:export_command",
    "fuzz": "running:fuzz_command",
    "minimize": "running:minimize",
    "openflow": "looking:openflow",
    "packets": "searching:packets",
    "plot": "looking:plot",
    "replay": "running:replay",
    "report": "reporting:report_command",
    "show": "looking:show",
    "step": "searching:step",
    "trace-packet": "looking:trace_packet",
    "verify": "verifying:verify_command",
    "walk": "searching:walk",
}
"""Where each command is, below this package."""


class _Commands(click.Group):
    """Commands that are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"penstock.cli.{module}"), name)
        return command


def main() -> None:
    """Run the command line; errors of the user's are one sentence, never a traceback."""
    try:
        sys.exit(commands(standalone_mode=False))
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        _say(error.format_message())
    except PropertyFault as fault:
        click.echo(fault.traceback, err=True)
        _say(str(fault))
    except (PenstockError, ComponentRaised) as error:
        _say(str(error))
    except (KeyboardInterrupt, click.Abort):
        click.echo("penstock: stopped.", err=True)
        sys.exit(STOPPED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


def _say(sentence: str) -> None:
    click.echo(f"penstock: {sentence}", err=True)
    sys.exit(BAD_INPUT)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="penstock")
def commands() -> None:
    """Find, prove, shrink and explain bugs in SDN controllers."""
