"""What a run came to, as reports and files for CI servers say it: the verdict, its reasons, what to try next.

It is the verdict (`_verdict`) in words, or what a trace's header or a run's summary says of it.  Nothing here
judges anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock._verdict.verdict import Result, Verdict, told

UNKNOWN: Final = "The run breaks nothing as far as its trace goes; what was judged, the trace does not say."
_MOST: Final = 100
"""How many reasons or steps are taken over from a file, which may be a stranger's."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What an engine came to, in words."""

    result: Result
    told: str
    reasons: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    judged: bool = True

    @property
    def is_conclusive(self) -> bool:
        """Whether nothing that could matter was left out."""
        return self.result in (Result.PROVED, Result.EXHAUSTED)

    @property
    def exit_status(self) -> int:
        """The exit status of the command that came to it."""
        return Verdict(self.result).status

    def lines(self) -> list[str]:
        """Return all of it, a sentence or suggestion a line."""
        steps = ["To go further:", *(f"  {step}" for step in self.next_steps)] if self.next_steps else []
        return [self.told, *steps]

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "result": str(self.result),
            "told": self.told,
            "reasons": list(self.reasons),
            "next_steps": list(self.next_steps),
            "judged": self.judged,
        }


def conclusion_of(verdict: Verdict, next_steps: Iterable[object] = ()) -> Conclusion:
    """Return a verdict in words."""
    return Conclusion(
        verdict.result,
        verdict.told,
        tuple(map(str, verdict.reasons)),
        tuple(map(str, next_steps)),
        verdict.judged,
    )


def read_conclusion(
    coverage: Mapping[str, Any] | None, summary: Mapping[str, Any] | None
) -> Conclusion | None:
    """Return what the header of a search's trace, or the summary of a fuzzing run, says it came to."""
    if coverage is not None and coverage.get("result"):
        return _read(coverage)
    verdict = None if summary is None else summary.get("verdict")
    if not isinstance(verdict, Mapping):
        return None
    steps = summary.get("next_steps") if summary is not None else None
    return _read({**verdict, "next_steps": [_step(step) for step in _list(steps)]})


def _read(given: Mapping[str, Any]) -> Conclusion | None:
    word = str(given.get("result"))
    word = {"violation": "violated"}.get(word, word)
    if word not in [*Result]:
        return None
    result = Result(word)
    reasons = tuple(filter(None, map(_text, _list(given.get("reasons")))))
    said = given.get("told")
    return Conclusion(
        result,
        said if isinstance(said, str) and said else told(result, reasons),
        reasons,
        tuple(filter(None, map(_text, _list(given.get("next_steps"))))),
        given.get("judged") is not False,
    )


def _list(values: object) -> list[Any]:
    return values[:_MOST] if isinstance(values, list) else []


def _text(value: object) -> str:
    """Return a reason or a step; a summary has the kind of a reason beside it."""
    if isinstance(value, Mapping):
        value = value.get("reason")
    return value if isinstance(value, str) else ""


def _step(value: object) -> str:
    """Return a suggestion of a summary as a line."""
    if not isinstance(value, Mapping):
        return _text(value)
    options, lines, why = (value.get(key) for key in ("options", "scenario", "why"))
    words = " ".join(map(str, options)) if isinstance(options, list) else ""
    command = f"penstock {value.get('command')} SCENARIO {words}".rstrip()
    within = f", with {' '.join(str(lines).split())} in the scenario" if lines and not words else ""
    return f"{command}{within}: {why}."
