"""Trials: asking a reproducer, once for each question."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from penstock._minimize.progress import Progress
from penstock._minimize.recording import RecordedInput, Recording
from penstock._minimize.reproducing import Attempt, Reproducer


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sequence of inputs, and the script that it is played by."""

    script: Recording
    inputs: tuple[RecordedInput, ...]


class CachedOracle:
    """Tells which candidates reproduce the violation."""

    def __init__(self, reproducer: Reproducer, progress: Progress, tries: int = 1) -> None:
        self.progress = progress
        self.tries = tries
        self.is_exact = reproducer.is_exact
        self._first = reproducer
        self._reproducers: dict[int, tuple[Recording, Reproducer, str]] = {
            id(reproducer.script): (reproducer.script, reproducer, reproducer.script.digest())
        }

    def reproducer(self, script: Recording) -> Reproducer:
        """Return what replays a script."""
        return self._of(script)[1]

    def attempt(self, script: Recording, inputs: Sequence[RecordedInput], *, again: int = 0) -> Attempt:
        """Replay some inputs of a script, unless it is known how that went, or how it went the n-th time."""
        key = f"{self._key(script, inputs)}{f' {again}' if again else ''}"
        return self.progress.answer(
            key, len(inputs), lambda: self.reproducer(script).run(inputs, tries=self.tries)
        )

    def passes(self, candidate: Candidate) -> bool:
        """Tell whether a candidate reproduces the violation."""
        return self.attempt(candidate.script, candidate.inputs).reproduced

    def _of(self, script: Recording) -> tuple[Recording, Reproducer, str]:
        known = self._reproducers.get(id(script))
        if known is None or known[0] is not script:
            known = (script, self._first.with_script(script), script.digest())
            self._reproducers[id(script)] = known
        return known

    def _key(self, script: Recording, inputs: Sequence[RecordedInput]) -> str:
        digest = self._digests(script)
        asked = json.dumps([digest, [(cue.line, str(cue)) for cue in inputs]])
        return blake2b(asked.encode(), digest_size=12).hexdigest()

    def _digests(self, script: Recording) -> str:
        known = self._reproducers.get(id(script))
        return known[2] if known is not None and known[0] is script else script.digest()
