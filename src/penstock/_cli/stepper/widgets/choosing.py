"""The pane of what can happen next: a list by component, which can be narrowed down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from penstock._base.clean_text import on_one_line, visible
from penstock._cli.stepper.choices import Choice
from penstock._cli.stepper.widgets.panes import Pane
from penstock._world.transition import Transition


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
        self._renew("nothing of that kind can happen now" if text else "")

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
            options.add_option(Option(Text(visible(nothing) or "nothing can happen any more"), disabled=True))
        options.highlighted = under_cursor or (1 if fitting else None)
        some = f"{len(fitting)} of {len(self._choices)}" if words else f"{len(fitting)}"
        kept = f" with {self._filter!r}" if words else ""
        self.entitle(f"What can happen next ({some}{kept})")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Have the chosen transition taken."""
        event.stop()
        if event.option_id in self._shown:
            self.post_message(self.Taken(self._shown[event.option_id]))
