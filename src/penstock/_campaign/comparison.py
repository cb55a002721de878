"""What has become of bugs since the last campaign that was finished.

    new      found now, and not open then
    known    found now and open then; or not found now, but its run still violates the property
    fixed    open then; now its run no longer violates the property, which a job of this campaign judges
    unseen   open then, and neither: it is not judged any more, or its run cannot be taken again

What is open is what was new, known or unseen.  That nobody found a bug again does not mean that it is fixed:
a search may have stopped before it, or look for something else, and what is proved may be of another
scenario.  So the bug's own run is taken again (`job.Retry`) before anybody says so.

A violation of which nobody knows which inputs it takes, since there was no time to minimise it, may be any
bug of the same program that violates the same property: it is known if one of those is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from penstock._campaign.job import FAILED, Outcome
from penstock._campaign.plan import Job
from penstock._campaign.store import Bug, Store
from penstock._verdict.verdict import Result

NEW: Final = "new"
KNOWN: Final = "known"
FIXED: Final = "fixed"
UNSEEN: Final = "unseen"
STANDINGS: Final = (NEW, KNOWN, FIXED, UNSEEN)
_OPEN: Final = (NEW, KNOWN, UNSEEN)
_CONCLUSIVE: Final = (str(Result.PROVED), str(Result.EXHAUSTED))


@dataclass(frozen=True, slots=True)
class Standing:
    """How a bug stands in a campaign."""

    bug: Bug
    standing: str
    why: str = ""
    jobs: tuple[int, ...] = ()
    """The numbers of the jobs that found it."""


def ordered(standings: Iterable[Standing]) -> tuple[Standing, ...]:
    """Return standings in the order in which they are told."""
    # Not by the bugs' numbers: which job ends first is chance.
    return tuple(
        sorted(standings, key=lambda each: (STANDINGS.index(each.standing), each.bug.program, each.bug.name))
    )


def open_bugs(store: Store, campaign: int | None) -> dict[int, Bug]:
    """Return the bugs that were open when a campaign was finished."""
    if campaign is None:
        return {}
    return {
        number: store.bug(number)
        for number, (standing, _) in store.standings(campaign).items()
        if standing in _OPEN
    }


def of_found(bugs: Iterable[tuple[Bug, list[int]]], before: Mapping[int, Bug]) -> list[Standing]:
    """Return how the bugs stand that were found now."""
    alike = {(bug.program, bug.property) for bug in before.values()}
    found = []
    for bug, jobs in bugs:
        is_known = bug.id in before or (not bug.minimised and (bug.program, bug.property) in alike)
        found.append(Standing(bug, KNOWN if is_known else NEW, jobs=tuple(jobs)))
    return found


def of_missed(bug: Bug, now: Mapping[str, tuple[Job, Outcome | None]]) -> Standing | None:
    """Return how a bug stands that was not found again; None if its run has to be taken again to tell.

    `now` are the jobs of this campaign.
    """
    if bug.program not in {job.program for job, _ in now.values()}:
        return Standing(bug, UNSEEN, "not judged any more: no job of this campaign runs its program")
    ran = [outcome for job, outcome in now.values() if job.program == bug.program and outcome is not None]
    if not any(bug.property in outcome.watched for outcome in ran):
        failed = [outcome for outcome in ran if outcome.result == FAILED]
        reason = "; ".join(failed[0].reasons) if ran and len(failed) == len(ran) else ""
        why = reason.removesuffix(".") or f"no job of this campaign has judged {bug.property} of its program"
        return Standing(bug, UNSEEN, f"not judged any more: {why}")
    if bug.trace is None or not bug.trace.is_file():
        return Standing(bug, UNSEEN, "nothing shows that it is fixed, and its run is gone")
    return None


def of_retried(bug: Bug, outcome: Outcome) -> Standing:
    """Return how a bug stands whose run was taken again."""
    if outcome.result == Result.VIOLATED:
        return Standing(bug, KNOWN, "its run, taken again, still violates the property")
    if outcome.result in _CONCLUSIVE:
        return Standing(bug, FIXED, "its run no longer violates the property")
    reason = "; ".join(outcome.reasons) or "it came to no result"
    verb = "could not be taken again" if outcome.result == FAILED else "shows nothing"
    return Standing(bug, UNSEEN, f"its run {verb}: {reason}".removesuffix("."))
