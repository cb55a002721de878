"""A campaign: jobs done side by side until all are done, with everything kept as it comes.

Ctrl-C ends it within a second.  What was done is kept, and the same campaign goes on from there.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from penstock._base.files import UnwritableError, absolute, make_folder, nearest
from penstock._base.text import file_name
from penstock._campaign import comparison
from penstock._campaign.comparison import KNOWN, NEW, STANDINGS, UNSEEN, Standing
from penstock._campaign.crew import JobCrew
from penstock._campaign.job import FAILED, Outcome, Retry, Task
from penstock._campaign.options import CampaignOptions, load_list
from penstock._campaign.plan import Job, Plan, plan_of
from penstock._campaign.sources import sources_in, sources_listed
from penstock._campaign.store import Bug, Store
from penstock._verdict.verdict import STATUS, Result
from penstock._worker.supervision import Pressed, interrupts
from penstock.errors import PenstockError

_RUNS: Final = "runs"
_WHAT: Final = "The campaign"
"""What is written here, in a sentence that says that it cannot be."""
_LOOK_S: Final = 0.1
_MARGIN_S: Final = 30.0
"""How long a job may go on when the time of its engine and that of the minimisation are over."""
_RETRY_S: Final = 60.0


@dataclass(slots=True)
class Campaign:
    """How a campaign stands."""

    number: int
    plan: Plan
    outcomes: dict[int, Outcome]
    before: int | None
    """The campaign that it is compared with."""
    standings: tuple[Standing, ...] = ()
    going: dict[int, float] = field(default_factory=dict)
    """The jobs that are going on, and when they began."""
    kept: int = 0
    """How many jobs were done before, with the same code and options."""
    stopped: bool = False
    unwritten: str = ""
    """Why not all of it is written down, in a sentence; then it has ended there."""
    seconds: float = 0.0

    @property
    def is_complete(self) -> bool:
        """Whether all jobs are done and all bugs compared."""
        return len(self.outcomes) == len(self.plan.jobs) and not self.stopped

    @property
    def result(self) -> Result:
        """What all of it comes to: the worst of all jobs, and bounded as long as something is missing."""
        found = {outcome.result for outcome in self.outcomes.values()}
        # Of a program that is no part of this any more, nothing can be said.
        programs = {job.program for job in self.plan.jobs}
        standing = {each.standing for each in self.standings if each.bug.program in programs}
        if Result.VIOLATED in found or standing & {NEW, KNOWN}:
            return Result.VIOLATED
        if not self.is_complete or UNSEEN in standing or found - {Result.PROVED, Result.EXHAUSTED}:
            return Result.BOUNDED
        return Result.PROVED if found == {Result.PROVED} else Result.EXHAUSTED

    @property
    def status(self) -> int:
        """The exit status that says so."""
        return STATUS[self.result]

    def counts(self) -> dict[str, int]:
        """Return how many bugs there are of each standing."""
        return {standing: sum(each.standing == standing for each in self.standings) for standing in STANDINGS}

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "result": str(self.result),
            "campaign": self.number,
            "compared_with": self.before,
            "complete": self.is_complete,
            "seconds": round(self.seconds, 3),
            "jobs": [
                _job_as_json(job, self.outcomes.get(number)) for number, job in enumerate(self.plan.jobs)
            ],
            "bugs": [self._bug_as_json(each) for each in self.standings],
            "counts": self.counts(),
            "unwritten": self.unwritten or None,
            "left_out": [{"name": each.name, "why": each.why} for each in self.plan.left_out],
        }

    def _bug_as_json(self, standing: Standing) -> dict[str, Any]:
        bug = standing.bug
        return {
            "bug": bug.name,
            "standing": standing.standing,
            "why": standing.why or None,
            "program": bug.program,
            "property": bug.property,
            "message": bug.message,
            "sequence": list(bug.sequence),
            "minimised": bug.minimised,
            "first_campaign": bug.first,
            "jobs": [self.plan.jobs[number].name for number in standing.jobs],
            "trace": None if bug.trace is None else nearest(bug.trace),
        }


def _job_as_json(job: Job, outcome: Outcome | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": job.name,
        "app": job.app,
        "engine": job.engine,
        "config": job.config or None,
        "topology": job.topology or None,
        "seed": job.seed,
        "result": None,
    }
    if outcome is not None:
        told |= {
            "result": outcome.result,
            "reasons": list(outcome.reasons),
            "judged": outcome.judged,
            "properties": outcome.properties,
            "work": outcome.work,
            "seconds": round(outcome.seconds, 3),
            "bugs": [found.bug for found in outcome.found],
        }
    return told


Watch = Callable[[Campaign], None]
"""Is shown how a campaign stands, whenever that has changed."""


def planned(path: Path, changes: Mapping[str, Any]) -> tuple[Plan, CampaignOptions]:
    """Return the jobs of a folder or of a list; `changes` are options in place of what the list says."""
    if absolute(path).is_dir():
        options = replace(CampaignOptions(), **changes)
        sources = sources_in(path, options.leave_out)
        return plan_of(path, path, options, sources), options
    if path.suffix != ".toml":
        raise PenstockError(f"{path} is neither a folder nor a list: give a folder of apps, or a .toml file.")
    options = replace(load_list(path), **changes)
    sources = sources_listed(path.parent, options.apps, options.leave_out)
    return plan_of(path, path.parent, options, sources), options


def run(plan: Plan, options: CampaignOptions, store: Store, *, fresh: bool, watch: Watch) -> Campaign:
    """Do what is left of a campaign, and compare it with the last one."""
    number = store.begin(plan, fresh=fresh)
    campaign = Campaign(number, plan, store.outcomes(number), store.before(number))
    campaign.kept = len(campaign.outcomes)
    _compare_found(campaign, store)
    running = _Running(campaign, options, store, watch)
    try:
        with interrupts() as pressed:
            running.pressed = pressed
            running.go()
    except UnwritableError as error:
        campaign.stopped, campaign.unwritten = True, str(error)
    return campaign


def _compare_found(campaign: Campaign, store: Store) -> None:
    """Look how the bugs stand that are found so far."""
    before = comparison.open_bugs(store, campaign.before)
    found = comparison.of_found(store.bugs_of(campaign.number).values(), before)
    campaign.standings = comparison.ordered(found)


@dataclass(slots=True)
class _Running:
    """A campaign that goes on."""

    campaign: Campaign
    options: CampaignOptions
    store: Store
    watch: Watch
    pressed: Pressed = field(default_factory=Pressed)
    _began: float = field(default_factory=time.monotonic)

    def go(self) -> None:
        """Do the jobs that are not done, then look what has become of earlier bugs."""
        campaign = self.campaign
        waiting = [number for number in range(len(campaign.plan.jobs)) if number not in campaign.outcomes]
        if not waiting and self.store.is_finished(campaign.number):
            self._take_standings()
            self._show()
            return
        self._show()
        ready = deque(number for number in waiting if not self._failed_at_once(number))
        size = min(self.options.jobs or os.cpu_count() or 1, max(1, len(ready)))
        crew = JobCrew(size)
        try:
            tasks = {number: self._task(number) for number in ready}
            for number, outcome in self._done(crew, tasks, self._limit(), campaign.going):
                self._record(number, outcome)
            if not campaign.stopped:
                self._compare(crew)
        finally:
            crew.close()
        if not campaign.stopped:
            self.store.finish(campaign.number)
        self._show()

    def _show(self) -> None:
        self.campaign.seconds = time.monotonic() - self._began
        self.watch(self.campaign)

    def _limit(self) -> float:
        # Both are done once more if something ended the worker from outside.
        return 4 * self.options.seconds + _MARGIN_S

    def _failed_at_once(self, number: int) -> bool:
        """Record a job that has no scenario."""
        job = self.campaign.plan.jobs[number]
        if job.scenario is not None:
            return False
        self._record(number, Outcome(FAILED, (job.error,)))
        return True

    def _task(self, number: int) -> Task:
        job = self.campaign.plan.jobs[number]
        assert job.scenario is not None, "a job without one has failed"
        return Task(job.engine, job.scenario, self._folder(number), self.options.seconds)

    def _folder(self, number: int) -> Path:
        """Return where a job writes what it finds."""
        name = f"{number + 1:04}-{file_name(self.campaign.plan.jobs[number].name)}"
        return absolute(self.store.folder) / _RUNS / str(self.campaign.number) / name

    def _done(
        self, crew: JobCrew, tasks: Mapping[int, Task | Retry], limit_s: float, going: dict[int, float]
    ) -> Iterator[tuple[int, Outcome]]:
        """Yield what comes of tasks, as it comes, until there are no more or the user wants no more.

        `going` are those that are going on, with when they began.
        """
        waiting = deque(tasks)
        try:
            while waiting or going:
                if self.pressed.times:
                    self.campaign.stopped = True
                    return
                while waiting and len(going) < crew.size:
                    number = waiting.popleft()
                    going[number] = time.monotonic()
                    self._prepare(tasks[number])
                    crew.begin(number, tasks[number])
                    self._show()
                for number, outcome in crew.news(_LOOK_S):
                    del going[number]
                    yield number, outcome
                for number in [each for each in going if time.monotonic() - going[each] > limit_s]:
                    crew.dismiss(number)
                    seconds = time.monotonic() - going.pop(number)
                    reason = f"the job did not come to its end within {limit_s:g} s"
                    yield number, Outcome(str(Result.BOUNDED), (reason,), seconds=seconds)
                self._show()
        finally:
            going.clear()

    def _prepare(self, task: Task | Retry) -> None:
        """Have an empty folder for what a task finds: one that was broken off may have left something."""
        if isinstance(task, Task):
            within = absolute(self.store.folder)
            # First that no folder on the way is a link.
            make_folder(task.folder.parent, _WHAT, within=within)
            shutil.rmtree(task.folder, ignore_errors=True)
            make_folder(task.folder, _WHAT, within=within)

    def _record(self, number: int, outcome: Outcome) -> None:
        job = self.campaign.plan.jobs[number]
        if not outcome.found:
            # The run of a seed can be had again, and nobody wants all of them.
            self._tidy(number, job)
        # What cannot be written down is still part of the verdict.
        self.campaign.outcomes[number] = outcome
        self.store.record(self.campaign.number, number, job, outcome)
        if outcome.found:
            _compare_found(self.campaign, self.store)

    def _tidy(self, number: int, job: Job) -> None:
        folder = self._folder(number)
        if job.engine == "fuzz" or not (folder.is_dir() and any(folder.iterdir())):
            shutil.rmtree(folder, ignore_errors=True)

    # Earlier bugs.

    def _take_standings(self) -> None:
        """Take what an earlier run of the same campaign has found out of bugs that it missed."""
        seen = {each.bug.id for each in self.campaign.standings}
        missed = tuple(
            Standing(self.store.bug(bug), standing, why)
            for bug, (standing, why) in self.store.standings(self.campaign.number).items()
            if bug not in seen
        )
        self.campaign.standings = comparison.ordered([*self.campaign.standings, *missed])

    def _compare(self, crew: JobCrew) -> None:
        """Look what has become of bugs that were open before and were not found again."""
        campaign, before = self.campaign, self.campaign.before
        found = {each.bug.id for each in campaign.standings}
        missed = {
            number: bug
            for number, bug in comparison.open_bugs(self.store, before).items()
            if number not in found
        }
        unclear: dict[int, Bug] = {}
        standings = [*campaign.standings]
        now = {
            job.name: (job, campaign.outcomes.get(number)) for number, job in enumerate(campaign.plan.jobs)
        }
        for number, bug in missed.items():
            standing = comparison.of_missed(bug, now)
            if standing is None:
                unclear[number] = bug
            else:
                standings.append(standing)
        tasks = {
            number: Retry(absolute(bug.trace)) for number, bug in unclear.items() if bug.trace is not None
        }
        for number, outcome in self._done(crew, tasks, _RETRY_S, {}):
            standings.append(comparison.of_retried(unclear[number], outcome))
        if campaign.stopped:
            return
        campaign.standings = comparison.ordered(standings)
        self.store.settle(
            campaign.number, [(each.bug.id, each.standing, each.why) for each in campaign.standings]
        )
