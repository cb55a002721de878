"""Lines that can be scrolled, searched and chosen, however many there are: only those in view are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip


class Shown(NamedTuple):
    """A line: its text, the step that it belongs to, and how it looks (see `LineList`)."""

    text: str
    step: int = -1
    look: str = "plain"


class LineList(ScrollView, can_focus=True):
    """A list of lines in which a step is current, and another may be under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
        Binding("enter", "choose", "Go to this step", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "lines--plain",
        "lines--detail",
        "lines--ahead",
        "lines--broken",
        "lines--lost",
        "lines--heading",
        "lines--cursor",
        "lines--found",
    }
    DEFAULT_CSS = """
    LineList {
        background: $surface;
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 1;
        scrollbar-gutter: stable;
        & .lines--plain { color: $foreground; }
        & .lines--detail { color: $foreground-muted; }
        & .lines--ahead { text-style: italic dim; }
        & .lines--broken { color: $text-error; text-style: bold; }
        & .lines--lost { color: $text-warning; }
        & .lines--heading { color: $text-primary; text-style: bold; }
        & .lines--cursor { background: $primary-muted; }
        & .lines--found { background: $warning-muted; }
    }
    """

    class Chosen(Message):
        """Somebody wants to go to a step."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def __init__(self, *, id: str, make: Callable[[int], Sequence[Shown]]) -> None:
        super().__init__(id=id)
        self._make = make
        self._lines: Sequence[Shown] = ()
        self._cursor = -1
        self._wanted = ""

    @property
    def lines(self) -> Sequence[Shown]:
        """The lines that there are."""
        return self._lines

    @property
    def cursor(self) -> int:
        """The step under the cursor, or -1."""
        return self._cursor

    def renew(self, at: int) -> None:
        """Have the lines made again, put the cursor on a step, and bring it into view.

        Where nothing can be seen of them, that waits until they are given room.
        """
        if not self.size:
            self._cursor = at
            return
        self._lines = self._make(max(self.scrollable_content_region.width, 20))
        widest = max((len(line.text) for line in self._lines), default=0)
        self.virtual_size = Size(widest, len(self._lines))
        self._point_at(at)
        self.refresh()

    def on_resize(self, _event: events.Resize) -> None:
        """Fit the lines to the new width."""
        self.renew(self._cursor)

    def _point_at(self, step: int) -> None:
        self._cursor = step
        rows = [row for row, line in enumerate(self._lines) if line.step == step]
        last = rows[-1] if rows else len(self._lines) - 1 if step < 0 else -1
        if last >= 0:
            first = rows[0] if rows else last
            region = Region(0, first, 1, last - first + 1)
            self.scroll_to_region(region, animate=False, force=True, x_axis=False)

    def render_line(self, y: int) -> Strip:
        """Draw one line of what is in view."""
        across, down = self.scroll_offset
        row, width = y + down, self.scrollable_content_region.width
        if row >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        line = self._lines[row]
        style = self.rich_style + self.get_component_rich_style(f"lines--{line.look}", partial=True)
        if 0 <= line.step == self._cursor:
            style += self.get_component_rich_style("lines--cursor", partial=True)
        if self._wanted and self._wanted in line.text.lower():
            style += self.get_component_rich_style("lines--found", partial=True)
        strip = Strip([Segment(line.text, style)])
        return strip.crop_extend(across, across + width, style)

    # What somebody does.

    def action_move(self, by: int) -> None:
        """Move the cursor to the next step, or scroll where there are none."""
        steps = sorted({line.step for line in self._lines if line.step >= 0})
        if not steps:
            self.scroll_relative(y=by, animate=False)
            return
        place = steps.index(self._cursor) if self._cursor in steps else len(steps) - 1
        self._point_at(steps[max(0, min(len(steps) - 1, place + by))])
        self.refresh()

    def action_choose(self) -> None:
        """Ask to go to the step under the cursor."""
        if self._cursor >= 0:
            self.post_message(self.Chosen(self._cursor))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where somebody clicks; twice goes there."""
        row = int(event.y + self.scroll_offset.y) - self.gutter.top
        if 0 <= row < len(self._lines) and self._lines[row].step >= 0:
            self._point_at(self._lines[row].step)
            self.refresh()
            if event.chain == 2:
                self.action_choose()

    def search(self, text: str) -> None:
        """Mark a text wherever it is."""
        self._wanted = text.lower()
        self.refresh()

    def find(self, onward: int) -> bool:
        """Move the cursor to the next step with the text, or the one before; tell whether there is one."""
        steps = sorted(
            {line.step for line in self._lines if self._wanted in line.text.lower() and line.step >= 0}
        )
        if not self._wanted or not steps:
            return False
        later = [step for step in steps if step > self._cursor]
        earlier = [step for step in steps if step < self._cursor]
        if onward > 0:
            self._point_at((later or steps)[0])
        else:
            self._point_at((earlier or steps)[-1])
        self.refresh()
        return True
