"""What a search covered, and what it did not: for the header of its traces, and for the report.

A search says little by its counts.  What matters is which properties were ever put to the test, what
strategies left out, what stopped it, and what the scenario lets never happen.  All of it is said in
sentences, kept as plain data under the key `coverage` of a trace's header.  How long it took is not among
it: the same search writes the same trace, to the letter.  Where nothing was found there is no run to write
down; then a trace without steps is written, `<scenario>-covered.jsonl`, for the report.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from penstock._engine.conclusion import conclusion_of
from penstock._explore.search import Outcome
from penstock._properties.base import Property, never_exercised
from penstock._verdict.verdict import Result, Verdict, sentence
from penstock._world.faults import Faults

KEY: Final = "coverage"
_MOST: Final = 1_000
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
    judged = f"judged in {times:,} different situations" if times > 1 else "judged in one situation"
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
    return [value for value in values[:_MOST] if isinstance(value, str)]


def _properties(values: object) -> list[dict[str, Any]]:
    found = []
    for each in values[:_MOST] if isinstance(values, list) else ():
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
