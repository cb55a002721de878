"""`penstock properties`: what can be demanded of a network, and which engines decide it."""

from __future__ import annotations

import json
import textwrap
from typing import Final

import click

from penstock._base.terminal import say, say_lines
from penstock._base.text import hint
from penstock._cli.options import json_option
from penstock._properties.registry import ALIASES, CHECK, FUZZ, VERIFY, Entry, canonical, entries
from penstock.errors import PenstockError

_ENGINES: Final = (CHECK, VERIFY, FUZZ)


@click.command()
@json_option
@click.argument("name", required=False)
def properties(name: str | None, as_json: bool) -> None:
    """List the properties by name, or tell how exactly each engine decides one, NAME.

    Your own are named as file.py:Name, or registered by an installed package (the entry points
    penstock.properties).
    """
    known = {each.name: each for each in entries()}
    if name is not None and canonical(name) not in known:
        raise PenstockError(f"unknown property {name!r}: {hint(name, known)}")
    chosen = list(known.values()) if name is None else [known[canonical(name)]]
    if as_json:
        say(json.dumps({"properties": [_as_json(each) for each in chosen]}))
    else:
        say_lines(_table(chosen) if name is None else _description(chosen[0]))


def _also(entry: Entry) -> list[str]:
    return [alias for alias, name in ALIASES.items() if name == entry.name]


def _as_json(entry: Entry) -> dict[str, object]:
    engines = dict(entry.engines)
    return {"name": entry.name, "sentence": entry.sentence, "engines": engines, "also": _also(entry)}


def _table(chosen: list[Entry]) -> list[str]:
    width = max(len(each.name) for each in chosen)
    lines = [f"{'property':{width}}  {'  '.join(f'{engine:6}' for engine in _ENGINES)}  what it requires"]
    for each in chosen:
        marks = "  ".join(f"{'yes' if engine in each.engines else '-':6}" for engine in _ENGINES)
        head = f"{each.name:{width}}  {marks}  "
        lines += textwrap.wrap(
            each.sentence, len(head) + 60, initial_indent=head, subsequent_indent=" " * len(head)
        )
    return [*lines, "", "penstock properties NAME shows how exactly each engine checks one."]


def _description(entry: Entry) -> list[str]:
    also = _also(entry)
    return [
        f"{entry.name}: {entry.sentence}",
        *([f"  also called {', '.join(also)}"] if also else []),
        *(f"  {engine}: {how}." for engine, how in entry.engines.items()),
    ]
