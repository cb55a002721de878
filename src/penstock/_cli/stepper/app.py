"""The full-screen program of `penstock step`: panes around one run, and the keys that steer it.

The run itself is in `model`; this only passes on what somebody wants and shows what became of it.  How many
panes are seen at once depends on the window: all in a wide one, one at a time in a narrow one.
"""

from __future__ import annotations

import asyncio
from itertools import count
from pathlib import Path
from random import Random
from typing import ClassVar, Final, Literal

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker

from penstock._base.files import TRACES
from penstock._base.text import visible
from penstock._cli.stepper.keys import Help, Keys, Prompt
from penstock._cli.stepper.model import MOST_ON, Looking, Run, breakpoint_of, kind_of
from penstock._cli.stepper.panes import Changes, Choosing, Drawing, Inside, Judging, LineList, Pane, Story
from penstock._world.signals import FABRIC
from penstock.errors import PenstockError

_SHOWN_EVERY: Final = 25
"""After how many steps it is shown how far a run is that goes on by itself."""

Severity = Literal["information", "warning", "error"]

_PANES: Final = ("choices", "story", "picture", "inside", "changes", "judging")
"""The panes, in the order in which Tab goes through them."""


class StepperApp(App[None]):
    """Steer a run: choose what happens, look at what became of it, go back."""

    TITLE = "penstock step"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-medium"), (140, "-wide")]  # noqa: RUF012 - as Textual has it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("q", "quit", "Quit"),
        Binding("tab", "pane(1)", "Pane", priority=True),
        Binding("u,backspace", "undo", "Undo"),
        Binding("r", "redo", "Redo"),
        Binding("g", "go_on", "Go on"),
        Binding("a", "go_on_at_random", "At random"),
        Binding("b", "ask_breakpoint", "Break"),
        Binding("slash", "ask_search", "Search", key_display="/"),
        Binding("f", "ask_filter", "Filter"),
        Binding("w", "ask_file", "Write"),
        Binding("p", "picture", "Picture"),
        Binding("j", "ask_step", "Jump", show=False),
        Binding("n", "find(1)", "Next", show=False),
        Binding("N", "find(-1)", "Before", show=False),
        Binding("B", "clear_breakpoints", "No breakpoints", show=False),
        Binding("left_square_bracket", "turn(-1)", "Component before", show=False),
        Binding("right_square_bracket", "turn(1)", "Component after", show=False),
        Binding("c", "follow", "Who acts", show=False),
        Binding("t", "other_theme", "Light or dark", show=False),
        Binding("escape", "stop", "Stop", show=False),
        Binding("shift+tab", "pane(-1)", "Pane before", show=False, priority=True),
    ]
    CSS = """
    #top { height: 1; background: $panel; padding: 0 1; }
    #left { width: 42%; }
    #more { width: 1fr; layout: vertical; }
    #middle, #right { height: 1fr; width: 1fr; }
    #choices { height: 3fr; }
    #changes { height: 2fr; }
    #judging { height: 2fr; }
    .-medium #picture { display: none; }
    .-medium #middle.-drawn #picture { display: block; }
    .-medium #middle.-drawn #story { display: none; }
    .-wide #left { width: 32%; }
    .-wide #more { layout: horizontal; }
    .-narrow #body { layout: vertical; }
    .-narrow #left, .-narrow #more, .-narrow #middle, .-narrow #right, .-narrow Pane {
        display: none; width: 100%;
    }
    .-narrow #left.-current, .-narrow #more.-current, .-narrow #middle.-current, .-narrow #right.-current,
    .-narrow Pane.-current { display: block; height: 1fr; }
    """

    def __init__(self, run: Run, *, seed: int = 1, folder: Path = TRACES) -> None:
        super().__init__()
        # Not `run`, which is what starts an App.
        self.steered = run
        self._looking = Looking(run)
        self._seed = seed
        self._folder = folder
        self._kinds = {made.name: kind_of(made) for made in run.network.components}
        self._kinds[FABRIC] = "what may go wrong, or move"
        self._going: Worker[None] | None = None
        # A step is to be seen at once, over slow lines too.
        self.animation_level = "none"

    def compose(self) -> ComposeResult:
        """Make the panes."""
        run = self.steered
        yield Static(id="top", markup=False)
        with Horizontal(id="body"):
            with Vertical(id="left"):
                yield Choosing(self._kinds)
                yield Changes()
                yield Judging(run)
            with Container(id="more"):
                with Vertical(id="middle"):
                    yield Story(run)
                    yield Drawing(run)
                with Vertical(id="right"):
                    yield Inside(self._looking, run.components)
        yield Prompt()
        yield Keys(each for each in self.BINDINGS if isinstance(each, Binding))

    def on_mount(self) -> None:
        """Show the run as it stands."""
        self._work_in("choices")
        self.renew()
        for remark in self.steered.remarks:
            self._say(remark, severity="warning")

    # Showing.

    def renew(self) -> None:
        """Show the run as it is now, in every pane."""
        run = self.steered
        changes = self._looking.changes()
        nothing = ""
        try:
            choices = run.choices()
        except PenstockError as error:
            choices, nothing = [], str(error)
        self.query_one(Choosing).show(
            choices, following=run.following(), first=run.first() if choices else None, nothing=nothing
        )
        self.query_one(Story).renew()
        self.query_one(Drawing).renew()
        self.query_one(Inside).renew(changes, run.now.record.node if run.now.record is not None else "")
        self.query_one(Changes).renew(changes)
        self.query_one(Judging).renew()
        self._show_top()

    def _show_top(self) -> None:
        run = self.steered
        last = len(run.moments) - 1
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append(f"{run.scenario.name}", style="bold")
        text.append(f"  step {run.at}" + (f" of {last}" if last > run.at else ""))
        if run.broken:
            text.append(f"  ✗ {', '.join(run.broken)}", style="bold red")
        if self._going is not None:
            text.append("  going on: Escape stops it", style="yellow")
        self.query_one("#top", Static).update(text, layout=False)

    def _say(self, text: str, severity: Severity = "information") -> None:
        self.notify(visible(text), severity=severity, markup=False)

    def _try(self, what: str, *arguments: object) -> bool:
        """Have the run do something by name; what it refuses is said.  Tell whether it did it."""
        try:
            getattr(self.steered, what)(*arguments)
        except PenstockError as error:
            self._say(str(error), severity="error")
            return False
        self.renew()
        return True

    # Going.

    def on_choosing_taken(self, event: Choosing.Taken) -> None:
        """Take a step."""
        self._stop_going()
        if self._try("take", event.choice.transition):
            self._tell_news()

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Go to a step of the story."""
        self._stop_going()
        self._try("go_to", event.step)

    def action_undo(self) -> None:
        """Undo the last step."""
        self._stop_going()
        self._try("undo")

    def action_redo(self) -> None:
        """Redo what was undone."""
        self._stop_going()
        self._try("redo")

    def action_go_on(self) -> None:
        """Go on by itself, with what comes first."""
        self._begin_going(None, "")

    def action_go_on_at_random(self) -> None:
        """Go on at random; every time by another seed."""
        self._begin_going(Random(self._seed), f" at random with seed {self._seed}")
        self._seed += 1

    def _begin_going(self, choose: Random | None, how: str) -> None:
        self._stop_going()
        self._going = self._go(choose, how)
        self._show_top()

    @work(exclusive=True)
    async def _go(self, choose: Random | None, how: str) -> None:
        run, begin = self.steered, self.steered.at
        reason = f"it took {MOST_ON:,} steps"
        try:
            for taken in range(1, MOST_ON + 1):
                if found := run.go_on(choose):
                    reason = found
                    break
                if taken % _SHOWN_EVERY == 0:
                    self._show_top()
                # Lets keys be heard, and the run be stopped, after every step.
                await asyncio.sleep(0)
        except PenstockError as error:
            reason = str(error).rstrip(".")
        self._going = None
        self.renew()
        told = f"Went on{how} for {run.at - begin} steps: {reason}."
        self._say(told, severity="error" if run.now.broken else "information")

    def _stop_going(self) -> bool:
        """Stop a run that goes on by itself; tell whether there was one."""
        if self._going is None:
            return False
        self._going.cancel()
        self._going = None
        self.renew()
        return True

    def _tell_news(self) -> None:
        for text in self.steered.news(self.steered.at):
            self._say(text.strip(), severity="error")

    # Asking.

    def action_ask_breakpoint(self) -> None:
        """Ask where to stop."""
        self._ask("breakpoint", "Stop when", example="broken, a property, or a packet as in h1#1 at s2")

    def action_ask_search(self) -> None:
        """Ask what to search for."""
        self._ask("search", "Search the story for")

    def action_ask_filter(self) -> None:
        """Ask which transitions to show."""
        self._work_in("choices", focus=False)
        self._ask("filter", "Show what has", example="words, as in s1 packet-in; Enter takes the chosen one")

    def action_ask_step(self) -> None:
        """Ask where to jump to."""
        self._ask("step", "Go to step")

    def action_ask_file(self) -> None:
        """Ask where to write the run."""
        self._ask("file", "Write the run to", value=str(self._free_name()))

    def _ask(self, question: str, words: str, *, value: str = "", example: str = "") -> None:
        self._stop_going()
        self.query_one(Prompt).ask(question, words, value=value, example=example)

    def _free_name(self) -> Path:
        names = (self._folder / f"{self.steered.scenario.name}-step-{number}.jsonl" for number in count(1))
        return next(name for name in names if not name.exists())

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        """Follow what is typed where that helps."""
        if event.question == "filter":
            self.query_one(Choosing).narrow(event.text)
        elif event.question == "search":
            self.query_one(Story).steps.search(event.text)

    def on_prompt_moved(self, event: Prompt.Moved) -> None:
        """Move in the list of what can happen while its filter is typed."""
        options = self.query_one(Choosing).options
        options.action_cursor_up() if event.by < 0 else options.action_cursor_down()

    def on_prompt_left(self, event: Prompt.Left) -> None:
        """Go back to where somebody was, without what was typed."""
        self._forget(event.question)
        self._back_to_work()

    def on_prompt_answered(self, event: Prompt.Answered) -> None:
        """Do what was asked for."""
        self._back_to_work()
        text = event.text.strip()
        match event.question:
            case "filter":
                self.query_one(Choosing).take()
                self._forget("filter")
            case "search":
                self._find_first(text)
            case "breakpoint":
                self._toggle(text)
            case "step":
                self._jump(text)
            case "file":
                self._write(text)

    def _find_first(self, text: str) -> None:
        self.query_one(Story).steps.search(text)
        self._work_in("story")
        # In a narrow window the story has no lines until it is seen.
        self.call_after_refresh(self.action_find, 1)

    def _toggle(self, text: str) -> None:
        run = self.steered
        try:
            stop = breakpoint_of(text, properties=run.properties, components=run.components)
        except PenstockError as error:
            self._say(str(error), severity="error")
            return
        there = run.toggle(stop)
        self.query_one(Judging).renew()
        self._say(f"{'Going on stops' if there else 'No longer stops'} when {stop}.")

    def _jump(self, text: str) -> None:
        if text.isdecimal() and len(text) < 10:
            self._try("go_to", int(text))
        else:
            self._say(f"{text[:40]!r} is not a step: type its number.", severity="error")

    def _write(self, text: str) -> None:
        path = Path(text).expanduser() if text else self._free_name()
        if self._try("save", path):
            self._say(f"Written: penstock replay {path}")

    # Looking.

    def action_find(self, onward: int) -> None:
        """Go to the next place in the story that was searched for."""
        if not self.query_one(Story).steps.find(onward):
            self._say("Not found in the story: / searches for something else.", severity="warning")

    def action_stop(self) -> None:
        """Stop going on, or forget the search and the filter."""
        if not self._stop_going():
            self._forget("search")
            self._forget("filter")

    def _forget(self, question: str) -> None:
        if question == "filter":
            self.query_one(Choosing).narrow("")
        elif question == "search":
            self.query_one(Story).steps.search("")

    def action_clear_breakpoints(self) -> None:
        """Take all breakpoints away."""
        self.steered.breakpoints.clear()
        self.query_one(Judging).renew()
        self._say("There are no breakpoints now.")

    def action_turn(self, by: int) -> None:
        """Look into another component."""
        self.query_one(Inside).turn(by)

    def action_follow(self) -> None:
        """Look into whoever takes a step, or stay with one component."""
        self.query_one(Inside).follow()

    def action_picture(self) -> None:
        """Show the picture in place of the story, or the other way round."""
        drawn = self.query_one("#middle").toggle_class("-drawn").has_class("-drawn")
        self._work_in("picture" if drawn else "story")

    def action_other_theme(self) -> None:
        """Change between light and dark."""
        self.theme = "textual-light" if self.theme == "textual-dark" else "textual-dark"

    def action_help(self) -> None:
        """Tell all keys."""
        self.push_screen(Help())

    def action_pane(self, by: int) -> None:
        """Go to another pane."""
        if self.query_one(Prompt).is_open:
            return
        there = [name for name in _PANES if self._can_be_seen(name)]
        now = self._pane()
        place = there.index(now) if now in there else 0
        self._work_in(there[(place + by) % len(there)])

    def _can_be_seen(self, name: str) -> bool:
        if not self.screen.has_class("-medium") or name not in ("story", "picture"):
            return True
        return (name == "picture") == self.query_one("#middle").has_class("-drawn")

    def _pane(self) -> str:
        current = self.query(".-current").filter("Pane")
        return str(current.first().id) if current else ""

    def _back_to_work(self) -> None:
        self._work_in(self._pane() or "choices")

    def _work_in(self, name: str, *, focus: bool = True) -> None:
        """Make a pane the one in which somebody works; in a narrow window, the only one seen."""
        pane = self.query_one(f"#{name}", Pane)
        around = {pane, *pane.ancestors}
        for place in self.query("#left, #more, #middle, #right, Pane"):
            place.set_class(place in around, "-current")
        if focus:
            self.call_after_refresh(_inner(pane).focus)


def _inner(pane: Pane) -> Widget:
    """Return the part of a pane that keys go to."""
    return next(part for part in pane.query("OptionList, LineList, VerticalScroll"))


def step_on_screen(run: Run, *, seed: int = 1) -> None:
    """Let a person steer a run on the whole screen."""
    StepperApp(run, seed=seed).run()
