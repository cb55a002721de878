"""Consent: code that a trace names runs only if the user wants that.

A trace names code: apps, hosts, properties, a Mininet file, a command.  Whoever looks at a trace runs none of
it (see `inert`).  Whoever replays one does, and then it has to be the code that the trace was recorded with,
by this user on this machine: the header has a digest of every file of it, under a seal that nobody else can
make (see `code_files` and `sealing`).  All else is the user's to decide, who is told what would run.

`Recorded`, the scenario of a trace, becomes a `Scenario` by `runnable` only, and that takes a `Consent`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock._base.code_files import describe_code, digest_code
from penstock._base.sealing import is_sealed
from penstock._scenario.scenario import Scenario, scenario_of
from penstock._trace.trace import Trace, digest_of, read_header, sealed_part
from penstock.errors import PenstockError

_MOST_NAMED: Final = 5
"""How many things that would run are named before it is said that there are more."""

Ask = Callable[[str], bool]
"""Asks the user a question and returns the answer."""


@dataclass(frozen=True, slots=True)
class Consent:
    """That the code of one scenario may run."""

    scenario: str
    """The digest of the scenario that it is about."""


def runnable(trace: Trace, base: Path, consent: Consent) -> Scenario:
    """Return the scenario of a trace to be built and run; `base` is the folder that the trace is in."""
    if consent.scenario != digest_of(trace.scenario):
        raise PenstockError("The trace has changed since it was agreed to: leave it as it is while it runs.")
    return scenario_of(dict(trace.scenario), base / trace.folder)


def consent_given(trace: Trace) -> Consent:
    """Return the consent to a trace that the user has given, or that this process has just recorded."""
    return Consent(digest_of(trace.scenario))


def consent_to(file: Path, *, trust: bool = False, how: str = "--trust", ask: Ask | None = None) -> Consent:
    """Return the consent to run what a trace names: it is our own, or the user says so.

    `how` is what the user would have to give for a yes; `ask`, if there is somebody to be asked, puts the
    question.
    """
    trace = read_header(file)
    doubt = "" if trust else doubt_of(trace, file)
    if doubt and not (ask is not None and ask(f"{doubt}.  Run {what_runs(trace.scenario)}?")):
        raise PenstockError(
            f"{doubt}, and this would run {what_runs(trace.scenario)}: give {how} if you trust that."
        )
    return consent_given(trace)


def doubt_of(trace: Trace, file: Path) -> str:
    """Return why the code that a trace names is perhaps not what was run here; empty if it is."""
    if trace.code is None:
        return f"{file.name} does not say which code it was recorded with"
    # Nothing is looked up that a stranger names.
    if not is_own(trace):
        return f"{file.name} was not recorded here"
    now = digest_code(trace.scenario, file.parent / trace.folder, trace.code)
    changed = [name for name in now if now[name] != trace.code.get(name)]
    return f"{_name_list(changed)} changed since {file.name} was recorded" if changed else ""


def is_own(trace: Trace) -> bool:
    """Tell whether a trace was recorded by this user on this machine, whatever has changed since."""
    return trace.code is not None and is_sealed(sealed_part(trace.scenario, trace.code), trace.seal)


def what_runs(scenario: Mapping[str, object]) -> str:
    """Return what a run of a scenario runs, in words."""
    return _name_list(describe_code(scenario)) or "what it names"


def _name_list(names: list[str] | tuple[str, ...]) -> str:
    shown = list(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        shown.append(f"{len(names) - _MOST_NAMED:,} more")
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
