"""What a scenario says about fuzzing: its table `[fuzz]`, and how a controller's process is started."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal

from penstock._base.tables import Table, fitted
from penstock._base.typed import Checked, From, Such
from penstock._properties.base import Property
from penstock.errors import PenstockError

HIGHEST_PORT: Final = 65535
KEYS_OF_COMMANDS: Final = ("cmd", "port", "cwd", "env", "tls", "log_files")
"""The keys of a controller's table that speak of its process."""


@dataclass(frozen=True, slots=True)
class FuzzOptions(Checked):
    """How a run goes about and where it stops: after `events` inputs or `seconds`, whichever comes first."""

    SECTION: ClassVar[str] = "[fuzz]"

    seed: int = 1
    """What decides every choice: the same seed gives the same inputs."""
    events: Annotated[int, From(1)] | None = 1000
    """End after this many inputs."""
    seconds: Annotated[float, From(0, above=True)] | None = None
    """End after this much real time."""
    interval_ms: Annotated[int, From(0)] | None = None
    """How much time passes after each input; by default none on virtual time."""
    profile: str = "usual"
    """What happens how often, by name (see `_fuzz.profiles`)."""
    rates: Mapping[str, Annotated[float, From(0)]] = field(default_factory=dict)
    """Changes of single rates of the profile, as in `{link_failure = 0.1}`; 0 leaves a kind out."""
    order: Literal["fifo", "random"] = "fifo"
    """Which channel delivers next on virtual time: the one that waits longest, or any."""
    deliveries: Annotated[int, From(0)] = 12
    """How many messages, on average, come on virtual time before the next input; 0 lets all arrive."""
    check_every: Annotated[int, From(1)] = 1
    """How many inputs come between two looks at the invariants, besides those that `check` asks for."""
    persistent_ms: Annotated[int, From(0)] = 5000
    """A violation that lasts for this long is no passing one."""
    settle_ms: Annotated[int, From(0)] = 10_000
    """How long a run waits at its end for the network to come to rest."""
    trace_mb: Annotated[int, From(1)] = 2000
    """A run ends when its trace has grown to about this size, in millions of bytes."""
    invariants: Sequence[str | Table | Property] = ()
    """What must hold: names of invariants or properties, or tables with `name` and options."""
    policy: str | None = None
    """The user's function that changes the policy, `file.py:function`."""
    after_crash: Literal["continue", "restart", "stop"] = "continue"
    """After a handler raised the program goes on (as os-ken would), is restarted, or the run ends.  A program
    that hangs is restarted, or the run ends."""
    listen: Mapping[str, str] = field(default_factory=dict)
    """Switches that answer calls of `ovs-ofctl` and the like, as in `{s1 = "ptcp:6654"}`."""
    inputs: Sequence[str] = ()
    """The inputs of the run in order, in place of drawn ones, each as the console takes it."""
    masks: Sequence[str] = ()
    """Values that replays need not agree in, as `role` in `role=slave`."""
    error_patterns: Sequence[str] = ()
    """Lines of a controller's log that are errors, besides the usual ones; `*` stands for any text."""
    ignored_errors: Sequence[str] = ()
    """Errors in a controller's log that do not count; `*` stands for any text."""

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        for key in ("error_patterns", "ignored_errors"):
            for pattern in getattr(self, key):
                checked_pattern(pattern, f"{key} of [fuzz]")
        if self.events is None and self.seconds is None and not self.inputs:
            raise PenstockError("A run of [fuzz] needs an end: give events or seconds.")


@dataclass(frozen=True, slots=True)
class Command(Checked):
    """How a controller's process is started, and where it then listens."""

    SECTION: ClassVar[str] = "[controller]"

    cmd: Annotated[Sequence[str], Such('"program arguments"')]
    """The command line, or its words as a list; `{port}` in it stands for the port."""
    port: Annotated[int, From(1, HIGHEST_PORT)] = 6653
    """Where it listens for switches."""
    cwd: Path | None = None
    """The folder to run it in, seen from the scenario's; by default the scenario's."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables of its environment, besides those of Penstock's own."""
    tls: bool | Mapping[str, str] = False
    """Speak TLS: without checks, or with files in a table of `ca`, `cert` and `key`."""
    log_files: Sequence[str] = ()
    """Files that it logs to besides what it prints, seen from where it runs."""

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        if not self.cmd:
            raise PenstockError('cmd of a controller is empty: write cmd = "program arguments".')


def command_of(table: Table, where: str) -> Command:
    """Return the command that a controller's table gives."""
    options = fitted(Command, table, f"[{where}]")
    if isinstance(table["cmd"], str):
        try:
            options["cmd"] = tuple(shlex.split(table["cmd"]))
        except ValueError as error:
            raise PenstockError(f"cmd in [{where}] is no command line: {error}.") from None
    return Command(**options)


def checked_pattern(pattern: str, where: str) -> str:
    """Return a pattern of a scenario; one that looks like a regular expression is refused."""
    if not pattern.strip(" *"):
        raise PenstockError(f"{where} has a pattern without any text in it: write the text to look for.")
    if any(sign in pattern for sign in (".*", ".+", "\\")) or pattern[0] == "^" or pattern[-1] == "$":
        raise PenstockError(
            f"{pattern!r} in {where} looks like a regular expression: write a text, in which * stands for "
            "any characters."
        )
    return pattern
