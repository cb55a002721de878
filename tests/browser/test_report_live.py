"""A report that is served while its run still goes on: the page follows it, and has the states in the end."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.report_reading import present_step, press

from penstock._report.serving import serving


class GrowingRun:
    """The folder of a run that was recorded, written again line by line."""

    def __init__(self, recorded: Path, folder: Path) -> None:
        self.recorded = recorded
        self.folder = folder
        folder.mkdir()
        shutil.copy(recorded / "scenario.json", folder)
        self.lines = (recorded / "trace.jsonl").read_text().splitlines(keepends=True)
        self.written = 0

    def grow(self, to: int) -> None:
        with (self.folder / "trace.jsonl").open("a") as file:
            file.writelines(self.lines[self.written : to])
        self.written = to

    def end(self) -> None:
        self.grow(len(self.lines))
        shutil.copy(self.recorded / "summary.json", self.folder)


@pytest.fixture
def run(fuzzed: Path, tmp_path: Path) -> GrowingRun:
    growing = GrowingRun(fuzzed, tmp_path / "run")
    growing.grow(41)
    return growing


@pytest.fixture
def page(fuzzed: Path, browser: Browser) -> Iterator[Page]:
    """A page that must not complain."""
    problems: list[str] = []
    opened = browser.new_page(reduced_motion="reduce")
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda message: problems.append(message.text))
    yield opened
    opened.close()
    assert problems == []


def test_a_page_follows_a_run_until_it_ends(run: GrowingRun, page: Page) -> None:
    position = page.locator("#position")
    with serving(run.folder) as (address, _):
        page.goto(address)
        expect(page.locator("#live-badge")).to_have_text("live")
        expect(position).to_have_text(re.compile("^40 of 40"))

        run.grow(81)
        expect(position).to_have_text(re.compile("^80 of 80"))
        assert page.locator("#steps .current").get_attribute("id") == "step-80"

        press(page, "k")
        run.grow(121)
        expect(position).to_have_text(re.compile("^79 of 120"))

        run.end()
        expect(page.locator("#verdict")).to_contain_text("NoBlackHoles is violated")
        expect(page.locator("#live-badge")).to_have_count(0)
        assert present_step(page) == 79
        expect(page.get_by_role("region", name="The run in numbers")).to_be_visible()
        page.locator(".topology .node[data-name=s1]").click()
        expect(page.locator("#state")).to_contain_text("flow table 0")


def test_a_page_waits_for_a_server_that_went_away(run: GrowingRun, browser: Browser) -> None:
    page = browser.new_page()
    with serving(run.folder) as (address, _):
        page.goto(address)
        expect(page.locator("#live-badge")).to_have_text("live")
    expect(page.locator("#live-badge")).to_have_text("waiting")
    with serving(run.folder, port=int(address.rstrip("/").rpartition(":")[2])):
        run.grow(61)
        expect(page.locator("#position")).to_have_text(re.compile("^60 of 60"))
        expect(page.locator("#live-badge")).to_have_text("live")
    page.close()
