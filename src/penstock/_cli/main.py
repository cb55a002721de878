"""`penstock`: the commands.

Exit status (see `_verdict`): 0 nothing found or left out, and every property judged; 1 a violation; 2 bad
input, said in one sentence; 3 nothing found, but something that could matter was left out.

Each command's module is imported when it is called, so that none has to wait for what others need; what the
list of them says of each stands here, so that `penstock --help` waits for none.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import Any, Final, TextIO

import click

from penstock._base.files import open_streams, staying
from penstock._base.garbage import collect_seldom
from penstock._base.terminal import complain, say_lines
from penstock._base.text import hint
from penstock._base.version import VERSION
from penstock.errors import PenstockError, TraceCutShort, UserCodeRaised

STOPPED: Final = 3
BAD_INPUT: Final = 2

_COMMANDS: Final = {
    "audit": ("auditing:audit_command", "Find what is wrong with the tables of a network that runs."),
    "bugs": ("run_commands:bugs", "Group minimised runs by bug."),
    "campaign": (
        "campaigning:campaign_command",
        "Run all engines over many apps, and report which bugs are new.",
    ),
    "check": ("searching:check", "Search every ordering of a scenario's events."),
    "demo": ("demonstration:demo", "Find three bugs in a learning switch."),
    "diff": ("trace_commands:diff", "Compare two traces."),
    "doctor": ("doctor:doctor", "List what Penstock finds on this machine, and what is missing."),
    "export": ("exporting:export_command", "Write a run in the format of another tool."),
    "fetch-ryu": ("doctor:fetch_ryu", "Fetch Ryu's sources with pip, to run its own apps."),
    "fuzz": ("run_commands:fuzz_command", "Run a controller while links, switches and controllers fail."),
    "minimize": (
        "run_commands:minimize",
        ("Find a minimal sequence of inputs that leads to a trace's violation."),
    ),
    "openflow": ("trace_commands:openflow", "Replay a trace's OpenFlow messages to the switches alone."),
    "packets": ("searching:packets", "List the packets that the controller tells apart."),
    "plot": ("trace_commands:plot", "Draw how a minimisation went."),
    "properties": ("listing:properties", "List the properties, and which engines check them."),
    "replay": ("run_commands:replay", "Replay a trace and compare, step by step."),
    "report": ("reporting:report_command", "Show a run in a browser: the network and every step."),
    "show": ("trace_commands:show", "Print a trace as a story; nothing is run."),
    "step": ("searching:step", "Choose each step yourself, inspect states, go back."),
    "trace-packet": ("trace_commands:trace_packet", "Follow a packet of a trace, hop by hop."),
    "verify": ("verifying:verify_command", "Prove properties for any number of packets."),
    "walk": ("searching:walk", "Take random walks through a scenario."),
}
"""Where each command is, below this package, and what it does."""


class _Commands(click.Group):
    """Commands that are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command."""
        if cmd_name not in _COMMANDS:
            return None
        where, _ = _COMMANDS[cmd_name]
        module, _, name = where.partition(":")
        command: click.Command = getattr(import_module(f"penstock._cli.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write what the commands do, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, told) for name, (_, told) in _COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; wherever an app may move, paths mean what they mean now."""
        with staying():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is named first; of one that is unknown, say which was perhaps meant."""
        if args and not args[0].startswith("-") and args[0] not in _COMMANDS:
            raise PenstockError(f"unknown command {args[0]!r}: {hint(args[0], _COMMANDS)}")
        return super().resolve_command(ctx, args)


def main() -> None:
    """Run the command line; errors of the user's are one sentence, never a traceback."""
    open_streams()
    collect_seldom()
    warnings.showwarning = _print_warning
    warnings.simplefilter("once", TraceCutShort)
    try:
        sys.exit(commands(prog_name="penstock", standalone_mode=False))
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        _say(_sentence(error))
    except PenstockError as error:
        say_lines(error.traceback.splitlines(), err=True)
        _say(str(error))
    except UserCodeRaised as error:
        _say(str(error))
    except (KeyboardInterrupt, click.Abort):
        complain("stopped.")
        sys.exit(STOPPED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


def _print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Tell a warning of ours as a sentence, and others as Python does."""
    if issubclass(category, TraceCutShort):
        complain(str(message))
    elif file is None:
        say_lines(warnings.formatwarning(message, category, filename, lineno, line).splitlines(), err=True)
    else:
        file.write(warnings.formatwarning(message, category, filename, lineno, line))


def _sentence(error: click.ClickException) -> str:
    """Return what was wrong with a command line in one sentence, and where to find out what is right."""
    told = " ".join(error.format_message().split())
    is_wrong_value = isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter)
    context = error.ctx if isinstance(error, click.UsageError) else None
    if is_wrong_value or context is None or "Did you mean" in told:
        return told
    return f"{told.rstrip('.')}: see {context.command_path} --help."


def _say(sentence: str) -> None:
    complain(sentence)
    sys.exit(BAD_INPUT)


@click.group(
    cls=_Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(VERSION, prog_name="penstock")
@click.pass_context
def commands(context: click.Context) -> None:
    """Find, prove, shrink and explain bugs in SDN controllers."""
    if context.invoked_subcommand is None:
        say_lines(context.get_help().splitlines())
        context.exit(BAD_INPUT)
