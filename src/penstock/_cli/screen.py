"""The live screen of a fuzzing run: what was done, who is up, what is wrong, how long it still takes."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from penstock._base.text import on_one_line
from penstock._explore.search import peak_rss_mb
from penstock._fuzz.fuzzing import Fuzzing
from penstock._fuzz.summary import count_text, finding_line

_PER_SECOND: Final = 4
_FINDINGS: Final = 6
_KINDS: Final = 12


class Screen:
    """A picture of a run that is renewed while it goes on, if there is a terminal to show it on."""

    def __init__(self, *, quiet: bool) -> None:
        self._console = Console(stderr=True)
        self._live: Live | None = None
        if not quiet and self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._shown = 0.0

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, fuzzing: Fuzzing) -> None:
        """Show how a run stands, unless it was shown a moment ago."""
        now = time.monotonic()
        if self._live is not None and now - self._shown >= 1 / _PER_SECOND:
            self._shown = now
            self._live.update(picture(fuzzing), refresh=True)


def picture(fuzzing: Fuzzing) -> Group:
    """Return how a run stands, as something to be shown."""
    outcome, stage = fuzzing.outcome, fuzzing.stage
    possible = stage.possible()
    facts = Table.grid(padding=(0, 2))
    facts.add_row("inputs", _progress(fuzzing))
    facts.add_row("events", f"{outcome.internal:,} followed ({_rate(outcome.internal, outcome.seconds)}/s)")
    facts.add_row("controllers", _up_and_down(possible.controllers_up(), possible.controllers_down()))
    facts.add_row("sessions", f"{len(possible.sessions_up())} open, {len(possible.sessions_cut())} cut")
    facts.add_row("switches", _up_and_down(possible.switches_on(), possible.switches_off()))
    facts.add_row(
        "links", f"{len(possible.links_up())} up, {', '.join(possible.links_cut()[:5]) or 'none'} cut"
    )
    facts.add_row(
        "in flight", f"{sum(1 for _ in stage.courier.nonempty())} channels, {len(possible.held())} held"
    )
    facts.add_row("memory", f"{peak_rss_mb()} MB")
    kinds = Table.grid(padding=(0, 2))
    for verb, times in outcome.by_verb.most_common(_KINDS):
        kinds.add_row(Text(verb), f"{times:,}")
    side = Table.grid(padding=(0, 4))
    side.add_row(facts, kinds)
    broken = sum(1 for found in outcome.violations if found.finding.persistent)
    broken += outcome.repeated_besides.total()
    told = [Text(on_one_line(finding_line(found))) for found in outcome.findings[-_FINDINGS:]]
    heading = Text(
        f"{count_text(broken, 'persistent violation')}; the latest:" if told else "no violation so far"
    )
    return Group(side, heading, *told, Text("Ctrl-C stops the run and keeps everything."))


def _progress(fuzzing: Fuzzing) -> str:
    outcome, options = fuzzing.outcome, fuzzing.options
    rate = _rate(outcome.inputs, outcome.seconds)
    parts = [f"{outcome.inputs:,}"]
    ends = []
    if options.events is not None:
        parts.append(f"of {options.events:,}")
        if outcome.inputs:
            ends.append((options.events - outcome.inputs) * outcome.seconds / outcome.inputs)
    if options.seconds is not None:
        ends.append(options.seconds - outcome.seconds)
    left = f", {max(0.0, min(ends)):.0f} s to go" if ends else ""
    return f"{' '.join(parts)} ({rate}/s) after {outcome.seconds:.0f} s{left}"


def _rate(count: int, seconds: float) -> str:
    return f"{count / seconds:,.0f}" if seconds else "–"


def _up_and_down(up: list[str], down: list[str]) -> str:
    gone = f", {', '.join(down[:5])} down" if down else ""
    return f"{len(up)} up{gone}"
