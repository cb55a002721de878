"""The line at the bottom in which something is typed: a search, a breakpoint, a file's name."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Label


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
