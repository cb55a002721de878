"""The keys that steer, at the foot of the screen: as many lines as it takes, and none of them cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.text import Text
from textual.binding import Binding
from textual.events import Click
from textual.geometry import Size
from textual.widget import Widget

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
