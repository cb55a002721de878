"""The panes of the stepper: what there is to look at, each in a frame with a title.

What can happen next is a list by component, which can be narrowed down.  What is inside is the state of a
component, and what the last step changed anywhere.  The properties are told as holding or broken and how,
with where the run will stop.  The run is told as a story, step by step, and as a picture.

Lines can be scrolled, searched and chosen, however many there are: only those in view are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import ClassVar, Final, NamedTuple

from rich.console import Group, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import OptionList, Static, Tab, Tabs
from textual.widgets.option_list import Option

from penstock._base.text import on_one_line, visible
from penstock._cli.stepper.model import Choice, Looking, Moment, Run
from penstock._report.picture import Note, lanes_of, picture
from penstock._report.states import Change
from penstock._world.switch import SwitchState
from penstock._world.switch.flow_table import FlowEntry, FlowTable
from penstock._world.transition import Transition
from penstock.openflow.actions import instructions_text

# Lines, however many there are.


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


# A frame with a title around one thing to look at.


class Pane(Vertical):
    """A frame with a title; the one in which somebody works stands out."""

    DEFAULT_CSS = """
    Pane {
        border: round $foreground 30%;
        border-title-color: $text-muted;
        background: $surface;
        height: 1fr;
        &:focus-within {
            border: round $primary; border-title-color: $text-primary; border-title-style: bold;
        }
    }
    """

    def entitle(self, title: str) -> None:
        """Set the title, whatever is in it."""
        text = Content(title).markup
        if self.border_title != text:
            self.border_title = text


# What can happen next.


class Choosing(Pane):
    """What can happen now; Enter takes it."""

    DEFAULT_CSS = """
    Choosing OptionList {
        border: none; background: $surface; height: 1fr; padding: 0; scrollbar-size-vertical: 1;
        &:focus { border: none; }
        & > .option-list--option-disabled { color: $text-primary; }
    }
    """

    class Taken(Message):
        """Somebody wants a transition to be taken."""

        def __init__(self, choice: Choice) -> None:
            super().__init__()
            self.choice = choice

    def __init__(self, kinds: Mapping[str, str]) -> None:
        super().__init__(id="choices")
        self._kinds = kinds
        self._choices: Sequence[Choice] = ()
        self._shown: dict[str, Choice] = {}
        self._following: Transition | None = None
        self._first: Transition | None = None
        self._filter = ""

    def compose(self) -> ComposeResult:
        """Make the list."""
        yield OptionList(id="transitions", markup=False)

    @property
    def options(self) -> OptionList:
        """The list."""
        return self.query_one(OptionList)

    @property
    def shown(self) -> list[Choice]:
        """The choices that are in the list, in order."""
        return list(self._shown.values())

    def show(
        self,
        choices: Sequence[Choice],
        *,
        following: Transition | None,
        first: Transition | None,
        nothing: str = "",
    ) -> None:
        """Show what can happen; the step that was undone last, or that a trace has next, is marked.

        It is under the cursor; if there is none, what would happen first by itself.
        """
        self._choices, self._following, self._first = choices, following, first
        self._renew(nothing)

    def take(self) -> None:
        """Have what is under the cursor taken."""
        place = self.options.highlighted
        key = self.options.get_option_at_index(place).id if place is not None else None
        if key in self._shown:
            self.post_message(self.Taken(self._shown[key]))

    def narrow(self, text: str) -> None:
        """Show only what has these words in it."""
        self._filter = text
        self._renew("no enabled transition matches" if text else "")

    def _renew(self, nothing: str) -> None:
        words = self._filter.lower().split()
        fitting = [choice for choice in self._choices if choice.fits(words)]
        options = self.options
        options.clear_options()
        self._shown = {}
        node, under_cursor = "", 0
        for choice in fitting:
            if choice.node != node:
                node = choice.node
                heading = Text(visible(f"{node}  {self._kinds.get(node, '')}".rstrip()), style="bold")
                options.add_option(Option(heading, disabled=True))
            next_one = choice.transition == self._following
            # A key that was pressed for an earlier list must not mean something else in this one.
            key = str(choice.transition)
            self._shown[key] = choice
            line = Table.grid(padding=(0, 1))
            line.add_row(" ›" if next_one else "  ", Text(on_one_line(choice.words)))
            options.add_option(Option(line, id=key))
            if choice.transition == (self._following or self._first):
                under_cursor = options.option_count - 1
        if not fitting:
            options.add_option(Option(Text(visible(nothing) or "no transition is enabled"), disabled=True))
        options.highlighted = under_cursor or (1 if fitting else None)
        some = f"{len(fitting)} of {len(self._choices)}" if words else f"{len(fitting)}"
        kept = f" with {self._filter!r}" if words else ""
        self.entitle(f"What can happen next ({some}{kept})")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Have the chosen transition taken."""
        event.stop()
        if event.option_id in self._shown:
            self.post_message(self.Taken(self._shown[event.option_id]))


# What is inside.


_NEW = "bold green"
_GONE = "red"


class Inside(Pane):
    """The state of one component: flow tables as tables, everything else as lines."""

    DEFAULT_CSS = """
    Inside VerticalScroll { height: 1fr; scrollbar-size-vertical: 1; }
    Inside Static { padding: 0 1; }
    """

    def __init__(self, looking: Looking, components: list[str]) -> None:
        super().__init__(id="inside")
        self._looking = looking
        self._components = components
        self._changes: list[Change] = []
        self.selected = components[0]
        self._follows = True

    def compose(self) -> ComposeResult:
        """Make a tab for every component, and room for its state."""
        yield Tabs(*(Tab(Content(name), id=f"part-{n}") for n, name in enumerate(self._components)))
        with VerticalScroll(id="state"):
            yield Static(id="sections", markup=False)

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        """Show the component of the tab."""
        if event.tab.id is not None:
            self.selected = self._components[int(event.tab.id.removeprefix("part-"))]
            self._show()

    def turn(self, by: int) -> None:
        """Select the next component, or the one before, and stay with it."""
        self._follows = False
        place = (self._components.index(self.selected) + by) % len(self._components)
        self._select(self._components[place])

    def follow(self) -> bool:
        """Follow whoever takes a step, or stay where it is; tell whether it follows now."""
        self._follows = not self._follows
        self._show()
        return self._follows

    def _select(self, name: str) -> None:
        self.selected = name
        self.query_one(Tabs).active = f"part-{self._components.index(name)}"

    def renew(self, changes: list[Change], actor: str) -> None:
        """Show the state as it is now, of who took the last step if it follows that."""
        self._changes = changes
        if self._follows and actor:
            self._select(actor)
        touched = {change.component for change in changes}
        for place, name in enumerate(self._components):
            tab, label = self.query_one(f"#part-{place}", Tab), f"{name}*" if name in touched else name
            # A label that is set anew has the whole screen laid out again.
            if str(tab.label) != label:
                tab.label = Content(label)
        self._show()

    def _show(self) -> None:
        self.entitle(f"Inside {self.selected}{', which acted last' if self._follows else ''}")
        parts = list(self._parts(self.selected))
        self.query_one("#sections", Static).update(Group(*parts) if parts else Text("nothing to see", "dim"))

    def _parts(self, name: str) -> Iterator[RenderableType]:
        fresh = {line for change in self._changes if change.component == name for line in change.added}
        state = self._looking.state(name)
        for section, lines in self._looking.sections(name).items():
            number = section.removeprefix("flow table ")
            yield Text(visible(section[:1].upper() + section[1:]), style="bold underline")
            if isinstance(state, SwitchState) and number != section:
                yield _rules(state.tables[int(number)], lines, fresh)
            else:
                for line in lines:
                    yield Text(visible(line), style=_NEW if line in fresh else "")
            yield Text("")


def _rules(table: FlowTable, lines: tuple[str, ...], fresh: set[str]) -> Table:
    """Return a flow table as a table; rules that are new stand out."""
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    drawn.add_column("prio", justify="right")
    drawn.add_column("match", overflow="fold")
    drawn.add_column("does", overflow="fold")
    if any(map(_timeouts, table.entries)):
        drawn.add_column("ends", overflow="fold")
    for entry, line in zip(table.entries, lines, strict=False):
        match, does = str(entry.match), instructions_text(entry.instructions)
        cells = (str(entry.priority), match.replace(",", ", "), does.replace(",", ", "), _timeouts(entry))
        shown = (Text(visible(text)) for text in cells[: len(drawn.columns)])
        drawn.add_row(*shown, style=_NEW if line in fresh else "")
    return drawn


def _timeouts(entry: FlowEntry) -> str:
    idle = [f"idle {entry.idle_timeout} s"] if entry.idle_timeout else []
    hard = [f"hard {entry.hard_timeout} s"] if entry.hard_timeout else []
    return ", ".join(idle + hard)


class Changes(Pane):
    """What the last step changed, wherever that was."""

    DEFAULT_CSS = """
    Changes VerticalScroll { height: 1fr; scrollbar-size-vertical: 1; }
    Changes Static { padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__(id="changes")

    def compose(self) -> ComposeResult:
        """Make room for the lines."""
        with VerticalScroll(id="changed"):
            yield Static(id="differences", markup=False)

    def renew(self, changes: list[Change]) -> None:
        """Show the changes of the last step."""
        self.entitle("Changes of the last step")
        text = Text()
        for change in changes:
            text.append(f"{change.component}: {change.section}\n", style="bold")
            for line in change.removed:
                text.append(f" − {visible(line)}\n", style=_GONE)
            for line in change.added:
                text.append(f" + {visible(line)}\n", style=_NEW)
        self.query_one("#differences", Static).update(text or Text("nothing", style="dim"))


# The properties.


class Judging(Pane):
    """The properties, the breakpoints, and what else there is to say of the run."""

    DEFAULT_CSS = """
    Judging VerticalScroll { height: 1fr; scrollbar-size-vertical: 1; }
    Judging Static { padding: 0 1; }
    """

    def __init__(self, run: Run) -> None:
        super().__init__(id="judging")
        self._run = run

    def compose(self) -> ComposeResult:
        """Make room for the lines."""
        with VerticalScroll(id="judged"):
            yield Static(id="verdicts", markup=False)

    def renew(self) -> None:
        """Show how things stand."""
        broken = self._run.broken
        self.entitle(f"Properties ({len(broken)} violated)" if broken else "Properties")
        text = Text()
        for name, sentence in self._run.properties.items():
            if name not in broken:
                text.append(f"✓ {visible(name)}", style="green").append(f"  {sentence}\n", style="dim")
        for name, how in broken.items():
            text.append(f"✗ {visible(name)}", style="bold red").append(f"  {visible(how)}\n")
        if not text:
            text.append("The scenario names no properties.\n", style="dim")
        for stop in self._run.breakpoints:
            text.append("● stops when ", style="yellow").append(f"{visible(str(stop))}\n")
        for remark in self._run.remarks:
            text.append(f"{visible(remark)}\n", style="italic")
        self.query_one("#verdicts", Static).update(text)


# The run.


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
            known = self._wrapped[place] = (moment, width, list(self._moment_lines(place, moment, width)))
        return known[2]

    def _moment_lines(self, place: int, moment: Moment, width: int) -> Iterator[Shown]:
        for index, text in enumerate(moment.told):
            for part, piece in enumerate(visible(text).splitlines() or [""]):
                begin = f"{place:>3}.  " if not index and not part else _INDENT
                for line in _wrap(piece, begin, width):
                    yield Shown(line, place, "detail" if index else "plain")
        for text in self._run.news(place):
            for line in _wrap(visible(" ".join(text.split())), "  ", width):
                yield Shown(line, place, "broken")


def _wrap(text: str, begin: str, width: int) -> list[str]:
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
