"""Asking the user before code runs that a trace names: `--trust` and `--run`.

Commands that run a trace again ask unless the code is what the trace was recorded with here; commands that
look at one run nothing without `--run`, and then say what.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from penstock._base.terminal import say
from penstock._base.text import visible
from penstock._trace.consent import Consent, consent_given, consent_to, what_runs
from penstock._trace.trace import read_header, trace_file

Command = Callable[..., Any]


def trust_option(command: Command) -> Command:
    """Give a command that runs a trace again the option to run whatever that names."""
    text = "Run the code that the trace names, whether or not the trace was recorded with it here."
    return click.option("--trust", is_flag=True, help=text)(command)


def run_option(command: Command) -> Command:
    """Give a command that looks at a trace the option to run what that names."""
    text = "Run the code that the trace names, for what only that can show; by default nothing is run."
    return click.option("--run/--no-run", default=False, help=text)(command)


def consent_to_replay(path: Path, *, trust: bool) -> Consent:
    """Return the consent to run a trace again; where there is a terminal, the user is asked."""
    is_there = sys.stdin.isatty() and sys.stderr.isatty()
    return consent_to(trace_file(path), trust=trust, ask=_ask if is_there else None)


def _ask(question: str) -> bool:
    return click.confirm(visible(question), err=True)


def consent_to_look(path: Path, *, run: bool) -> Consent | None:
    """Return the consent to run what a trace names, after saying what that is; None if nothing is to run."""
    if not run:
        return None
    header = read_header(trace_file(path))
    say(f"Running {what_runs(header.scenario)}, as {path} says …", err=True)
    return consent_given(header)
