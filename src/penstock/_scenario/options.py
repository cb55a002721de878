"""What a scenario says, table by table: how programs are started, and how engines go about.

Each class is a table, and each field describes an option, once (see `_base.typed`).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

from msgspec import Meta

from penstock._base.text import hint
from penstock._base.typed import (
    Checked,
    Count,
    Flag,
    Positive,
    Seconds,
    Table,
    check_fields,
    fit_options,
    made_from,
)
from penstock._properties.base import Property
from penstock.errors import PenstockError

# Searches: `[search]`.


REDUCTIONS: Final = ("sleep", "ample", "footprints")
"""The reductions by name (see `_explore.reductions`)."""

NONE: Final = "none"
"""What switches all of them off."""


class Strategy:
    """A way to search; what it is called in scenarios, and what it costs."""

    name: ClassVar[str]

    def __post_init__(self) -> None:
        check_fields(self, f"the strategy {self.name}")

    @property
    def remark(self) -> str:
        """What a search with this strategy may have missed, in a sentence; empty if nothing."""
        return ""


@dataclass(frozen=True, slots=True)
class Limits(Checked):
    """How a search goes about and where it stops."""

    SECTION: ClassVar[str] = "[search]"

    order: Annotated[Literal["breadth-first", "depth-first"], Flag("--order", "check")] = "breadth-first"
    """Which state comes next: breadth-first finds the shortest story, depth-first needs less memory."""
    start: Literal["joined", "cold"] = "joined"
    """Begin once every switch has joined and the controller has set it up, or before that."""
    states: Annotated[Positive | None, Flag("--states", "check verify")] = None
    """Stop after this many states."""
    depth: Annotated[Positive | None, Flag("--depth", "check")] = None
    """Go no deeper than this many steps."""
    seconds: Annotated[Seconds | None, Flag("--seconds", "check walk verify")] = None
    """Stop after this time.  A proof that is given no limit stops after 300 seconds."""
    memory_mb: Annotated[Positive | None, Flag("--memory", "check walk verify", metavar="MB")] = None
    """Stop when the process takes this much memory, in millions of bytes."""
    network: Annotated[bool, Flag("--network", "check walk verify")] = False
    """Let the program reach the network, in every run of every search.  By default it has none, where the
    kernel allows that."""
    all_violations: Annotated[bool, Flag("--all", "check walk")] = False
    """Go on after a violation, in states that do not come after it."""
    compact: Annotated[bool, Flag("--compact", "check")] = False
    """Remember states by 64-bit fingerprints: less memory, and a known small probability of missing one."""
    strategies: Annotated[
        Sequence[str | Table | Strategy], Flag("--strategy", "check walk", metavar="NAME[:OPTION=VALUE,…]")
    ] = ()
    """Ways to search less, or likelier places first, as `no-delay`.  Or tables with `name` and options."""
    reductions: Annotated[Sequence[str], Flag("--reduction", "check", choices=(*REDUCTIONS, NONE))] = ()
    """Ways besides sleep sets to search less and miss nothing; `none` does without sleep sets too."""

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        for name in self.reductions:
            if name not in (*REDUCTIONS, NONE):
                raise PenstockError(f"unknown reduction {name!r}: {hint(name, (*REDUCTIONS, NONE))}")
        if NONE in self.reductions and set(self.reductions) != {NONE}:
            raise PenstockError(f"The reduction {NONE!r} cannot be combined with others: give it alone.")


# Packets that make a difference: `[symbolic]`.


MOST_TIED: Final = 3
"""How long a chain may be whose first message lives on by nothing but a condition.

A counter that is compared with its last value ties every reading to the one before, without end.
"""


@dataclass(frozen=True, slots=True)
class SymbolicOptions(Checked):
    """How far to go in looking for inputs that make a difference."""

    SECTION: ClassVar[str] = "[symbolic]"

    paths: Positive = 500
    """How many paths are tried through one handler in one state."""
    seconds: Seconds | None = 30.0
    """How long that may take."""
    messages: tuple[Literal["statistics", "port-status", "flow-removed"], ...] = ()
    """The kinds of messages besides packets whose contents are found too."""
    ties: Positive = MOST_TIED
    """Over how many messages a value is followed that nothing but comparisons tie to an earlier one."""
    symmetry: bool = False
    """Hosts that nothing tells apart are not tried one by one: the scenario is then said to be symmetric."""


# Proofs: `[verify]`.


Method = Literal["mocs", "ample", "kuai", "off", "penstock"]
"""By which reductions a proof goes about (see `_verify.verification`)."""


@dataclass(frozen=True, slots=True)
class VerifyOptions(Checked):
    """How a proof goes about."""

    SECTION: ClassVar[str] = "[verify]"

    properties: Annotated[tuple[str, ...], Flag("--property -p", "verify", metavar="FORMULA")] = ()
    """What is to be proved: formulas, as in `G forall p in h2.rcvq: not p.ssh`, or names.  By default those
    of the scenario's properties that a proof knows."""
    mode: Annotated[Method, Flag("--mode", "verify")] = "penstock"
    """By which reductions.  See `_verify.verification`."""
    fair: Annotated[bool, Flag("--fair", "verify")] = False
    """A step that can be taken for ever is taken again and again (weak fairness)."""
    timeouts: Annotated[bool, Flag("--timeouts", "verify")] = False
    """A rule that has a timeout may vanish at any moment."""


def options_of(table: Mapping[str, Any]) -> VerifyOptions:
    """Return the options that a table gives."""
    return made_from(VerifyOptions, table, "verify")


# Fuzzing: `[fuzz]`, and controllers that are processes.


HIGHEST_PORT: Final = 65535


@dataclass(frozen=True, slots=True)
class FuzzOptions(Checked):
    """How a run goes about and where it stops: after `events` inputs or `seconds`, whichever comes first."""

    SECTION: ClassVar[str] = "[fuzz]"

    seed: Annotated[int, Flag("--seed", "fuzz")] = 1
    """What decides every choice.  The same seed gives the same inputs."""
    events: Annotated[Positive | None, Flag("--events", "fuzz")] = 1000
    """End after this many inputs."""
    seconds: Annotated[Seconds | None, Flag("--seconds", "fuzz")] = None
    """End after this much real time."""
    interval_ms: Count | None = None
    """How much time passes after each input; by default none on virtual time."""
    profile: Annotated[str, Flag("--profile", "fuzz")] = "usual"
    """What happens how often, by name, as `traffic`, `links` or `everything`."""
    rates: Mapping[str, Annotated[float, Meta(ge=0)]] = field(default_factory=dict)
    """Changes of single rates of the profile, as in `{link_failure = 0.1}`; 0 leaves a kind out."""
    order: Literal["fifo", "random"] = "fifo"
    """Which channel delivers next on virtual time: the one that waits longest, or any."""
    deliveries: Count = 12
    """How many messages, on average, come on virtual time before the next input; 0 lets all arrive."""
    check_every: Positive = 1
    """How many inputs come between two looks at the invariants, besides those that `check` asks for."""
    persistent_ms: Count = 5000
    """A violation that lasts for this long is persistent, and not transient."""
    settle_ms: Count = 10_000
    """How long a run waits at its end for the network to come to rest."""
    trace_mb: Positive = 2000
    """A run ends when its trace has grown to about this size, in millions of bytes."""
    invariants: Annotated[Sequence[str | Table | Property], Flag("--invariant -i", "fuzz")] = ()
    """What must hold: names of invariants or properties.  Or tables with `name` and options."""
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

    cmd: Annotated[Sequence[str], Meta(examples=['"program arguments"'])]
    """The command line, or its words as a list; `{port}` in it stands for the port."""
    port: Annotated[int, Meta(ge=1, le=HIGHEST_PORT)] = 6653
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
    options = fit_options(Command, table, f"[{where}]")
    if isinstance(table["cmd"], str):
        try:
            options["cmd"] = tuple(shlex.split(table["cmd"]))
        except ValueError as error:
            raise PenstockError(f"invalid cmd in [{where}]: {error}.") from None
    return Command(**options)


def checked_pattern(pattern: str, where: str) -> str:
    """Return a pattern of a scenario; one that looks like a regular expression is refused."""
    if not pattern.strip(" *"):
        raise PenstockError(f"{where} has an empty pattern: write the text to match.")
    if any(sign in pattern for sign in (".*", ".+", "\\")) or pattern[0] == "^" or pattern[-1] == "$":
        raise PenstockError(
            f"{pattern!r} in {where} looks like a regular expression: write plain text, in which * "
            "matches any characters."
        )
    return pattern


# Programs, and networks that programs draw.


@dataclass(frozen=True, slots=True)
class Apps(Checked):
    """A program of os-ken or Ryu apps."""

    SECTION: ClassVar[str] = "[controller]"

    apps: Annotated[tuple[str, ...], Meta(examples=['["app.py"]'])]
    """The apps, by file (`app.py`, `app.py:Class`) or module (`ryu.app.simple_switch_13`)."""
    timers: Count | None = 0
    """How many of its timers may go off in a search."""
    options: Table = field(default_factory=dict)
    """What the command line of os-ken would be given."""

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        if not self.apps:
            raise PenstockError('apps in [controller] names no app: write apps = ["app.py"].')


@dataclass(frozen=True, slots=True)
class NativeProgram(Checked):
    """A controller that is a small Python class."""

    SECTION: ClassVar[str] = "[controller]"

    native: Annotated[str, Meta(examples=['"file.py:Class"'])]
    """The subclass of `Controller`, `file.py:Class`."""


@dataclass(frozen=True, slots=True)
class MininetFile(Checked):
    """A network that a Mininet file draws."""

    SECTION: ClassVar[str] = "topology"

    mininet: Annotated[Path, Meta(examples=['"file.py"'])]
    """The file with a `Topo`, seen from the scenario's folder."""
    name: str | None = None
    """Which of its topologies, where there are several."""
