"""The page of a campaign: apps by engines, bugs, jobs, what was left out; one HTML file without scripts.

It is written again whenever a job begins or ends, and a browser that shows it loads it again by itself as
long as the campaign goes on.  Whatever is told on it may come from a stranger's app, so every text is
escaped.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

from penstock._base.files import absolute, nearest, open_to_read, write_whole
from penstock._campaign.campaign import Campaign
from penstock._campaign.comparison import STANDINGS, Standing
from penstock._campaign.job import FAILED, Outcome
from penstock._campaign.plan import Job
from penstock._report.page import escaped, render_plain
from penstock._verdict.verdict import Result

FILE: Final = "campaign.html"
_EVERY_S: Final = 2
_WORST_FIRST: Final = (
    str(Result.VIOLATED),
    FAILED,
    str(Result.BOUNDED),
    str(Result.EXHAUSTED),
    str(Result.PROVED),
)
_MOST_STEPS: Final = 30


def write_page(campaign: Campaign, folder: Path, *, over: bool) -> Path:
    """Write the page into a campaign's folder; return where it is."""
    path = folder / FILE
    write_whole(path, page_of(campaign, folder, over=over), "The page of the campaign")
    return path


def read_page(folder: Path) -> str:
    """Return the page as it was written last."""
    with open_to_read(folder / FILE) as file:
        return file.read().decode("utf-8", "replace")


def page_of(campaign: Campaign, folder: Path, *, over: bool = True) -> str:
    """Return the page; one of a campaign that goes on is loaded again and again."""
    title = f"Campaign {campaign.number} of {campaign.plan.what}"
    parts = (
        _head(campaign, title, over=over),
        _matrix(campaign),
        _bugs(campaign, folder),
        _jobs(campaign),
        _left_out(campaign),
    )
    body = f"<main>\n{''.join(line for part in parts for line in part)}</main>"
    return render_plain(title, body, "campaign.css", every_s=0 if over else _EVERY_S)


def _head(campaign: Campaign, title: str, *, over: bool) -> Iterator[str]:
    counts = campaign.counts()
    done, of = len(campaign.outcomes), len(campaign.plan.jobs)
    compared = "" if campaign.before is None else f" Compared with campaign {campaign.before}."
    bugs = ", ".join(f"{counts[standing]} {standing}" for standing in STANDINGS)
    state = "goes on" if not over else "complete" if campaign.is_complete else "stopped"
    word = str(campaign.result) if over or campaign.result is Result.VIOLATED else "going on"
    kind = "broken" if campaign.result is Result.VIOLATED else "bounded" if campaign.status else ""
    yield f"<h1>{escaped(title)}</h1>\n"
    yield (
        f'<div class="verdict {kind}"><p><strong>{escaped(word)}</strong>: '
        f"{done} of {of} jobs done ({state}), {campaign.kept} of them before; bugs: {bugs}.{compared} "
        f"{campaign.seconds:.0f} s.</p></div>\n"
    )


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield f"<table><thead><tr>{''.join(f'<th>{escaped(head)}</th>' for head in heads)}</tr></thead><tbody>\n"
    for row in rows:
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n"
    yield "</tbody></table>\n"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"<section><h2>{escaped(title)}</h2>\n"
    yield from lines
    yield "</section>\n"


def _word(word: str) -> str:
    kind = word if word.isalpha() else ""
    return f'<span class="word {escaped(kind)}">{escaped(word)}</span>'


def _matrix(campaign: Campaign) -> Iterator[str]:
    """Yield what each engine says of each app: the worst of its jobs, how many these are, and their time."""
    engines = list(dict.fromkeys(job.engine for job in campaign.plan.jobs))
    cells: dict[tuple[str, str], list[int]] = {}
    for number, job in enumerate(campaign.plan.jobs):
        cells.setdefault((job.app, job.engine), []).append(number)
    apps = dict.fromkeys(job.app for job in campaign.plan.jobs)
    rows = (
        [escaped(app), *(_cell(campaign, cells.get((app, engine), [])) for engine in engines)] for app in apps
    )
    yield from _section("Apps and engines", _table(["app", *engines], rows))


def _cell(campaign: Campaign, numbers: list[int]) -> str:
    if not numbers:
        return "–"
    done = [campaign.outcomes[number] for number in numbers if number in campaign.outcomes]
    going = _word("going on") if any(number in campaign.going for number in numbers) else ""
    if not done:
        return going or "waits"
    bugs = len({found.bug for outcome in done for found in outcome.found})
    told = [worst([outcome.result for outcome in done])]
    details = [f"{len(done)} of {len(numbers)} jobs"] if len(numbers) > 1 else []
    details += [f"{bugs} bug{'s' if bugs > 1 else ''}"] if bugs else []
    details.append(f"{sum(outcome.seconds for outcome in done):.1f} s")
    return f'{_word(told[0])} {going} <span class="faint">{escaped(", ".join(details))}</span>'


def worst(results: Iterable[str]) -> str:
    """Return the worst of some results."""
    known = {result: place for place, result in enumerate(_WORST_FIRST)}
    return min(results, key=lambda result: known.get(result, 0))


def _bugs(campaign: Campaign, folder: Path) -> Iterator[str]:
    if not campaign.standings:
        return
    rows = (
        [_word(each.standing), _told(each), _found_by(campaign, each), _shown(each, folder)]
        for each in campaign.standings
    )
    yield from _section("Bugs", _table(["", "what", "found by", "see it"], rows))


def _told(standing: Standing) -> str:
    bug = standing.bug
    steps = [f"<li>{escaped(step)}</li>" for step in bug.sequence[:_MOST_STEPS]]
    if len(bug.sequence) > _MOST_STEPS:
        steps.append(f"<li>… {len(bug.sequence) - _MOST_STEPS} more</li>")
    listed = f"<ol>{''.join(steps)}</ol>" if steps else ""
    why = f'<br><span class="faint">{escaped(standing.why)}</span>' if standing.why else ""
    unknown = (
        "" if bug.minimised else '<br><span class="faint">not minimised: its inputs are not known</span>'
    )
    return f"<strong>{escaped(bug.name)}</strong>: {escaped(bug.message)}{why}{unknown}{listed}"


def _found_by(campaign: Campaign, standing: Standing) -> str:
    names = [escaped(campaign.plan.jobs[number].name) for number in standing.jobs]
    return "<br>".join([*names, f'<span class="faint">first in campaign {standing.bug.first}</span>'])


def _shown(standing: Standing, folder: Path) -> str:
    trace = standing.bug.trace
    if trace is None:
        return "–"
    link = quote(os.path.relpath(absolute(trace), absolute(folder)), errors="backslashreplace")
    return f'<a href="{escaped(link)}">trace</a><br><code>penstock report {escaped(nearest(trace))}</code>'


def _jobs(campaign: Campaign) -> Iterator[str]:
    rows = (_row(campaign, number, job) for number, job in enumerate(campaign.plan.jobs))
    heads = ["job", "result", "why", "judged", "work", "s", "again"]
    yield from _section("Jobs", _table(heads, rows))


def _row(campaign: Campaign, number: int, job: Job) -> list[str]:
    outcome = campaign.outcomes.get(number)
    command = f"<code>{escaped(job.command)}</code>" if job.command else "–"
    if outcome is None:
        state = _word("going on") if number in campaign.going else "waits"
        return [escaped(job.name), state, "", "", "", "", command]
    return [
        escaped(job.name),
        _word(outcome.result),
        escaped("; ".join(outcome.reasons)),
        coverage(outcome),
        escaped(outcome.work),
        f'<span class="figure">{outcome.seconds:.1f}</span>',
        command,
    ]


def coverage(outcome: Outcome) -> str:
    """Return how many properties were put to the test, where that is known."""
    return f"{outcome.judged} of {outcome.properties}" if outcome.properties else "–"


def _left_out(campaign: Campaign) -> Iterator[str]:
    if campaign.plan.left_out:
        rows = ([escaped(each.name), escaped(each.why)] for each in campaign.plan.left_out)
        yield from _section("Left out", _table(["what", "why"], rows))
