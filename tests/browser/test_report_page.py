"""A report of each engine, opened and used with a pointer."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.browser.report_reading import (
    OpenReport,
    lines_drawn,
    listed_steps,
    pixels_of,
    present_step,
    press,
    settled,
    state_after,
    steps_drawn,
)

ENGINES = ["check", "verify", "fuzz", "minimised"]
Reports = dict[str, dict[str, Any]]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_report_opens_at_what_was_broken(engine: str, reports: Reports, open_report: OpenReport) -> None:
    document = reports[engine]
    page = open_report(document)

    verdict = page.locator("#verdict").inner_text()
    assert document["verdict"]["property"] in verdict
    assert document["verdict"]["message"] in verdict
    assert present_step(page) == document["verdict"]["step"]
    assert page.locator("#steps .current").get_attribute("id") == f"step-{document['verdict']['step']}"
    assert f"{len(document['steps'])} steps" in page.locator("#badges").inner_text()
    assert pixels_of(page, "--bad") > 10


@pytest.mark.parametrize("engine", ENGINES)
def test_stepping_shows_each_step_in_words_and_its_changes(
    engine: str, reports: Reports, open_report: OpenReport
) -> None:
    document = reports[engine]
    texts = document["strings"]
    page = open_report(document, "#0")
    assert present_step(page) == 0

    for step in document["steps"][:6]:
        press(page, "ArrowRight")
        assert present_step(page) == step["n"]
        assert texts[step["title"]] in page.locator("#steps .current").inner_text()
        added = sum(len(change[3]) for change in step["changes"])
        removed = sum(len(change[2]) for change in step["changes"])
        assert page.locator("#state .added").count() == added
        assert page.locator("#state .removed").count() == removed

    page.get_by_role("button", name="Step back").click()
    assert present_step(page) == document["steps"][4]["n"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_switch_opens_and_shows_what_it_holds_at_the_step(
    engine: str, reports: Reports, open_report: OpenReport
) -> None:
    document = reports[engine]
    last = document["steps"][-1]["n"]
    page = open_report(document, f"#{last}")

    page.locator(".topology .node[data-name=s2], .topology .node[data-name=s1]").last.click()
    name = page.locator("#component").input_value()
    assert page.locator("#state h3").first.inner_text().startswith(name)
    for section in ("ports", "flow table 0"):
        expected = state_after(document, last, name, section)
        part = page.locator("#state details").filter(has=page.locator(f'summary:text("{section}")'))
        shown = [text.strip() for text in part.locator("li:not(.removed) .text").all_inner_texts()]
        assert sorted(text.replace("→", "->") for text in shown) == sorted(expected)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_diagram_zooms_moves_and_selects(engine: str, reports: Reports, open_report: OpenReport) -> None:
    document = reports[engine]
    page = open_report(document)
    page.get_by_role("button", name="all", exact=True).click()
    settled(page)
    numbers = [step["n"] for step in document["steps"]]
    assert steps_drawn(page) == (numbers[0], numbers[-1])

    box = page.locator("#canvas").bounding_box()
    assert box is not None
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*middle)
    for _ in range(4):
        page.mouse.wheel(0, -400)
    settled(page)
    first, last = steps_drawn(page)
    assert last - first < len(numbers) - 1

    page.mouse.down()
    page.mouse.move(middle[0] + 200, middle[1], steps=4)
    page.mouse.up()
    settled(page)
    assert steps_drawn(page)[0] < first
    assert present_step(page) == document["verdict"]["step"], "a drag selects nothing"

    page.mouse.click(box["x"] + box["width"] * 0.5, middle[1])
    first, last = steps_drawn(page)
    assert first <= present_step(page) <= last


def test_only_what_led_to_the_violation_is_left(reports: Reports, open_report: OpenReport) -> None:
    document = reports["fuzz"]
    page = open_report(document)
    page.get_by_label("Only what led to the violation").check()
    led = [step["n"] for step in document["steps"] if step["relevant"] or step["kind"] == "violated"]

    assert page.locator("#steps-count").inner_text() == f"{len(led)} of {len(document['steps'])} steps"
    page.get_by_role("button", name="Beginning").click()
    for number in led[:4]:
        press(page, "j")
        assert present_step(page) == number


def test_filters_by_component_kind_and_packet(reports: Reports, open_report: OpenReport) -> None:
    document = reports["check"]
    texts, lanes = document["strings"], document["lanes"]
    broken = document["verdict"]["step"]
    page = open_report(document)
    page.get_by_role("button", name="Filter").click()

    page.locator("#filters").get_by_role("button", name="s1", exact=True).click()
    of_s1 = [each["n"] for each in document["steps"] if lanes[each["lane"]] == "s1" or each["n"] == broken]
    assert listed_steps(page) == of_s1
    settled(page)
    assert lines_drawn(page) == 1
    page.get_by_role("button", name="Show all steps").click()
    assert page.locator("#steps-count").inner_text() == f"{len(document['steps'])} steps"

    page.locator("#filters").get_by_role("button", name="controller").click()
    of_kind = [each["n"] for each in document["steps"] if each["kind"] == "controller" or each["n"] == broken]
    assert listed_steps(page) == of_kind
    page.get_by_role("button", name="Show all steps").click()

    page.get_by_label("Which packet").select_option(label="h1#1")
    of_packet = [
        each["n"]
        for each in document["steps"]
        if each["n"] == broken or (each["packet"] is not None and texts[each["packet"]] == "h1#1")
    ]
    assert listed_steps(page) == of_packet
    assert 2 < len(of_packet) < len(document["steps"])


def test_search_finds_words_and_goes_from_one_to_the_next(reports: Reports, open_report: OpenReport) -> None:
    document = reports["check"]
    texts = document["strings"]
    page = open_report(document, "#0")

    def says(step: dict[str, Any]) -> bool:
        told = [step["title"], *step["told"], *step["events"], *step["lost"]]
        told += [text for text in (step["message"], step["packet"]) if text is not None]
        return any("packetout" in texts[text].lower() for text in told)

    found = [step["n"] for step in document["steps"] if says(step)]
    page.get_by_label("Search the steps").fill("packetOUT")
    for number in [*found, found[0]]:
        page.keyboard.press("Enter")
        assert present_step(page) == number
    page.keyboard.press("Shift+Enter")
    assert present_step(page) == found[-1]
    assert page.locator("#search-count").inner_text() == f"{len(found)} of {len(found)}"


def test_the_address_keeps_the_step(reports: Reports, open_report: OpenReport) -> None:
    page = open_report(reports["check"], "#7")
    assert present_step(page) == 7
    press(page, "j", "j")
    expect(page).to_have_url(re.compile("#9$"))
    page.evaluate("location.hash = '#3'")
    expect(page.locator("#position")).to_have_text(re.compile("^3 "))


def test_a_minimised_run_tells_before_and_after(reports: Reports, open_report: OpenReport) -> None:
    document = reports["minimised"]
    found = document["minimised"]
    page = open_report(document)
    part = page.get_by_role("region", name="Before and after")
    assert f"{found['before']['inputs']} → {found['after']['inputs']}" in part.inner_text()
    assert part.get_by_role("img").get_attribute("aria-label")
    kept = part.locator("li.kept .text").all_inner_texts()
    assert kept == [document["strings"][text] for text in found["inputs_after"]]

    dropped = part.locator("li.dropped")
    assert dropped.count() == found["before"]["inputs"] - found["after"]["inputs"]
    expect(dropped.first).to_be_hidden()
    part.get_by_role("button", name="dropped").click()
    expect(dropped.first).to_be_visible()


def test_a_fuzzing_run_tells_its_inputs_by_kind(reports: Reports, open_report: OpenReport) -> None:
    document = reports["fuzz"]
    part = open_report(document).get_by_role("region", name="The run in numbers")
    for kind, count in document["summary"]["by_kind"].items():
        row = part.locator(".before-after").filter(has_text=kind).first
        assert row.inner_text().split() == [kind, str(count)]


def test_a_search_tells_what_was_covered(reports: Reports, open_report: OpenReport) -> None:
    document = reports["check"]
    covered = document["coverage"]
    assert covered is not None
    part = open_report(document).get_by_role("region", name="What was searched")
    assert f"{covered['states']:,}" in part.locator(".tiles").inner_text()
    for judged in covered["properties"]:
        assert judged["name"] in part.inner_text()
    for text in covered["not_covered"]:
        assert text in part.inner_text()
