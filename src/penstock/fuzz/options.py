"""What a scenario says about fuzzing: its table `[fuzz]`, and how a controller's process is started."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from penstock.errors import PenstockError
from penstock.tables import Table, made_from

HIGHEST_PORT: Final = 65535
KEYS_OF_COMMANDS: Final = ("cmd", "port", "cwd", "env", "tls")
"""The keys of a controller's table that speak of its process."""


@dataclass(frozen=True, slots=True)
class FuzzOptions:
    """How a run goes about and where it stops.

    The run ends after `events` inputs or `seconds` of real time, whichever comes first.  After
    each input `interval_ms` pass (by default none on virtual time).  `profile` and `rates` say what
    happens how often (see `profiles`).  `deliveries` is how many messages, on average, are delivered
    on virtual time before the next input comes in between; 0 lets all arrive first.  `check_every` is
    how many inputs come between two looks at the invariants, besides those that `check` asks for; a
    violation that lasts for `persistent_ms` is no passing one.  `policy` names the user's function
    `file.py:function`.  `after_crash` says what follows on a handler that raised: the program goes on
    (as os-ken would), is restarted, or the run ends.  One that hangs is restarted, or the run ends.
    A run whose trace has grown to about `trace_mb` (millions of bytes) ends there.
    `listen` has switches answer calls of `ovs-ofctl` and the like, `{s1 = "ptcp:6654"}`.  `inputs` are
    the inputs of the run in order, in place of drawn ones, each as the console takes it; the run ends
    with the last.  `masks` names values that replays need not agree in, as `role` in `role=slave`.
    """

    seed: int = 1
    events: int | None = 1000
    seconds: float | None = None
    interval_ms: int | None = None
    profile: str = "usual"
    rates: Mapping[str, float] = field(default_factory=dict)
    order: Literal["fifo", "random"] = "fifo"
    deliveries: int = 12
    check_every: int = 1
    persistent_ms: int = 5000
    settle_ms: int = 10_000
    trace_mb: int = 2000
    invariants: Sequence[Any] = ()
    policy: str | None = None
    after_crash: Literal["continue", "restart", "stop"] = "continue"
    listen: Mapping[str, str] = field(default_factory=dict)
    inputs: Sequence[str] = ()
    masks: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name, least in (
            ("seed", None),
            ("events", 1),
            ("interval_ms", 0),
            ("deliveries", 0),
            ("check_every", 1),
            ("persistent_ms", 0),
            ("settle_ms", 0),
            ("trace_mb", 1),
        ):
            number = getattr(self, name)
            if number is None and name in ("events", "interval_ms"):
                continue
            if type(number) is not int or (least is not None and number < least):
                wanted = "" if least is None else f" from {least} up"
                raise PenstockError(f"{name} = {number!r} in [fuzz] is no whole number{wanted}.")
        if self.seconds is not None and (type(self.seconds) not in (int, float) or not self.seconds > 0):
            raise PenstockError(f"seconds = {self.seconds!r} in [fuzz] is no time: give a number above 0.")
        for name, example in (("inputs", "send h1 h2 ping 1"), ("masks", "role")):
            texts = getattr(self, name)
            if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
                raise PenstockError(f'{name} in [fuzz] is no list of texts: write {name} = ["{example}"].')
        if self.events is None and self.seconds is None and not self.inputs:
            raise PenstockError("A run of [fuzz] needs an end: give events or seconds.")
        if self.order not in ("fifo", "random"):
            raise PenstockError(f"order = {self.order!r} in [fuzz] is unknown: use 'fifo' or 'random'.")
        if self.after_crash not in ("continue", "restart", "stop"):
            raise PenstockError(
                f"after_crash = {self.after_crash!r} in [fuzz] is unknown: "
                "use 'continue', 'restart' or 'stop'."
            )
        if not isinstance(self.profile, str):
            raise PenstockError(f"profile = {self.profile!r} in [fuzz] is no name of a profile.")
        if isinstance(self.invariants, str) or not isinstance(self.invariants, Sequence):
            raise PenstockError('invariants in [fuzz] is no list: write invariants = ["BlackHoleFreedom"].')
        if not isinstance(self.rates, Mapping):
            raise PenstockError("rates in [fuzz] is no table: write rates = {link_failure = 0.1}.")
        if not _is_table_of_texts(self.listen):
            raise PenstockError('listen in [fuzz] is no table of texts: write listen = {s1 = "ptcp:6654"}.')
        if self.policy is not None and not isinstance(self.policy, str):
            raise PenstockError(f'policy = {self.policy!r} in [fuzz] is no name: write "file.py:function".')


@dataclass(frozen=True, slots=True)
class Command:
    """How a controller's process is started, and where it then listens.

    `tls` is False, True, or a table with `ca`, `cert` and `key`, which is the live stage's to read.
    """

    cmd: tuple[str, ...]
    port: int = 6653
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    tls: bool | Mapping[str, str] = False

    def __post_init__(self) -> None:
        if not self.cmd:
            raise PenstockError('cmd of a controller is empty: write cmd = "program arguments".')
        if type(self.port) is not int or not 0 < self.port <= HIGHEST_PORT:
            raise PenstockError(f"port = {self.port!r} of a controller is none: give 1 to {HIGHEST_PORT}.")
        if self.cwd is not None and not isinstance(self.cwd, str):
            raise PenstockError(f"cwd = {self.cwd!r} of a controller is no folder's name.")
        if not _is_table_of_texts(self.env):
            raise PenstockError('env of a controller is no table of texts: write env = {NAME = "value"}.')
        if not isinstance(self.tls, bool | Mapping):
            raise PenstockError("tls of a controller is neither true nor false nor a table of files.")


def _is_table_of_texts(given: object) -> bool:
    return isinstance(given, Mapping) and all(isinstance(value, str) for value in given.values())


def command_of(table: Table, where: str) -> Command:
    """Return the command that a controller's table gives."""
    options = dict(table)
    given = options.get("cmd")
    if isinstance(given, str):
        try:
            options["cmd"] = tuple(shlex.split(given))
        except ValueError as error:
            raise PenstockError(f"cmd in [{where}] is no command line: {error}.") from None
    elif isinstance(given, list | tuple) and all(isinstance(word, str) for word in given):
        options["cmd"] = tuple(given)
    else:
        raise PenstockError(f'cmd in [{where}] is no command: write cmd = "program arguments".')
    return made_from(Command, options, where)
