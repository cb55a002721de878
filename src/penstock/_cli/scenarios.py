"""How a command is told a scenario: its name, and the options that the scenario's fields describe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import click
from msgspec import Meta

from penstock._base.files import absolute
from penstock._base.typed import Flag, flags_of, hints_of, meanings_of
from penstock._cli.options import A_PATH, Command, Decorator, OneOf, with_options
from penstock._engine.building import plan, without_code
from penstock._scenario.scenario import EVERY, READ_BY, SECTIONS, Scenario, scenario_at, with_fields
from penstock.errors import PenstockError


def options_for(command: str, kind: type, *, defaults: bool = False) -> Iterator[Decorator]:
    """Yield the options of a command that the fields of a class describe.

    With `defaults`, an option that is not given has the field's; else it changes nothing.
    """
    initial = {item.name: item.default for item in fields(kind)} if defaults else {}
    for name, flag in flags_of(kind, command):
        yield _option(name, flag, hints_of(kind)[name], meanings_of(kind).get(name, ""), initial.get(name))


def _option(name: str, flag: Flag, kind: Any, meaning: str, default: Any) -> Decorator:
    # The first sentence; what comes after it is for files, where there is more room.
    told, value = meaning.replace("`", "").partition(". ")[0].rstrip("."), _value_type(kind)
    if value is bool:
        return click.option(*flag.words.split(), name, is_flag=True, help=f"{told}.")
    several = isinstance(value, list)
    return click.option(
        *flag.words.split(),
        name,
        type=OneOf(flag.choices) if flag.choices else value[0] if several else value,
        metavar=flag.metavar,
        multiple=several,
        default=default,
        show_default=default is not None,
        help=f"{told}; repeatable." if several else f"{told}.",
    )


def _value_type(kind: Any) -> Any:
    """Return click's type for the values of a field, in a list if there may be several."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        # What comes first is what can be typed: a name rather than a table or an object.
        return _value_type(inner[0])
    if origin is Literal:
        return OneOf(inner)
    if origin in (tuple, Sequence):
        return [_value_type(inner[0])]
    if origin is Annotated:
        bounds: Any = next((mark for mark in inner[1:] if isinstance(mark, Meta)), None)
        if inner[0] is int and bounds:
            return click.IntRange(bounds.ge, bounds.le)
        if inner[0] is float and bounds:
            return click.FloatRange(bounds.gt, min_open=True)
        return _value_type(inner[0])
    return kind


_CUSTOM: Final = click.option(
    "--custom", metavar="FILE[:NAME]", help="A file with a Mininet Topo, as the topology."
)
_PING: Final = click.option(
    "--ping", metavar="A,B", multiple=True, help="Have A ping B; replaces the scenario's hosts."
)
_SPELT_OTHERWISE: Final = ((_CUSTOM, EVERY), (_PING, "check walk step"))
"""The options that say in another way what a field says, and the commands that have them."""


def scenario_options(command: str) -> Callable[[Command], Command]:
    """Give a command what it takes to name a scenario, and its options to change that."""
    options = list(options_for(command, Scenario))
    options += [option for option, commands in _SPELT_OTHERWISE if command in commands.split()]
    for table in READ_BY.get(command, ()):
        options += options_for(command, SECTIONS[table])

    def given(function: Command) -> Command:
        return click.argument("scenario", type=A_PATH)(with_options(*options)(function))

    return given


def scenario_from(path: Path, command: str = "check", /, **options: Any) -> Scenario:
    """Return the scenario of a file or a module, with what the options of a command say."""
    given = {name: value for name, value in options.items() if is_given(value)}
    if custom := given.pop("custom", None):
        file, _, name = custom.partition(":")
        given["topology"] = {"mininet": str(absolute(Path(file))), **({"name": name} if name else {})}
    if pings := [_ping(text) for text in given.pop("ping", ())]:
        if len({sender for sender, _ in pings}) < len(pings):
            raise PenstockError("A host pings one other: give --ping once for each sender.")
        given["hosts"] = dict(pings)
    chosen = with_fields(scenario_at(path), command, given)
    # Commands that do not search refuse what no search could go by, too.
    plan(without_code(chosen))
    return chosen


def is_given(value: Any) -> bool:
    """Tell whether an option was given, by its value."""
    return value is not None and value is not False and value != ()


def _ping(text: str) -> tuple[str, dict[str, str]]:
    sender, comma, receiver = text.partition(",")
    if not comma or not sender or not receiver or sender == receiver:
        raise PenstockError(f"invalid --ping {text!r}: write it as h1,h2.")
    return sender, {"kind": "ping", "to": receiver}
