"""A report of a trace that a stranger wrote: its texts are shown as they are, and nothing in them is run."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page
from tests.browser.little_report import little_report, with_every_text
from tests.browser.report_reading import OpenReport, present_step, press

from penstock._report.page import render

HOSTILE = {
    "a script": "<script>document.title = 'taken'; window.taken = true</script>",
    "an end of the data": "</script><script>window.taken = true</script><!--",
    "an image with a handler": "<img src=x onerror='window.taken = true'>\"><svg onload=window.taken=true>",
    "a slot of the page": "{{script}}{{document}}",
}
WIDTH = 1400


def walked_through(page: Page) -> Page:
    """Use every part of the page once."""
    press(page, "Home", *["ArrowRight"] * 6, "v", "c", "f")
    page.locator(".topology .node").first.click()
    press(page, "c", "r", "r", "w")
    page.get_by_label("Search the steps").fill("script")
    page.keyboard.press("Enter")
    return page


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_nothing_that_a_document_says_is_run(text: str, open_report: OpenReport) -> None:
    page = walked_through(open_report(with_every_text(little_report(), text)))
    assert page.evaluate("window.taken") is None
    assert page.locator("h1").inner_text() == f"A little run{text}"
    assert text in page.locator("#verdict").inner_text()
    assert text in page.locator("#steps .current").inner_text()
    assert page.locator("body img, body iframe, body object").count() == 0


def test_long_texts_stay_in_their_places(open_report: OpenReport) -> None:
    page = walked_through(open_report(with_every_text(little_report(), "x" * 5000)))
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTH
    for card in page.locator(".workbench .card").all():
        box = card.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= WIDTH
    assert present_step(page) >= 0


def test_a_page_may_run_its_own_script_alone_and_ask_nobody() -> None:
    page = render(little_report())
    policy = page.partition('Content-Security-Policy" content="')[2].partition('"')[0]
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe" not in policy
    served = render(little_report(served=True))
    assert "connect-src 'self'" in served


def test_the_data_cannot_end_its_element() -> None:
    page = render(with_every_text(little_report(), "</script><!--<script>"))
    data = page.partition('id="document">')[2].partition("</script>")[0]
    assert "<" not in data
    assert page.count("<script") == 2


VIOLATED = {
    "result": "violated",
    "told": "A violation was found.",
    "reasons": [],
    "next_steps": [],
    "judged": True,
}
BOUNDED = {**VIOLATED, "result": "bounded", "told": "No violation found, but 5 seconds."}
UNJUDGED = {**BOUNDED, "judged": False}


@pytest.mark.parametrize(
    "more",
    [
        {"cut_short": True},
        {"conclusion": VIOLATED},
        {"conclusion": BOUNDED},
        {"conclusion": UNJUDGED},
        {"conclusion": None},
    ],
    ids=["cut", "violated", "bounded", "unjudged", "not known"],
)
def test_a_trace_that_lost_its_verdict_is_not_called_clean(
    more: dict[str, Any], open_report: OpenReport
) -> None:
    page = open_report(little_report(verdict=None, **more))
    said = page.locator("#verdict").inner_text()
    assert "✓" not in said and "?" in said
