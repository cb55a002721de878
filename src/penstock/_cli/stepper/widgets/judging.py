"""The pane of the properties: which hold, which are broken and how, and where the run will stop."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from penstock._base.clean_text import visible
from penstock._cli.stepper.model import Run
from penstock._cli.stepper.widgets.panes import Pane


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
        self.entitle(f"Properties ({len(broken)} broken)" if broken else "Properties")
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
