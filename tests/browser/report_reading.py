"""What a reader of an open report sees, asked for in the words of the tests."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page

OpenReport = Callable[..., Page]
"""What the fixture `open_report` gives: a document, perhaps an address and options, becomes an open page."""


def present_step(page: Page) -> int:
    """Return the number of the step that is shown; 0 is the beginning."""
    shown = page.locator("#position").inner_text()
    return 0 if shown.startswith("beginning") else int(shown.split()[0])


def steps_drawn(page: Page) -> tuple[int, int]:
    """Return the first and last step that the space-time diagram shows."""
    told = page.locator("#canvas").get_attribute("aria-label") or ""
    numbers = re.search(r"steps (\d+) to (\d+)", told)
    assert numbers, told
    return int(numbers[1]), int(numbers[2])


def lines_drawn(page: Page) -> int:
    """Return how many components have a line in the space-time diagram."""
    told = page.locator("#canvas").get_attribute("aria-label") or ""
    found = re.search(r"on (\d+) lines?", told)
    assert found, told
    return int(found[1])


def settled(page: Page) -> None:
    """Wait until what was asked for is drawn: two frames have passed."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def press(page: Page, *keys: str) -> None:
    """Press keys one after the other, and wait until all is drawn."""
    for key in keys:
        page.keyboard.press(key)
    settled(page)


def listed_steps(page: Page) -> list[int]:
    """Return the numbers of the steps that are in the list now."""
    return [int(text) for text in page.locator("#steps .step .number").all_inner_texts()]


def pixels_of(page: Page, colour: str) -> int:
    """Return how many pixels of the diagram have a colour of the theme, as `--bad`."""
    count: int = page.evaluate(
        """(name) => {
            const canvas = document.getElementById("canvas");
            const copy = document.createElement("canvas");
            [copy.width, copy.height] = [canvas.width, canvas.height];
            const probe = copy.getContext("2d", { willReadFrequently: true });
            probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name);
            probe.fillRect(0, 0, 1, 1);
            const [red, green, blue] = probe.getImageData(0, 0, 1, 1).data;
            probe.clearRect(0, 0, 1, 1);
            probe.drawImage(canvas, 0, 0);
            const { data } = probe.getImageData(0, 0, canvas.width, canvas.height);
            let count = 0;
            for (let at = 0; at < data.length; at += 4) {
                const isAlike = data[at] === red && data[at + 1] === green && data[at + 2] === blue;
                if (isAlike && data[at + 3] > 200) count++;
            }
            return count;
        }""",
        colour,
    )
    return count


def state_after(document: dict[str, Any], step: int, component: str, section: str) -> list[str]:
    """Return the lines of a section after a step, computed here from the document alone."""
    texts = document["strings"]
    held = [
        texts[line]
        for name, part, lines in document["start"]
        for line in lines
        if (texts[name], texts[part]) == (component, section)
    ]
    for each in document["steps"]:
        if each["n"] > step:
            break
        for name, part, removed, added in each["changes"]:
            if (texts[name], texts[part]) == (component, section):
                for line in removed:
                    held.remove(texts[line])
                held += [texts[line] for line in added]
    return held
