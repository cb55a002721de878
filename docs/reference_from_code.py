"""Writes the reference from the code: `python docs/reference_from_code.py`.

The pages in `docs/reference` are plain Markdown, so that they can be read anywhere.  Each is made here from
the annotations, defaults and texts of the code, and `tests/docs` holds them against it.  Every field has to
have a text below it in the source that says what it means.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

import click

import penstock
from penstock import _api as api
from penstock import _results as results
from penstock import pytest_plugin
from penstock._base.typed import Checked, hints_of, meanings_of, type_in_words
from penstock._campaign.options import CampaignOptions
from penstock._cli.main import commands
from penstock._engine.next_steps import Suggestion
from penstock._explore.strategies.plan import STRATEGIES
from penstock._fuzz.building import PROFILES
from penstock._properties import base
from penstock._properties.registry import PROPERTIES
from penstock._scenario import scenario
from penstock._scenario.options import (
    Apps,
    Command,
    FuzzOptions,
    Limits,
    MininetFile,
    NativeProgram,
    SymbolicOptions,
    VerifyOptions,
)
from penstock._scenario.scenario import Scenario
from penstock._world.fabric import Mobility
from penstock._world.faults import Faults
from penstock._world.hosts import KINDS
from penstock._world.hosts.host import GIVEN
from penstock._world.switch import SwitchOptions
from penstock.errors import PenstockError

FOLDER: Final = Path(__file__).parent / "reference"
_MADE: Final = "<!-- Made by docs/reference_from_code.py: change the code, and run that. -->"
_LONGEST_DEFAULT: Final = 40


def main() -> None:
    """Write all pages."""
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """Return the pages of the reference, by file."""
    made: Mapping[str, Callable[[], Iterator[str]]] = {
        "scenario.md": _scenario,
        "commands.md": _commands,
        "properties.md": _properties,
        "api.md": _api,
    }
    return {name: "\n".join([_MADE, "", *lines()]).rstrip() + "\n" for name, lines in made.items()}


# Scenarios.


def _scenario() -> Iterator[str]:
    yield "# Scenarios"
    yield ""
    yield from markdown_of(scenario)
    yield ""
    yield "What does not fit is refused in one sentence, which names the line, the field, what was given and"
    yield "what is expected. One rule holds for all lists: a single value stands for a list of one, so"
    yield '`apps = "app.py"` is `apps = ["app.py"]`.'
    yield from _section("Fields", Scenario)
    yield from _section("`[controller]` with apps of os-ken or Ryu", Apps)
    yield from _section("`[controller]` with a class of your own", NativeProgram)
    yield from _section("`[controller]` with a process", Command)
    yield from _section("`topology` with a Mininet file", MininetFile)
    yield from _section("`[search]`", Limits)
    yield from _strategies()
    yield from _section("`[fuzz]`", FuzzOptions)
    yield ""
    yield f"The profiles are {', '.join(f'`{name}`' for name in PROFILES)}; [Fuzzing](../fuzz.md) tells them."
    yield from _section("`[verify]`", VerifyOptions)
    yield from _section("`[switches]`", SwitchOptions, leave_out=("version", "services"))
    yield from _section("`[faults]`", Faults)
    yield from _section("`[symbolic]`", SymbolicOptions)
    yield from _hosts()
    yield from _section("Lists of campaigns", CampaignOptions)


def _section(title: str, kind: type, leave_out: tuple[str, ...] = ()) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
    yield from markdown_of(kind)
    yield ""
    yield from table_of(kind, leave_out)


def _strategies() -> Iterator[str]:
    yield ""
    yield "### Strategies"
    yield ""
    yield "Each is a name, `no-delay`, a name with options, `pkt-seq:count=1`, or a table with both."
    for name, kind in STRATEGIES.items():
        yield ""
        yield f"`{name}`: {_first_paragraph(kind)}"
        if is_dataclass(kind) and fields(kind):
            yield ""
            yield f"Options: {', '.join(_strategy_option(kind, item) for item in fields(kind))}."


def _strategy_option(kind: type, item: Field[Any]) -> str:
    default = _default(item)
    return f"`{item.name}` ({_type(kind, item)}{f', by default {default}' if default else ''})"


def _hosts() -> Iterator[str]:
    yield ""
    yield "## `[hosts.NAME]`"
    yield ""
    yield 'Every host has the fields of `kind = "host"`. `file.py:Class` is'
    yield "[a host of your own](../howto/host.md)."
    common = {item.name for item in fields(KINDS["host"])}
    for name, kind in KINDS.items():
        yield ""
        yield f'### `kind = "{name}"`'
        yield ""
        yield from markdown_of(kind)
        own = tuple(item.name for item in fields(kind) if item.name in (GIVEN if name == "host" else common))
        yield ""
        yield from table_of(kind, own)
    yield ""
    yield "### `mobility`"
    yield ""
    yield from markdown_of(Mobility)
    yield ""
    yield from table_of(Mobility)


def table_of(kind: type, leave_out: tuple[str, ...] = ()) -> list[str]:
    """Return the fields of a dataclass as a table."""
    meanings = meanings_of(kind)
    rows = [
        f"| `{item.name}` | {_type(kind, item)} | {_default(item, kind)} | {_cell(meanings[item.name])} |"
        for item in fields(kind)
        if item.init and item.name not in leave_out
    ]
    return ["| field | value | default | meaning |", "| --- | --- | --- | --- |", *rows] if rows else []


def _type(kind: type, item: Field[Any]) -> str:
    """Return in words what a field takes from a file."""
    return _cell(type_in_words(_from_files(hints_of(kind).get(item.name, Any))))


def _from_files(hint: Any) -> Any:
    """Return a type without what only Python can give: functions, and objects of ours."""
    inner = get_args(hint)
    match get_origin(hint):
        case origin if origin is Annotated:
            return Annotated[_from_files(inner[0]), *inner[1:]]
        case origin if origin in (Union, UnionType):
            kept = [each for each in inner if _is_plain(each)] or inner
            return reduce(or_, map(_from_files, kept))
        case origin if origin in (tuple, Sequence):
            return tuple[_from_files(inner[0]), ...]
        case origin if origin is Mapping:
            return Mapping[str, _from_files(inner[1])]
    return hint


def _is_plain(kind: Any) -> bool:
    """Tell whether a file can have such a value."""
    if get_origin(kind) is Callable:
        return False
    is_ours = isinstance(kind, type) and kind.__module__.startswith("penstock.")
    return not is_ours or issubclass(kind, Checked)


_IN_SCENARIOS: Final = {(SwitchOptions, "counters"): False}
"""The defaults that are others in a scenario than in Python."""


def _default(item: Field[Any], kind: type | None = None) -> str:
    if kind is not None and (kind, item.name) in _IN_SCENARIOS:
        return f"`{str(_IN_SCENARIOS[kind, item.name]).lower()}`"
    if item.default is MISSING and item.default_factory is MISSING:
        return "required"
    value = item.default if item.default is not MISSING else item.default_factory()  # type: ignore[misc]
    if value is None or value == () or value == {}:
        return ""
    text = str(value).lower() if isinstance(value, bool) else getattr(value, "__name__", str(value))
    return f"`{text}`" if len(text) <= _LONGEST_DEFAULT else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# Commands.


def _commands() -> Iterator[str]:
    yield "# Commands"
    yield ""
    yield "`SCENARIO` is a `.toml` file ([fields](scenario.md)), an app's `.py` file, or its module's name."
    yield "Exit status: 0 nothing found and everything searched; 1 a violation; 2 bad input, in one sentence;"
    yield "3 stopped by a bound with nothing found, with what to try next."
    yield ""
    yield "## Completion in the shell"
    yield ""
    yield "Commands and options are completed by Tab once the shell has been told so, in its start-up file:"
    yield ""
    for shell, file, line in (
        ("bash", "~/.bashrc", 'eval "$(_PENSTOCK_COMPLETE=bash_source penstock)"'),
        ("zsh", "~/.zshrc", 'eval "$(_PENSTOCK_COMPLETE=zsh_source penstock)"'),
        ("fish", "~/.config/fish/config.fish", "_PENSTOCK_COMPLETE=fish_source penstock | source"),
    ):
        yield f"- {shell}, in `{file}`: `{line}`"
    context = click.Context(commands)
    for name in commands.list_commands(context):
        command = commands.get_command(context, name)
        assert command is not None
        yield from _command(name, command)


def _command(name: str, command: click.Command) -> Iterator[str]:
    yield ""
    yield f"## `penstock {name}`"
    yield ""
    words = " ".join(command.collect_usage_pieces(click.Context(command, info_name=name)))
    yield f"    penstock {name} {words}"
    yield ""
    yield from inspect.cleandoc(command.help or "").replace("\b\n", "").splitlines()
    options = [each for each in command.params if isinstance(each, click.Option)]
    if options:
        yield ""
        yield "| option | meaning |"
        yield "| --- | --- |"
        yield from (_option(command, each) for each in options)


def _option(command: click.Command, option: click.Option) -> str:
    names, text = option.get_help_record(click.Context(command)) or ("", "")
    return f"| `{_cell(names)}` | {_cell(text)} |"


# Properties.


def _properties() -> Iterator[str]:
    yield "# Properties"
    yield ""
    yield "Each has a name for scenarios and the command line; options are the keys of a table, as in"
    yield '`{name = "FlowAffinity", replicas = ["h2", "h3"]}`.'
    yield "[Write a property](../howto/property.md) says how to make your own."
    for name, kind in PROPERTIES.items():
        yield ""
        yield f"## {name}"
        yield ""
        yield from markdown_of(kind)
        if kind.needs:
            yield ""
            yield f"To be exercised it needs {kind.needs}."
        options = inspect.signature(kind).parameters.values()
        if options:
            yield ""
            words = (
                f"`{each.name}`, {type_in_words(hints_of(kind).get(each.name, Any))}" for each in options
            )
            yield f"Options: {'; '.join(words)}. A function is given as `file.py:name`."
    yield ""
    yield "## The interface"
    yield ""
    yield from markdown_of(base)
    yield ""
    yield from _class(base.Property)
    yield from _class(base.Violated)
    yield ""
    yield from markdown_of(base)


# Python.


def _api() -> Iterator[str]:
    yield "# Python"
    yield ""
    yield from markdown_of(penstock)
    for function in (api.check, api.verify, api.fuzz, api.replay, api.minimize):
        yield from _callable(function, "##")
    kinds = (results.Result, results.Violation, results.Minimised, Suggestion, results.Broken, PenstockError)
    for kind in kinds:
        yield ""
        yield f"## `{kind.__name__}`"
        yield ""
        yield from _class(kind)
    yield ""
    yield "## Keywords"
    yield ""
    yield from markdown_of(api)
    yield ""
    yield "The fields themselves are [those of scenarios](scenario.md)."
    yield ""
    yield "## pytest"
    yield ""
    yield from markdown_of(pytest_plugin)
    yield ""
    yield from _class(pytest_plugin.Examiner)


def _class(kind: type) -> Iterator[str]:
    yield from markdown_of(kind)
    told = meanings_of(kind)
    for name in (item.name for item in fields(kind)) if is_dataclass(kind) else told:
        yield ""
        yield f"- `{name}`: {told[name]}" if name in told else f"- `{name}`"
    for name, member in vars(kind).items():
        text = inspect.getdoc(member) if not name.startswith("_") else None
        if isinstance(member, property) and text:
            yield ""
            yield f"- `{name}`: {' '.join(text.split())}"
        elif inspect.isfunction(member) and text:
            yield from _callable(member, "###")


def _callable(function: Callable[..., Any], level: str) -> Iterator[str]:
    parameters = [_parameter(each) for each in _shown(function)]
    yield ""
    yield f"{level} `{function.__name__}({', '.join(parameters)})`"
    yield ""
    yield from markdown_of(function)


def _parameter(parameter: inspect.Parameter) -> str:
    default = parameter.default
    told = str(default) if isinstance(default, Path) else default
    return str(parameter.replace(annotation=inspect.Parameter.empty, default=told))


def _shown(function: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    for each in inspect.signature(function).parameters.values():
        if each.name != "self":
            yield each.replace(name=each.name.lstrip("_"))


# Texts.


def markdown_of(thing: object) -> list[str]:
    """Return a docstring as Markdown: what is indented in it is code already, and stays so."""
    return (inspect.getdoc(thing) or "").splitlines()


def _first_paragraph(thing: object) -> str:
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


if __name__ == "__main__":
    main()
