"""The engines in a worker: what they are given and return is the same, and no program can harm us.

If a worker is lost, what a search has found before that is the result, and the reason is one of its bounds.
A proof is then bounded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from penstock._base.terminal import pass_on
from penstock._check import check as searches
from penstock._check.check import Report
from penstock._controllers import confined
from penstock._engine.building import without_code
from penstock._engine.next_steps import Ran, next_steps
from penstock._explore.search import Outcome, Progress, peak_rss_mb
from penstock._scenario.options import Limits
from penstock._scenario.scenario import Scenario
from penstock._verdict.verdict import VIOLATED, Bound, Result, Verdict, judge
from penstock._worker.supervision import Allowance, Job, Lost, Supervised, Tell, supervise
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock._verify.proof import Proof

_BETWEEN_S: Final = 0.1
"""How many seconds lie between two reports of progress."""


def check(scenario: Scenario, *, output: Path | None = None, progress: Progress | None = None) -> Report:
    """Search every ordering of a scenario's events."""

    def job(tell: Tell) -> Report:
        return searches.check(scenario, output=output, progress=_paced(tell), found=tell)

    return _search("check", job, scenario, progress)


def walk(
    scenario: Scenario,
    seed: int,
    *,
    walks: int | None = 100,
    longest: int = 1000,
    output: Path | None = None,
    progress: Progress | None = None,
) -> Report:
    """Walk at random through a scenario."""

    def job(tell: Tell) -> Report:
        return searches.walk(
            scenario,
            seed,
            walks=walks,
            longest=longest,
            output=output,
            progress=_paced(tell),
            found=tell,
        )

    return _search("walk", job, scenario, progress)


def _search(engine: str, job: Job[Report], scenario: Scenario, progress: Progress | None) -> Report:
    """Have a search done, and make a report of what is known if its worker is lost."""
    so_far = Report(scenario, Outcome())

    def hear(news: object) -> None:
        if isinstance(news, Report):
            so_far.findings, so_far.needs, so_far.unwritten = news.findings, news.needs, news.unwritten
            so_far.outcome.violations = news.outcome.violations
        elif isinstance(news, Outcome):
            so_far.outcome = replace(news, violations=so_far.outcome.violations)
            if progress is not None:
                progress(news)

    try:
        done = _supervised(job, scenario, hear)
    except Lost as lost:
        return _lost_report(engine, so_far, lost.bound)
    report: Report = done.value
    report.scenario = scenario
    if report.findings:
        # Whatever the program has made of our words: where something was found, this is the verdict.
        report.verdict = VIOLATED
    if done.accidents and report.verdict.result is not Result.VIOLATED:
        report.verdict = _bounded_by(report, [*report.verdict.reasons, *done.accidents])
        report.outcome.result, report.outcome.stopped_by = "bounded", report.verdict.reasons[0]
    return report


def _lost_report(engine: str, report: Report, bound: Bound) -> Report:
    outcome = report.outcome
    outcome.stopped_by = bound
    outcome.result = "violation" if report.findings else "bounded"
    report.verdict = _bounded_by(report, [bound])
    if not report.findings:
        ran = Ran(engine, without_code(report.scenario), states=outcome.states, depth=outcome.depth)
        report.next_steps = next_steps(ran, report.verdict.reasons)
    return report


def _bounded_by(report: Report, reasons: list[Bound]) -> Verdict:
    return judge(
        Result.EXHAUSTED,
        violated=bool(report.findings),
        reasons=reasons,
        exercised=report.outcome.exercised,
    )


def prove(scenario: Scenario, *, output: Path | None = None, progress: Progress | None = None) -> Proof:
    """Prove what a scenario demands, or find runs that break it."""
    # A search need not wait until proofs are imported.
    from penstock._scenario.options import options_of
    from penstock._verify import proof as proofs

    so_far = proofs.Proof(scenario, options_of(scenario.verify))

    def hear(news: object) -> None:
        if isinstance(news, Outcome):
            so_far.states, so_far.transitions = news.states, news.transitions
            so_far.seconds, so_far.peak_rss_mb = news.seconds, news.peak_rss_mb
            if progress is not None:
                progress(news)

    def job(tell: Tell) -> Proof:
        proof = proofs.prove(scenario, output=output, progress=_paced(tell))
        # Whoever wants to see the classes finds them with what was covered.
        proof.traffic = {}
        return proof

    try:
        done = _supervised(job, scenario, hear, scenario.limits_of_proof())
    except Lost as lost:
        so_far.result, so_far.bounds = "bounded", [lost.bound]
        return so_far
    proof: Proof = done.value
    proof.scenario = scenario
    if proof.findings:
        proof.result = str(Result.VIOLATED)
    if done.accidents and not proof.findings:
        proof.result, proof.bounds = "bounded", [*proof.bounds, *done.accidents]
    return proof


def _supervised(
    job: Job[object], scenario: Scenario, hear: Callable[[object], None], limits: Limits | None = None
) -> Supervised:
    limits = limits or scenario.limits()
    allowance = Allowance(limits.seconds, limits.memory_mb)
    if limits.network:
        return supervise(job, hear=hear, show=_show, allowance=allowance)
    apart = partial(_without_network, job)
    return supervise(apart, hear=hear, show=_show, allowance=allowance, apart=True)


def _without_network(job: Job[object], tell: Tell) -> object:
    """Do a job in this process, a worker, from which nothing reaches the network."""
    try:
        return job(tell)
    except PenstockError as error:
        if not confined.asked_for():
            raise
        raise PenstockError(f"{error} It asked for the network: allow it with --network.") from error


def _paced(tell: Tell) -> Progress:
    """Return what tells progress, but not too often."""
    last = 0.0

    def show(outcome: Outcome) -> None:
        nonlocal last
        if (now := time.monotonic()) - last >= _BETWEEN_S:
            last = now
            # The paths of violations are told by themselves.
            tell(replace(outcome, violations=[], peak_rss_mb=peak_rss_mb()))

    return show


def _show(text: str) -> None:
    """Print what a program printed."""
    pass_on(text, err=True)
