"""The keys at the foot of the screen are all there and whole, whatever the width."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.cli.stepper.stepper_lab import loop_run
from textual.binding import Binding

from penstock._cli.stepper.app import StepperApp
from penstock._cli.stepper.keys import Keys, label_of, laid_out

SHOWN = [label_of(each) for each in StepperApp.BINDINGS if isinstance(each, Binding) and each.show]


def screen_of(app: StepperApp) -> list[str]:
    """Return what is on the screen, line by line."""
    return ["".join(segment.text for segment in line) for line in app.screen._compositor.render_strips()]


async def screen(run_path: Path, width: int) -> tuple[list[str], int]:
    app = StepperApp(loop_run(run_path))
    async with app.run_test(size=(width, 30)) as pilot:
        await pilot.pause()
        return screen_of(app), app.query_one(Keys).size.height


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140, 200])
def test_every_key_is_whole_at_every_width(width: int, tmp_path: Path) -> None:
    lines, height = asyncio.run(screen(tmp_path, width))
    foot = "\n".join(lines[-height:])
    assert all(label in foot for label in SHOWN), foot
    assert all(len(line.rstrip()) <= width for line in lines)


def test_a_click_on_a_key_does_what_it_does(tmp_path: Path) -> None:
    async def clicked() -> str:
        app = StepperApp(loop_run(tmp_path))
        async with app.run_test(size=(60, 30)) as pilot:
            await pilot.pause()
            await pilot.click(Keys, offset=(1, 0))
            await pilot.pause()
            return type(app.screen).__name__

    assert SHOWN[0] == "? Help"
    assert asyncio.run(clicked()) == "Help"


def test_labels_are_never_cut() -> None:
    assert laid_out(["? Help", "q Quit", "r Redo"], 14) == [["? Help", "q Quit"], ["r Redo"]]
    assert laid_out(["? Help"], 3) == [["? Help"]]
