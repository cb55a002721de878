"""The panes of the run: its story, step by step, and its picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final

from textual.app import ComposeResult

from penstock._base.clean_text import visible
from penstock._cli.stepper.model import Moment, Run
from penstock._cli.stepper.widgets.lines import LineList, Shown
from penstock._cli.stepper.widgets.panes import Pane
from penstock._report.picture import Note, lanes_of, picture

_INDENT: Final = "      "
MOST_DRAWN: Final = 300
"""How many steps a picture has; of a longer run, the last ones."""


class Story(Pane):
    """The run in words; what was undone, or what a trace still has, is paler."""

    def __init__(self, run: Run) -> None:
        super().__init__(id="story")
        self._run = run
        self._wrapped: dict[int, tuple[Moment, int, list[Shown]]] = {}

    def compose(self) -> ComposeResult:
        """Make the list of steps."""
        yield LineList(id="steps", make=self._lines)

    @property
    def steps(self) -> LineList:
        """The list of steps."""
        return self.query_one(LineList)

    def renew(self) -> None:
        """Tell the run as it is now."""
        ahead = len(self._run.moments) - 1 - self._run.at
        self.entitle(f"The story so far{f' ({ahead} steps ahead)' if ahead else ''}")
        self.steps.renew(self._run.at)

    def _lines(self, width: int) -> list[Shown]:
        found = [Shown("  0.  The start.", 0, "heading")]
        for place, moment in enumerate(self._run.moments):
            lines = self._moment(place, moment, width)
            found += lines if place <= self._run.at else (line._replace(look="ahead") for line in lines)
        return found

    def _moment(self, place: int, moment: Moment, width: int) -> list[Shown]:
        known = self._wrapped.get(place)
        if known is None or known[:2] != (moment, width):
            known = self._wrapped[place] = (moment, width, list(self._told(place, moment, width)))
        return known[2]

    def _told(self, place: int, moment: Moment, width: int) -> Iterator[Shown]:
        for index, text in enumerate(moment.told):
            for part, piece in enumerate(visible(text).splitlines() or [""]):
                begin = f"{place:>3}.  " if not index and not part else _INDENT
                for line in _folded(piece, begin, width):
                    yield Shown(line, place, "detail" if index else "plain")
        for text in self._run.news(place):
            for line in _folded(visible(" ".join(text.split())), "  ", width):
                yield Shown(line, place, "broken")


def _folded(text: str, begin: str, width: int) -> list[str]:
    return wrap(text, max(width, 20), initial_indent=begin, subsequent_indent=_INDENT) or [begin]


class Drawing(Pane):
    """The space-time picture of the run so far."""

    def __init__(self, run: Run) -> None:
        super().__init__(id="picture")
        self._run = run

    def compose(self) -> ComposeResult:
        """Make the lines."""
        yield LineList(id="drawn", make=self._lines)

    def renew(self) -> None:
        """Draw the run as it is now."""
        self.entitle("Space-time picture")
        self.query_one(LineList).renew(-1)

    def _lines(self, width: int) -> Sequence[Shown]:
        run = self._run
        if not run.at:
            return [Shown("Nothing has happened yet.", look="detail")]
        happenings = run.happenings(MOST_DRAWN)
        taking_part = set(lanes_of(item for _, item in happenings if not isinstance(item, Note)))
        lanes = [name for name in run.components if name in taking_part]
        lines = picture(happenings, width=width, lanes=lanes, whole=run.at <= MOST_DRAWN)
        looks = [
            "heading",
            *("broken" if "✗" in line else "lost" if "×" in line else "plain" for line in lines[1:]),
        ]
        return [Shown(line, look=look) for line, look in zip(lines, looks, strict=True)]
