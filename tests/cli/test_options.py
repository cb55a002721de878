"""Options and names on the command line: each that is listed is read, and a mistyped one is recognised."""

from __future__ import annotations

import dis
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from penstock._base.typed import Flag, flags_of, meanings_of
from penstock._cli.main import commands
from penstock._cli.scenarios import is_given
from penstock._explore.strategies.random_walks import RandomWalks
from penstock._scenario.scenario import SECTIONS, Scenario
from penstock._worker.supervision import Supervised
from penstock.errors import PenstockError

ALL = commands.list_commands(click.Context(commands))

SAMPLES = {
    "--topo": "linear,2",
    "--custom": "mine.py:two",
    "--openflow": "1.0",
    "--property": "NoBlackHoles",
    "--ping": "h1,h2",
    "--order": "depth-first",
    "--strategy": "races",
    "--reduction": "ample",
    "--states": "7",
    "--depth": "7",
    "--seconds": "7",
    "--memory": "7000",
    "--mode": "mocs",
    "--seed": "7",
    "--walks": "7",
    "--longest": "7",
    "--events": "7",
    "--profile": "links",
    "--invariant": "NoForwardingLoops",
    "--after": "trace.jsonl",
    "--steps": "1",
    "--host": "h1",
    "--at": "0",
    "--output": "elsewhere",
}
"""A value for each option that takes one, other than the default."""

AFTERWARDS = {"--json", "--junit", "--sarif"}
"""What the options are about that are read once a result is there."""

ENGINES = {
    "check": "penstock._check.check.check",
    "walk": "penstock._check.check.walk",
    "packets": "penstock._check.packets.list_packets",
    "step": "penstock._cli.stepping.step_through",
    "verify": "penstock._verify.proof.prove",
    "fuzz": "penstock._cli.fuzzing.run_fuzz",
}


def command_named(name: str) -> click.Command:
    found = commands.get_command(click.Context(commands), name)
    assert found is not None
    return found


def options_of(name: str) -> list[click.Option]:
    return [each for each in command_named(name).params if isinstance(each, click.Option)]


CASES = [
    (name, option.opts[0])
    for name in ENGINES
    for option in options_of(name)
    if option.opts[0] not in AFTERWARDS and option.opts[0] != "--help"
]


class Reached(Exception):
    """The engine was called."""


def given_to_the_engine(
    name: str, words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Any, ...]:
    """Return what a command hands to its engine."""
    handed: list[Any] = []

    def engine(*arguments: Any, **options: Any) -> None:
        for name in ("progress", "found"):
            options.pop(name, None)
        handed.append(([_seen(each) for each in arguments], options))
        raise Reached

    def here(job: Callable[[Callable[[object], None]], Any], **_options: Any) -> Supervised:
        """Do a worker's job in this process, where it can be seen what comes of it."""
        return Supervised(job(lambda _: None))

    with monkeypatch.context() as patched:
        patched.setattr(ENGINES[name], engine)
        for module in ("engines", "commands"):
            patched.setattr(f"penstock._worker.{module}.supervise", here)
        for stream in ("stdout", "stderr"):
            # A worker has streams of its own in their place.
            patched.setattr(sys, stream, getattr(sys, stream))
        patched.chdir(folder)
        with pytest.raises(Reached):
            commands.main([name, "hub.toml", *words], standalone_mode=False)
    return tuple(handed)


def _seen(argument: Any) -> Any:
    """Return what can be compared of an argument: of a run by hand, its scenario and place."""
    return (argument.scenario, argument.at) if hasattr(argument, "at") else argument


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("options")
    (made / "hub.toml").write_text('topology = "single,3"\n[controller]\nnative = "hub.py:Hub"\n')
    (made / "hub.py").write_text(
        (Path(__file__).parent.parent.parent / "examples/controllers/hub.py").read_text()
    )
    (made / "mine.py").write_text("from mininet.topo import MinimalTopo\n\ntopos = {'two': MinimalTopo}\n")
    return made


@pytest.mark.parametrize(("name", "option"), CASES)
def test_every_option_reaches_the_engine(
    name: str, option: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (name, option) == ("step", "--at"):
        with pytest.raises(PenstockError, match="3"):
            given_to_the_engine(name, ["--at", "3"], folder, monkeypatch)
        return
    if (name, option) == ("step", "--trust"):
        with pytest.raises(PenstockError, match="is not a trace, so there is nothing to trust"):
            given_to_the_engine(name, ["--trust"], folder, monkeypatch)
        return
    (wanted,) = [each for each in options_of(name) if each.opts[0] == option]
    words = [option] if wanted.is_flag else [option, SAMPLES[option]]
    assert given_to_the_engine(name, words, folder, monkeypatch) != given_to_the_engine(
        name, [], folder, monkeypatch
    )


@pytest.mark.parametrize("name", ALL)
def test_every_parameter_of_a_command_is_read_in_it(name: str) -> None:
    callback: Callable[..., Any] = command_named(name).callback  # type: ignore[assignment]
    read = {
        word
        for step in dis.get_instructions(callback)
        if "LOAD_" in step.opname  # from Python 3.12 on two may be one: STORE_FAST_LOAD_FAST
        for word in (step.argval if isinstance(step.argval, tuple) else (step.argval,))
    }
    code = callback.__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    assert {*parameters} <= read
    swallowed = {each.name for each in command_named(name).params} - {*parameters}
    assert not swallowed or code.co_flags & 0x08, "a parameter nobody takes"


@pytest.mark.parametrize(
    ("name", "ignored"),
    [
        ("walk", {"--order", "--reduction", "--states", "--depth", "--compact"}),
        ("packets", {"--property", "--ping", "--order", "--strategy", "--seconds", "--states", "--all"}),
        ("step", {"--order", "--strategy", "--reduction", "--seconds", "--states", "--all", "--compact"}),
        ("verify", {"--ping", "--order", "--strategy", "--reduction", "--depth", "--all", "--compact"}),
        ("fuzz", {"--ping", "--order", "--strategy", "--reduction", "--depth", "--states", "--compact"}),
    ],
)
def test_what_an_engine_does_not_go_by_is_no_option_of_its_command(name: str, ignored: set[str]) -> None:
    assert not ignored & {word for option in options_of(name) for word in option.opts}


KINDS: tuple[type, ...] = (Scenario, *SECTIONS.values(), RandomWalks)
DESCRIBED = [
    (command, kind, field, flag)
    for kind in KINDS
    for field, flag in flags_of(kind)
    for command in flag.commands.split()
]


@pytest.mark.parametrize(("command", "kind", "field", "flag"), DESCRIBED)
def test_a_field_that_has_a_flag_is_an_option_of_its_commands(
    command: str, kind: type, field: str, flag: Flag
) -> None:
    (option,) = [each for each in options_of(command) if each.name == field]
    assert option.opts == flag.words.split()
    told = (option.help or "").rstrip(".").removesuffix("; repeatable")
    assert told and meanings_of(kind)[field].replace("`", "").startswith(told)
    # What is not given leaves the scenario as it is; walks are in no scenario.
    default = option.get_default(click.Context(command_named(command)))
    assert is_given(default) == (kind is RandomWalks)


@pytest.mark.parametrize(
    ("command", "option", "wrong"),
    [
        ("check", "--states", "0"),
        ("fuzz", "--seconds", "0"),
        ("walk", "--walks", "0"),
        ("fuzz", "--seed", "x"),
    ],
)
def test_an_option_has_the_bounds_of_its_field(command: str, option: str, wrong: str) -> None:
    with pytest.raises(click.BadParameter):
        commands.main([command, "hub.toml", option, wrong], standalone_mode=False)


@pytest.mark.parametrize("name", [*ENGINES])
def test_every_command_that_builds_a_network_takes_one(name: str) -> None:
    assert {"--topo", "--custom", "--openflow"} <= {option.opts[0] for option in options_of(name)}


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["chek"], "unknown command 'chek': did you mean 'check'?"),
        (["check", "x.toml", "--dpeth", "3"], "--depth"),
        (["fuzz", "x.toml", "--evnts", "3"], "--events"),
        (["check", "x.toml", "--order", "depth"], "unknown value 'depth': did you mean 'depth-first'?"),
        (["check", "x.toml", "--reduction", "ampel"], "did you mean 'ample'?"),
        (["verify", "x.toml", "--mode", "penstok"], "did you mean 'penstock'?"),
        (["export", "mermiad", "x"], "did you mean 'mermaid'?"),
        (["check", "hub.toml", "--topo", "sngle,2"], "did you mean single,"),
        (["check", "hub.toml", "--strategy", "rases"], "did you mean 'races'?"),
        (["check", "hub.toml", "-p", "NoBlackHole"], "did you mean 'NoBlackHoles'?"),
        (["check", "hub.toml", "-p", "noblackholes"], "did you mean 'NoBlackHoles'?"),
        (["verify", "hub.toml", "-p", "NoForwardingLoop"], "did you mean 'NoForwardingLoops'?"),
        (["fuzz", "hub.toml", "--profile", "lnks"], "did you mean 'links'?"),
        (["fuzz", "hub.toml", "-i", "NoForwardingLops"], "did you mean 'NoForwardingLoops'?"),
    ],
)
def test_a_mistyped_name_is_recognised(
    words: list[str], meant: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    outcome = CliRunner().invoke(commands, words, standalone_mode=False)
    error = outcome.exception
    assert isinstance(error, PenstockError | click.ClickException)
    said = error.format_message() if isinstance(error, click.ClickException) else str(error)
    assert meant in said and "\n" not in said


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes_commands_and_options(shell: str) -> None:
    def asked(instruction: str, **variables: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", "from penstock._cli.main import main; main()"],
            env={**os.environ, "_PENSTOCK_COMPLETE": f"{shell}_{instruction}", **variables},
            capture_output=True,
            text=True,
            check=False,
        ).stdout

    assert "_PENSTOCK_COMPLETE" in asked("source")
    last = {"COMP_WORDS": "penstock ch", "COMP_CWORD": "1" if shell != "fish" else "ch"}
    assert "check" in asked("complete", **last) and "walk" not in asked("complete", **last)
    last = {"COMP_WORDS": "penstock fuzz --pro", "COMP_CWORD": "2" if shell != "fish" else "--pro"}
    assert "--profile" in asked("complete", **last)
