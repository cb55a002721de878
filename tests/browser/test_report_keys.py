"""A report used without a mouse, and what a screen reader is told of it."""

from __future__ import annotations

from playwright.sync_api import expect
from tests.browser.little_report import little_report
from tests.browser.report_reading import OpenReport, present_step, press, settled, steps_drawn


def test_keys_step_through_the_run(open_report: OpenReport) -> None:
    page = open_report(little_report())
    assert present_step(page) == 6
    for keys, step in [
        (["Home"], 0),
        (["ArrowRight"], 1),
        (["j"], 2),
        (["ArrowDown"], 3),
        (["k"], 2),
        (["ArrowLeft", "ArrowUp"], 0),
        (["End"], 6),
        (["PageUp"], 0),
        (["v"], 6),
    ]:
        press(page, *keys)
        assert present_step(page) == step, keys


def test_c_goes_to_the_next_change_of_the_chosen_component(open_report: OpenReport) -> None:
    page = open_report(little_report(), "#0")
    page.get_by_label("What changed, or a component").select_option("s1")
    page.locator("#steps").focus()
    press(page, "c")
    assert present_step(page) == 2
    press(page, "c")
    assert present_step(page) == 4
    assert page.locator("#state .added .text").inner_text() == "priority=1 any → output:2"
    press(page, "c")
    assert present_step(page) == 2, "after the last comes the first"


def test_space_plays_and_stops(open_report: OpenReport) -> None:
    page = open_report(little_report(), "#0")
    page.get_by_label("Speed").select_option("20")
    page.locator("#steps").focus()
    press(page, "Space")
    expect(page.locator("#position")).to_have_text("6 of 6")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_plus_and_minus_zoom_the_diagram(open_report: OpenReport) -> None:
    page = open_report(little_report(), viewport={"width": 360, "height": 800})
    press(page, "0")
    assert steps_drawn(page) == (1, 6)
    press(page, "+", "+", "+", "+")
    first, last = steps_drawn(page)
    assert last - first < 5
    press(page, "-", "-", "-", "-", "-")
    assert steps_drawn(page) == (1, 6)


def test_slash_searches_and_escape_leaves(open_report: OpenReport) -> None:
    page = open_report(little_report(), "#0")
    press(page, "/")
    page.keyboard.type("FlowMod.")
    page.keyboard.press("Enter")
    assert present_step(page) == 4
    page.keyboard.press("Escape")
    expect(page.locator("#search")).to_have_value("")
    expect(page.locator("#steps")).to_be_focused()


def test_f_filters_by_keys_alone(open_report: OpenReport) -> None:
    page = open_report(little_report())
    press(page, "f")
    expect(page.locator("#filters button").first).to_be_focused()
    press(page, "Tab", "Tab", "Enter")
    assert page.locator("#steps-count").inner_text() == "3 of 6 steps"
    expect(page.locator("#filters").get_by_role("button", name="s1", exact=True)).to_be_focused()
    press(page, "Escape")
    expect(page.locator("#filters")).to_be_hidden()


def test_a_node_opens_by_enter(open_report: OpenReport) -> None:
    page = open_report(little_report(), "#4")
    page.locator(".topology .node[data-name=s1]").focus()
    press(page, "Enter")
    assert page.locator("#component").input_value() == "s1"
    assert "flow table 0" in page.locator("#state").inner_text()


def test_a_question_mark_opens_the_help(open_report: OpenReport) -> None:
    page = open_report(little_report())
    press(page, "?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    press(page, "Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()


def test_every_control_has_a_name_and_shows_that_it_has_the_focus(open_report: OpenReport) -> None:
    page = open_report(little_report())
    press(page, "f")
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, select, input, [role=button], canvas")]
            .filter((each) => each.checkVisibility())
            .filter((each) => !(each.ariaLabel || each.textContent.trim() || each.labels?.[0]?.textContent))
            .map((each) => each.outerHTML)"""
    )
    assert nameless == []
    page.locator("#forward").focus()
    press(page, "Tab", "Shift+Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_the_list_tells_a_screen_reader_where_it_is(open_report: OpenReport) -> None:
    page = open_report(little_report(), "#3")
    current = page.get_by_role("listbox").get_by_role("option", selected=True)
    expect(current).to_have_attribute("aria-posinset", "3")
    expect(current).to_have_attribute("aria-setsize", "6")
    assert page.locator("#steps").get_attribute("aria-activedescendant") == "step-3"
    press(page, "j")
    expect(page.locator("#announcer")).to_have_text("Step 4: s1 handles the FlowMod.")


def test_ids_are_unique_and_labels_lead_somewhere(open_report: OpenReport) -> None:
    page = open_report(little_report())
    settled(page)
    twice, lost = page.evaluate(
        """() => {
            const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
            const led = ["aria-labelledby", "aria-controls", "for"].flatMap((name) =>
                [...document.querySelectorAll(`[${name}]`)].map((each) => each.getAttribute(name)));
            return [ids.filter((id, at) => ids.indexOf(id) !== at), led.filter((id) => !ids.includes(id))];
        }"""
    )
    assert twice == []
    assert lost == []
