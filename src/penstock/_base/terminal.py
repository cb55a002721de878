"""The one place that prints.

Whatever is said here may have an app's, a trace's or a controller's words in it, so all of it is cleaned (see
`clean_text`).  Each text is one line; a line break in it came with somebody's words, and what follows it is
set off, so that nobody can speak in Penstock's name.

An output that takes no more (a full disk, say) is told of once, and the command goes on: its exit status is
still that of its verdict.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Final

import click

from penstock._base.files import discard_output
from penstock._base.text import visible

_SET_OFF: Final = "\n     | "


def say(text: str = "", *, err: bool = False, end: str = "\n") -> None:
    """Print a line; on the standard error with `err`."""
    _print(visible(text).replace("\n", _SET_OFF) + end, err=err)


def pass_on(text: str, *, err: bool = False) -> None:
    """Print what another process printed, a piece at a time: its lines are as they were."""
    _print(visible(text, keep="\n\t"), err=err)


def _print(text: str, *, err: bool) -> None:
    try:
        click.echo(_encodable(text, err=err), err=err, nl=False)
    except BrokenPipeError:
        raise
    except OSError as error:
        _give_up(err=err, reason=error.strerror or str(error))


def say_lines(lines: Iterable[str], *, err: bool = False) -> None:
    """Print some lines."""
    for text in lines:
        say(text, err=err)


def complain(sentence: str) -> None:
    """Tell on the standard error what is wrong."""
    say(f"penstock: {sentence}", err=True)


def _encodable(text: str, *, err: bool) -> str:
    """Return a text with what the output's encoding does not have spelt out."""
    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _give_up(*, err: bool, reason: str) -> None:
    """Have whatever is still printed go nowhere, and say so where that can be said."""
    discard_output(sys.stderr if err else sys.stdout)
    if not err:
        complain(f"Cannot write to the standard output: {reason}; make room, or print elsewhere.")
