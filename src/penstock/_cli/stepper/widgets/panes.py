"""A pane: a frame with a title around one thing to look at."""

from __future__ import annotations

from textual.containers import Vertical
from textual.content import Content


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
