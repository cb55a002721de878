"""The cause of a violation that a fuzzing run found, from its trace alone: nothing is run."""

from __future__ import annotations

from typing import Final

from penstock._explain.cause import FAILURES, cause_of, rules_cause
from penstock._explain.past import Past
from penstock._properties.registry import PROPERTIES
from penstock._story.explanation import Explanation
from penstock._trace.retelling import record_of
from penstock._trace.trace import FindingLine, Line, Trace

_LONGEST_MESSAGE: Final = 20_000
_MOST_RULES: Final = 50
"""How much of a finding is looked at, whoever wrote it."""


def finding_cause(trace: Trace, finding: FindingLine) -> Explanation:
    """Return why an invariant is violated: by the rules that packets meet, or by what the sentence names."""
    message = finding.message[:_LONGEST_MESSAGE]
    lines = [line for line in trace.lines if line.number < finding.number]
    if finding.invariant.startswith("Controller"):
        lines = lines[: _mishap(lines, message)]
    past = Past((line.number, record_of(line)) for line in lines)
    if finding.rules:
        return rules_cause(past, (_switch_and_rule(text) for text in finding.rules[:_MOST_RULES]))
    known = PROPERTIES.get(finding.invariant)
    return cause_of(past, message, arrival=known is not None and known.blames_arrival)


def finding_cause_lines(trace: Trace, finding: FindingLine) -> tuple[str, ...]:
    """Return the cause of a finding, in sentences."""
    return tuple(finding_cause(trace, finding).lines(finding.invariant))


def _switch_and_rule(text: str) -> tuple[str, str]:
    switch, _, rule = text.partition(" ")
    return switch, rule


def _mishap(lines: list[Line], message: str) -> int:
    """Return how many lines there are up to the last in which a handler failed as a sentence says."""
    for number in range(len(lines), 0, -1):
        for event in record_of(lines[number - 1]).events:
            if event.kind in FAILURES and str(event.detail[1]) in message:
                return number
    return len(lines)
