"""What a run came to: violations found, the verdict in words, and what the search covered.

What a run came to, as reports and files for CI servers say it: the verdict, its reasons, what to try next.

It is the verdict (`_verdict`) in words, or what a trace's header or a run's summary says of it.  Nothing here
judges anything.

What a search covered, and what it did not: for the header of its traces, and for the report.

A search says little by its counts.  What matters is which properties were ever put to the test, what
strategies left out, what stopped it, and what the scenario lets never happen.  All of it is said in
sentences, kept as plain data under the key `coverage` of a trace's header.  How long it took is not among
it: the same search writes the same trace, to the letter.  Where nothing was found there is no run to write
down; then a trace without steps is written, `<scenario>-covered.jsonl`, for the report.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from penstock._explore.search import Outcome
from penstock._properties.base import Property, never_exercised
from penstock._story.explanation import UNEXPLAINED, Explanation
from penstock._verdict.verdict import Result, Verdict, sentence, told
from penstock._world.faults import Faults
from penstock._world.transition import Record


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation, replayed: the run that shows it, and where it was written."""

    property: str
    message: str
    records: tuple[Record, ...]
    confirmed: bool
    trace: Path | None = None
    explanation: Explanation = UNEXPLAINED


UNKNOWN: Final = "The run violates nothing as far as its trace goes; what was judged, the trace does not say."
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
        steps = ["Next steps:", *(f"  {step}" for step in self.next_steps)] if self.next_steps else []
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


KEY: Final = "coverage"
_MOST_LISTED: Final = 1_000
"""How many entries of a list are taken over from a trace, which may be a stranger's."""


def covered_name(scenario: str) -> str:
    """Return the name of the file that says what a search covered which found nothing."""
    return f"{scenario}-covered.jsonl"


def search_coverage(
    outcome: Outcome,
    properties: Sequence[Property],
    verdict: Verdict,
    *,
    strategies: Iterable[str] = (),
    reductions: Collection[str] = (),
    faults: Faults | None = None,
    first_only: bool = True,
) -> dict[str, Any]:
    """Return what a search covered, as plain data."""
    left_out = [*_stopped(verdict, first_only=first_only), *outcome.remarks]
    if faults is not None:
        left_out += _never_happens(faults)
    return {
        **came_to(verdict),
        "states": outcome.states,
        "transitions": outcome.transitions,
        "depth": outcome.depth,
        "strategies": list(strategies),
        "reductions": sorted(reductions),
        "properties": [_judged(watcher, outcome.exercised) for watcher in properties],
        "not_covered": left_out,
    }


def _judged(watcher: Property, exercised: Mapping[str, int]) -> dict[str, Any]:
    times = exercised.get(watcher.name, 0)
    judged = f"judged in {times:,} distinct situations" if times > 1 else "judged in one situation"
    why = judged if times else never_exercised([watcher], exercised)[0]
    return {"name": watcher.name, "exercised": bool(times), "why": why}


def came_to(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict, as plain data."""
    return {**conclusion_of(verdict).as_json()}


def _stopped(verdict: Verdict, *, first_only: bool) -> Iterable[str]:
    if verdict.result is Result.BOUNDED:
        yield from (f"{text[0].upper()}{text[1:]}." for text in map(sentence, verdict.reasons))
    elif verdict.result is Result.VIOLATED and first_only:
        yield "The search ended with the first violation: what else there is was not searched."


def _never_happens(faults: Faults) -> Iterable[str]:
    """Yield what the scenario rules out."""
    none = [
        each.name.replace("_", " ")
        for each in fields(faults)
        if type(each.default) is int and not getattr(faults, each.name)
    ]
    if none:
        yield f"The scenario lets none of these happen: {', '.join(none)}."


# Reading.


def read_coverage(details: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a trace's header says of its search, if it does, whoever wrote it."""
    given = details.get(KEY)
    if not isinstance(given, Mapping):
        return None
    counts = ("states", "transitions", "depth", "seconds")
    found: dict[str, Any] = {key: _number(given.get(key)) for key in counts}
    found |= {key: value if isinstance(value := given.get(key), str) else "" for key in ("result", "told")}
    lists = ("strategies", "reductions", "not_covered", "next_steps", "reasons")
    found |= {key: _texts(given.get(key)) for key in lists}
    found["judged"] = given.get("judged") is not False
    found["properties"] = _properties(given.get("properties"))
    return found


def _number(value: object) -> int | float | None:
    fine = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15
    return value if fine and isinstance(value, int | float) else None


def _texts(values: object) -> list[str]:
    if not isinstance(values, list):
        return []
    return [value for value in values[:_MOST_LISTED] if isinstance(value, str)]


def _properties(values: object) -> list[dict[str, Any]]:
    found = []
    for each in values[:_MOST_LISTED] if isinstance(values, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("name"), str):
            exercised, why = each.get("exercised"), each.get("why")
            found.append(
                {
                    "name": each["name"],
                    "exercised": exercised if isinstance(exercised, bool) else None,
                    "why": why if isinstance(why, str) else "",
                }
            )
    return found
