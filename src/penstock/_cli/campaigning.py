"""`penstock campaign`: check, verify and fuzz over many apps, and what is new since the last time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from penstock._base.files import UnwritableError, nearest
from penstock._base.terminal import complain, say, say_lines
from penstock._base.text import json_text, on_one_line
from penstock._campaign.options import ENGINES
from penstock._cli.options import OneOf
from penstock._cli.output import Live, titled_lines

if TYPE_CHECKING:
    from penstock._campaign.campaign import Campaign
    from penstock._campaign.comparison import Standing

FOLDER: Final = Path("penstock-campaign")


@click.command(name="campaign")
@click.argument("what", metavar="FOLDER|LIST", type=click.Path(path_type=Path))
@click.option("--engine", "-e", "engines", type=OneOf(ENGINES), multiple=True, help="What runs; repeatable.")
@click.option(
    "--topo", "topologies", metavar="SHAPE", multiple=True, help="A network for the apps; repeatable."
)
@click.option("--seed", "seeds", type=int, multiple=True, help="A seed of fuzzing; repeatable.")
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    help="How long an engine may take for a job, and as long again to minimise; by default 30.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    help="How many at once; by default as many as there are processors.",
)
@click.option("--fresh", is_flag=True, help="Begin a new campaign, and do all jobs again.")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    default=FOLDER,
    show_default=True,
    help="Where the database, the page and the traces are.",
)
@click.option("--serve", is_flag=True, help="Serve the page on this machine while the campaign goes on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="With --serve, on which port; by default any."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def campaign_command(
    what: Path, fresh: bool, output: Path, serve: bool, port: int, as_json: bool, **options: Any
) -> int:
    """Run check, verify and fuzz over many apps, and tell which bugs are new.

    Of a FOLDER, every scenario and every app in it is run; a LIST is a .toml file that says what is run.

    What was done is kept: a campaign that was stopped or killed goes on where it was, jobs are done again
    only if their code or options have changed, and bugs are compared with those of the campaign before.
    """
    from penstock._campaign.campaign import planned, run
    from penstock._campaign.store import opened

    changes = {name: value for name, value in options.items() if value not in (None, ())}
    plan, chosen = planned(what, changes)
    with (
        opened(output) as store,
        _serving(output, port) if serve else nullcontext(),
        Live(quiet=as_json, doing=f"{len(plan.jobs)} jobs …") as live,
    ):
        shown = _Shown(live, output)
        done = run(plan, chosen, store, fresh=fresh, watch=shown.show)
        shown.finish(done)
    say(json_text({**done.as_json(), "page": str(shown.page)})) if as_json else say_lines(
        _lines(done, shown.page)
    )
    for sentence in filter(None, (done.unwritten, shown.unwritten)):
        complain(sentence)
    if done.stopped:
        complain(f"stopped; {_jobs_done(done)}; run the same command to continue.")
    return done.status


@contextmanager
def _serving(folder: Path, port: int) -> Iterator[None]:
    """Serve the page that is in a folder."""
    from penstock._campaign.page import read_page
    from penstock._report.serving import serving_page

    with serving_page(lambda: read_page(folder), port=port) as address:
        say(f"The page is at {address} while the campaign goes on.", err=True)
        yield


class _Shown:
    """A campaign as it is shown while it goes on: a line on the terminal, and the page."""

    def __init__(self, live: Live, folder: Path) -> None:
        self._live = live
        self._folder = folder
        self._seen: object = None
        self.page = folder / "campaign.html"
        self.unwritten = ""

    def show(self, campaign: Campaign) -> None:
        """Show how it stands."""
        self._live.update(_progress(campaign))
        seen = (len(campaign.outcomes), *campaign.going)
        if seen != self._seen:
            self._seen = seen
            self._write(campaign, over=False)

    def finish(self, campaign: Campaign) -> None:
        """Show what it came to."""
        self._write(campaign, over=True)

    def _write(self, campaign: Campaign, *, over: bool) -> None:
        from penstock._campaign.page import write_page

        try:
            self.page = write_page(campaign, self._folder, over=over)
            self.unwritten = ""
        except UnwritableError as error:
            # What was found is in the database, or the campaign has ended for that.
            self.unwritten = str(error)


def _progress(campaign: Campaign) -> str:
    counts = campaign.counts()
    going = ", ".join(campaign.plan.jobs[number].name for number in campaign.going)
    return on_one_line(
        f"{len(campaign.outcomes)} of {len(campaign.plan.jobs)} jobs, {sum(counts.values())} bugs "
        f"({counts['new']} new), {campaign.seconds:.0f} s; {going}"
    )


def _lines(campaign: Campaign, page: Path) -> Iterator[str]:
    yield from _matrix(campaign)
    for standing in campaign.standings:
        yield from _bug(campaign, standing)
    failed = [
        f"{campaign.plan.jobs[number].name}: {'; '.join(outcome.reasons)}"
        for number, outcome in sorted(campaign.outcomes.items())
        if outcome.result == "failed"
    ]
    yield from titled_lines("Failed:", failed)
    yield from titled_lines("Found, but not written down:", list(_unwritten(campaign)))
    yield from titled_lines("Left out:", [f"{each.name}: {each.why}." for each in campaign.plan.left_out])
    yield _last_line(campaign)
    yield f"The page is in {nearest(page)}"


def _unwritten(campaign: Campaign) -> Iterator[str]:
    """Yield what was found that the database did not take."""
    written = {each.bug.name for each in campaign.standings}
    for number, outcome in campaign.outcomes.items() if campaign.unwritten else ():
        for found in outcome.found:
            if found.bug not in written:
                yield f"{campaign.plan.jobs[number].name}: {found.property}: {found.message}"


def _matrix(campaign: Campaign) -> Iterator[str]:
    from penstock._campaign.page import worst

    jobs = campaign.plan.jobs
    apps, engines = dict.fromkeys(job.app for job in jobs), list(dict.fromkeys(job.engine for job in jobs))
    width = max(map(len, apps))
    yield f"{'':{width}}  {'  '.join(f'{engine:9}' for engine in engines)}".rstrip()
    for app in apps:
        cells = []
        for engine in engines:
            numbers = [number for number, job in enumerate(jobs) if (job.app, job.engine) == (app, engine)]
            done = [campaign.outcomes[number].result for number in numbers if number in campaign.outcomes]
            cells.append(worst(done) if done else "not done" if numbers else "-")
        yield f"{app:{width}}  {'  '.join(f'{cell:9}' for cell in cells)}".rstrip()
    yield ""


def _bug(campaign: Campaign, standing: Standing) -> Iterator[str]:
    bug = standing.bug
    yield f"{standing.standing}: {bug.name}: {bug.message}"
    if standing.why:
        yield f"     {standing.why[0].upper()}{standing.why[1:]}."
    if not bug.minimised:
        yield "     Not minimised for lack of time, so it is not known which inputs it takes."
    for number, step in enumerate(bug.sequence, 1):
        yield f"  {number:>3}. {step}"
    for job in standing.jobs:
        yield f"     Found by {campaign.plan.jobs[job].name}."
    if bug.trace is not None:
        yield f"     See it with: penstock report {nearest(bug.trace)}"
    yield ""


def _jobs_done(campaign: Campaign) -> str:
    return f"{len(campaign.outcomes)} of {len(campaign.plan.jobs)} jobs are done"


def _last_line(campaign: Campaign) -> str:
    counts = campaign.counts()
    bugs = ", ".join(f"{number} {standing}" for standing, number in counts.items() if number) or "no bugs"
    compared = f", compared with campaign {campaign.before}" if campaign.before is not None else ""
    done, of = len(campaign.outcomes), len(campaign.plan.jobs)
    kept = f", {campaign.kept} of them before" if campaign.kept else ""
    return (
        f"Campaign {campaign.number}: {campaign.result}; {done} of {of} jobs done{kept}, "
        f"{campaign.seconds:.1f} s; {bugs}{compared}."
    )
