"""The panes of what is inside: the state of a component, and what the last step changed anywhere."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static, Tab, Tabs

from penstock._base.clean_text import visible
from penstock._cli.stepper.looking import Change, Looking
from penstock._cli.stepper.widgets.panes import Pane
from penstock._world.switch import SwitchState
from penstock._world.switch.flow_table import FlowEntry, FlowTable
from penstock.openflow.actions import instructions_text

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
        touched = {change.node for change in changes}
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
        fresh = {line for change in self._changes if change.node == name for line in change.added}
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
        self.entitle("What the last step changed")
        text = Text()
        for node, section, removed, added in changes:
            text.append(f"{node}: {section}\n", style="bold")
            for line in removed:
                text.append(f" − {visible(line)}\n", style=_GONE)
            for line in added:
                text.append(f" + {visible(line)}\n", style=_NEW)
        self.query_one("#differences", Static).update(text or Text("nothing", style="dim"))
