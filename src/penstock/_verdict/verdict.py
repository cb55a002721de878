"""The one verdict of all engines: what a run of one came to, every reason why it is no more, the exit status.

    violated    a property was broken, and broken again when the run was repeated      exit status 1
    proved      nothing can break the properties, whatever hosts send                  0
    exhausted   nothing can, in the scenario as it is given                            0
    bounded     nothing was found, but something that could matter was left out        3

A result is conclusive only if nothing was left out *and* every property had something to judge.  Whatever
an engine left out is a reason (`stopping.Bound`): a limit, packets that were not found, a property that was
never put to the test, a violation that did not come again, state that cannot be seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, assert_never

from penstock._verdict.stopping import Bound, Why


class Result(StrEnum):
    """What an engine came to."""

    VIOLATED = "violated"
    PROVED = "proved"
    EXHAUSTED = "exhausted"
    BOUNDED = "bounded"


STATUS: Final[Mapping[Result, int]] = {
    Result.VIOLATED: 1,
    Result.PROVED: 0,
    Result.EXHAUSTED: 0,
    Result.BOUNDED: 3,
}

UNSEEN_STATE: Final = "the program keeps state that Penstock does not see"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an engine came to, and each reason why that is not conclusive."""

    result: Result
    reasons: tuple[Bound, ...] = ()
    judged: bool = True
    """Whether any property had something to judge."""

    @property
    def status(self) -> int:
        """The exit status that says so."""
        return STATUS[self.result]

    @property
    def is_conclusive(self) -> bool:
        """Whether the absence of violations means that there are none."""
        return self.result in (Result.PROVED, Result.EXHAUSTED)

    @property
    def told(self) -> str:
        """What it came to, in one sentence or two."""
        return told(self.result, [sentence(reason) for reason in self.reasons])

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "result": str(self.result),
            "judged": self.judged,
            "told": self.told,
            "reasons": [{"reason": str(reason), "why": str(reason.why)} for reason in self.reasons],
        }


def sentence(reason: Bound) -> str:
    """Return a reason so that it can follow "but"."""
    if reason.is_sentence:
        return str(reason)
    if reason.why in (Why.EVENTS, Why.INPUTS, Why.TRACE_SIZE, Why.CRASH):
        return f"the run was ended by {reason}: another may find more"
    return f"the search stopped at {reason}: there is more to search"


def told(result: Result, reasons: Sequence[str]) -> str:
    """Return what an engine came to, in one sentence or two."""
    match result:
        case Result.VIOLATED:
            return "A violation was found."
        case Result.PROVED:
            return "Proved, for any number of packets."
        case Result.EXHAUSTED:
            return "No property can be broken in this scenario: every ordering was searched."
        case Result.BOUNDED:
            why = "; ".join(reasons) or "something that could matter was left out"
            return f"Nothing found, but {why}."
        case _:
            assert_never(result)


VIOLATED: Final = Verdict(Result.VIOLATED)
"""What is broken from the start needs no search."""


def judge(
    conclusive: Result, *, violated: bool, reasons: Iterable[Bound], exercised: Mapping[str, int]
) -> Verdict:
    """Return the verdict of an engine that calls its work `conclusive` where nothing was left out.

    `exercised` says how often each property had something to judge.
    """
    judged = any(exercised.values())
    if violated:
        return Verdict(Result.VIOLATED, judged=judged)
    found = tuple(dict.fromkeys(reasons))
    return Verdict(Result.BOUNDED if found else conclusive, found, judged)


def unjudged(exercised: Mapping[str, int], needs: Mapping[str, str]) -> list[Bound]:
    """Return a reason for each property that never had anything to judge, or that none was given."""
    if not exercised:
        return [Bound("no property was given, so nothing was judged", Why.UNJUDGED)]
    return [
        Bound(f"{name} never had anything to judge{f': that needs {need}' if need else ''}", Why.UNJUDGED)
        for name, need in ((name, needs.get(name, "")) for name, times in exercised.items() if not times)
    ]


def replayed(*, violated: bool, exact: bool) -> Verdict:
    """Return the verdict of a replay; one that could not keep to its trace says little."""
    if violated:
        return VIOLATED
    inexact = Bound("the replay did not go as the trace does", Why.DIVERGED)
    return Verdict(Result.EXHAUSTED) if exact else Verdict(Result.BOUNDED, (inexact,))


def without_network(name: str) -> Bound:
    """Return the reason that a violation leaves behind which may be due to a network that is missing."""
    return Bound(f"a violation of {name} came after the program had asked for the network", Why.NETWORK)


def unconfirmed(name: str, where: str = "") -> Bound:
    """Return the reason that a violation leaves behind which did not come again."""
    return Bound(
        f"a violation of {name} did not come again when its run was repeated: {UNSEEN_STATE}"
        f"{f', in {where}' if where else ''}",
        Why.UNSEEN_STATE,
    )
