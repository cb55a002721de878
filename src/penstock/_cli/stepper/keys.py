"""What a person steers by: the keys, the page that tells them, and the line in which something is typed.

The keys are at the foot of the screen, in as many lines as it takes, and none of them is cut.  What is typed
is a search, a breakpoint or a file's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from rich.table import Table
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Label, Static

_BETWEEN = "  "


class Keys(Widget):
    """The keys that are shown, each with what it does; a click does it, too."""

    DEFAULT_CSS = "Keys { height: auto; background: $panel; }"

    def __init__(self, bindings: Iterable[Binding]) -> None:
        super().__init__()
        self._shown_keys = [each for each in bindings if each.show]

    def _lines(self, width: int) -> list[list[str]]:
        return laid_out([label_of(each) for each in self._shown_keys], width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's
        """Return how many lines the keys take."""
        return len(self._lines(width))

    def render(self) -> Text:
        """Return the keys, laid out for the present width."""
        shown = Text(no_wrap=True)
        for number, line in enumerate(self._lines(self.size.width)):
            shown.append("\n" if number else "")
            for place, label in enumerate(line):
                key, _, what = label.partition(" ")
                shown.append(_BETWEEN if place else "")
                shown.append(key, style="bold")
                shown.append(f" {what}")
        return shown

    async def on_click(self, event: Click) -> None:
        """Do what the key does that is clicked."""
        numbered = iter(self._shown_keys)
        for row, line in enumerate(self._lines(self.size.width)):
            column = 0
            for label in line:
                binding = next(numbered)
                if row == event.y and column <= event.x < column + len(label):
                    await self.app.run_action(binding.action)
                    return
                column += len(label) + len(_BETWEEN)


def label_of(binding: Binding) -> str:
    """Return a key and what it does."""
    return f"{binding.key_display or binding.key.partition(',')[0]} {binding.description}"


def laid_out(labels: Sequence[str], width: int) -> list[list[str]]:
    """Return labels in lines that are no wider than there is room for."""
    lines: list[list[str]] = [[]]
    room = width
    for label in labels:
        needed = len(label) + (len(_BETWEEN) if lines[-1] else 0)
        if needed > room and lines[-1]:
            lines.append([])
            room, needed = width, len(label)
        lines[-1].append(label)
        room -= needed
    return lines


# The page that tells all keys.


KEYS: Final = (
    ("Going", ""),
    ("Enter", "take the chosen transition, or go to the chosen step of the story"),
    ("u  Backspace", "undo the last step"),
    ("r", "redo what was undone, or take the next step of the trace"),
    ("j", "jump to a step by its number; 0 is the start"),
    ("g", "run, always taking the first transition, to a breakpoint"),
    ("a", "run at random, by a seed that is shown"),
    ("Escape", "stop running; cancel a question, a filter or a search"),
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


# What is typed.


class Prompt(Horizontal):
    """A question, and the line for its answer; it is there only while it is asked."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave", show=False)]
    DEFAULT_CSS = """
    Prompt {
        height: 1; display: none; background: $panel;
        & Label { padding: 0 1; color: $text-primary; text-style: bold; width: auto; }
        & Input { border: none; height: 1; padding: 0; background: $panel; width: 1fr; }
        & Input:focus { border: none; }
    }
    """

    class Answered(Message):
        """Somebody answered; `question` is the name under which it was asked."""

        def __init__(self, question: str, text: str) -> None:
            super().__init__()
            self.question = question
            self.text = text

    class Typed(Answered):
        """Somebody is typing an answer."""

    class Left(Message):
        """Somebody does not want to answer."""

        def __init__(self, question: str) -> None:
            super().__init__()
            self.question = question

    class Moved(Message):
        """Somebody presses up or down while typing."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    def __init__(self) -> None:
        super().__init__(id="prompt")
        self._question = ""

    def compose(self) -> ComposeResult:
        """Make the question and the line."""
        yield Label(id="question", markup=False)
        yield Input(id="answer", compact=True)

    def ask(self, question: str, words: str, *, value: str = "", example: str = "") -> None:
        """Ask for something, which answers are known by."""
        self._question = question
        self.query_one(Label).update(words)
        answer = self.query_one(Input)
        answer.placeholder = example
        answer.value = value
        answer.cursor_position = len(value)
        self.display = True
        answer.focus()

    @property
    def is_open(self) -> bool:
        """Whether something is being asked."""
        return bool(self.display)

    def close(self) -> None:
        """Put the prompt away."""
        self.display = False

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Pass the answer on."""
        event.stop()
        self.close()
        self.post_message(self.Answered(self._question, event.value))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Pass on what is typed."""
        event.stop()
        if self.is_open:
            self.post_message(self.Typed(self._question, event.value))

    def on_key(self, event: events.Key) -> None:
        """Pass on the keys for going up and down."""
        if event.key in ("up", "down"):
            event.stop()
            self.post_message(self.Moved(-1 if event.key == "up" else 1))

    def action_leave(self) -> None:
        """Leave the question unanswered."""
        self.close()
        self.post_message(self.Left(self._question))
