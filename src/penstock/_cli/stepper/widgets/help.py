"""The page that tells all keys."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

KEYS: Final = (
    ("Going", ""),
    ("Enter", "take the chosen transition, or go to the chosen step of the story"),
    ("u  Backspace", "undo the last step"),
    ("r", "redo what was undone, or take the next step of the trace"),
    ("j", "jump to a step by its number; 0 is the start"),
    ("g", "go on by itself, always what comes first, to a breakpoint"),
    ("a", "go on at random, by a seed that is said"),
    ("Escape", "stop going on; leave a question; forget a filter or a search"),
    ("Looking", ""),
    ("Tab  Shift+Tab", "go to the next pane, or the one before"),
    ("f", "filter what can happen: type words, Enter takes the chosen one"),
    ("/  n  N", "search the story; the next place, the one before"),
    ("p", "story or picture, where there is no room for both"),
    ("[  ]", "the component before or after; * marks what the last step changed"),
    ("c", "always look into the component that acts, or stay with one"),
    ("Stopping and keeping", ""),
    ("b", "a breakpoint: broken, a property, or a packet as in h1#1 at s2; again takes it away"),
    ("B", "take all breakpoints away"),
    ("w", "write the run so far as a trace, for show, replay and report"),
    ("t", "light or dark"),
    ("q", "quit"),
)


class Help(ModalScreen[None]):
    """All keys, above everything else."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,enter", "dismiss", "Back", show=False)
    ]
    DEFAULT_CSS = """
    Help {
        align: center middle;
        & > VerticalScroll {
            width: 84; max-width: 95%; height: auto; max-height: 95%;
            border: round $primary; background: $surface; padding: 0 1; scrollbar-size-vertical: 1;
        }
    }
    """

    def compose(self) -> ComposeResult:
        """Make the list of keys."""
        table = Table.grid(padding=(0, 2))
        for keys, words in KEYS:
            if words:
                table.add_row(Text(f" {keys}", style="bold", no_wrap=True), Text(words))
            else:
                table.add_row(Text(keys, style="bold underline"), Text())
        with VerticalScroll() as page:
            page.border_title = "Keys"
            yield Static(table, markup=False)
