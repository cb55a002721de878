"""When two minimal sequences are the same bug.

Two runs with other seeds, other hosts and other switches may end in the same few inputs but for the names.
So names are numbered in the order in which they come up, ports and times are left out, and what remains is
compared: the invariant, and the inputs in their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from penstock._fuzz.inputs import Check, InjectFrame, Wait
from penstock._minimize.ddmin import Minimal
from penstock._minimize.recording import RecordedInput

_NAME: Final = re.compile(r"\b([a-z]+)(\d+)\b(?::(?:\d+|(?=[a-z])))?")


@dataclass(frozen=True, slots=True)
class Bug:
    """What a minimal sequence shows, whatever things are called in it."""

    invariant: str
    inputs: tuple[str, ...]

    @property
    def name(self) -> str:
        """A short name, the same for the same bug."""
        text = "\n".join((self.invariant, *self.inputs))
        return f"{self.invariant}-{blake2b(text.encode(), digest_size=4).hexdigest()}"


def bug_of(minimal: Minimal) -> Bug:
    """Return the bug that a minimal sequence shows."""
    violation = minimal.script.violation
    return Bug("" if violation is None else violation.invariant, tuple(_nameless(minimal.inputs)))


def _nameless(inputs: Iterable[RecordedInput]) -> Iterable[str]:
    numbers: dict[str, dict[str, int]] = {}

    def numbered(found: re.Match[str]) -> str:
        kind, number = found.group(1), found.group(2)
        known = numbers.setdefault(kind, {})
        return f"{kind}#{known.setdefault(number, len(known) + 1)}"

    for cue in inputs:
        what = cue.what
        if isinstance(what, Wait | Check):
            yield what.verb
        elif isinstance(what, InjectFrame):
            yield _NAME.sub(numbered, f"inject {what.channel}")
        else:
            yield re.sub(r" by \d+$", "", _NAME.sub(numbered, str(what)))
