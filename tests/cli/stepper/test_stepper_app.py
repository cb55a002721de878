"""The full-screen program, used by somebody at the keyboard."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from rich.console import Console
from tests.cli.stepper.stepper_lab import (
    EXAMPLES,
    WIDE,
    Person,
    at_the_keyboard,
    balancer_run,
    loop_run,
    loop_scenario,
    types,
    until,
)
from textual.widgets import Input, Static

from penstock._check.check import check
from penstock._cli.stepper.app import StepperApp
from penstock._cli.stepper.keys import Help
from penstock._cli.stepper.model import MOST_ON, PacketBreak, PropertyBreak, Run, run_of_trace
from penstock._cli.stepper.panes import Choosing, Inside, LineList, Pane, Story
from penstock._replay.replaying import replay
from penstock._scenario.scenario import load_scenario

PANES = ["choices", "story", "picture", "inside", "changes", "judging"]


def story(app: StepperApp) -> str:
    return "\n".join(line.text for line in app.query_one(Story).steps.lines)


def drawing(app: StepperApp) -> str:
    return "\n".join(line.text for line in app.query_one("#drawn", LineList).lines)


def text_of(app: StepperApp, name: str) -> str:
    """Return what a part of the screen shows, as text."""
    page = Console(width=200)
    with page.capture() as captured:
        page.print(app.query_one(name, Static).content)
    return captured.get()


def said(app: StepperApp) -> list[str]:
    """Return what the program has told the person so far."""
    return [notification.message for notification in app._notifications]


def seen(app: StepperApp) -> set[str]:
    """Return the panes that can be seen."""
    return {str(pane.id) for pane in app.query(Pane) if pane.region.area and pane.is_on_screen}


# Going.


def test_steps_are_taken_undone_and_redone() -> None:
    async def does(app: StepperApp, person: Person) -> None:
        run = app.steered
        await person.press("enter", "enter", "enter")
        assert run.at == 3
        assert "Controller c0 handles s1's packet-in" in story(app)
        assert "├───►●" in drawing(app)
        await person.press("u")
        await person.press("backspace")
        assert run.at == 1
        assert "2 steps ahead" in str(app.query_one(Story).border_title)
        await person.press("r", "r")
        assert run.at == 3
        await person.press("r")
        assert said(app) == ["There is nothing to redo: no step was undone."]

    at_the_keyboard(balancer_run(), does, size=WIDE)


def test_an_example_scenario_without_given_traffic_is_stepped_through() -> None:
    async def does(app: StepperApp, person: Person) -> None:
        await person.press("enter", "enter")
        assert app.steered.at == 2
        assert "s1 gets h1#1" in story(app)

    at_the_keyboard(Run(load_scenario(EXAMPLES / "scenarios" / "delayed_path.toml")), does)


def test_the_chosen_transition_is_the_one_that_is_taken(tmp_path: Path) -> None:
    async def does(app: StepperApp, person: Person) -> None:
        await person.press("enter")
        words = [choice.words for choice in app.query_one(Choosing).shown]
        await person.press(*["down"] * words.index("The link out of h1:0 loses h1#1"), "enter")
        assert str(app.steered.records[-1].transition) == "drop h1:0"
        assert "lost: h1#1" in drawing(app)

    at_the_keyboard(loop_run(tmp_path), does, size=WIDE)


def test_a_step_of_the_story_is_jumped_to_from_the_list_and_by_number(tmp_path: Path) -> None:
    async def does(app: StepperApp, person: Person) -> None:
        await person.press(*["enter"] * 5, "tab")
        await person.pause()
        await person.press("up", "up", "up", "enter")
        await person.pause()
        assert app.steered.at == 2
        await person.press("j")
        await types(person, "4")
        assert app.steered.at == 4
        await person.press("j")
        await types(person, "99")
        assert app.steered.at == 4
        assert said(app) == ["There is no step 99: the run has 5."]

    at_the_keyboard(loop_run(tmp_path), does)


# Filtering and searching.


def test_typing_narrows_what_can_happen_down_and_enter_takes_it(tmp_path: Path) -> None:
    async def does(app: StepperApp, person: Person) -> None:
        await person.press("enter", "f", *"loses")
        await person.pause()
        assert [choice.node for choice in app.query_one(Choosing).shown] == ["fabric"]
        await person.press("enter")
        await person.pause()
        assert str(app.steered.records[-1].transition) == "drop h1:0"
        await person.press("u", "f", *"xyz")
        await person.pause()
        assert app.query_one(Choosing).shown == []
        await person.press("escape")
        await person.pause()
        assert len(app.query_one(Choosing).shown) == 2

    at_the_keyboard(loop_run(tmp_path), does)


def test_a_search_finds_one_place_after_the_other_and_the_letters_are_no_commands(tmp_path: Path) -> None:
    async def does(app: StepperApp, person: Person) -> None:
        await person.press(*["enter"] * 6)
        at = app.steered.at
        await person.press("slash")
        await types(person, "'s packet-in")
        steps = app.query_one(Story).steps
        first = steps.cursor
        assert app.focused is steps
        assert app.steered.at == at
        await person.press("n")
        second = steps.cursor
        await person.press("N")
        assert steps.cursor == first
        places = {line.step for line in steps.lines if "'s packet-in" in line.text}
        assert {first, second} <= places
        assert len(places) == 2
        await person.press("slash")
        await types(person, "nowhere")
        assert said(app) == ["Not found in the story: / searches for something else."]

    at_the_keyboard(loop_run(tmp_path), does)


# Breakpoints.


def test_a_run_goes_on_to_a_broken_property(tmp_path: Path) -> None:
    async def does(app: StepperApp, person: Person) -> None:
        await person.press("g")
        await until(person, lambda: bool(said(app)))
        assert said(app)[0].endswith("NoForwardingLoops is violated.")
        assert "✗ NoForwardingLoops" in text_of(app, "#verdicts")
        assert "✗" in drawing(app)

    at_the_keyboard(loop_run(tmp_path), does, size=WIDE)


def test_a_run_goes_on_to_a_packet_at_a_component(tmp_path: Path) -> None:
    async def does(app: StepperApp, person: Person) -> None:
        await person.press("B", "b")
        await types(person, "h1#1 at s3")
        assert app.steered.breakpoints == [PacketBreak("h1#1", "s3")]
        assert "h1#1 reaches s3" in text_of(app, "#verdicts")
        await person.press("g")
        await until(person, lambda: said(app)[-1].endswith("h1#1 reached s3."))
        assert app.steered.records[-1].node == "s3"
        await person.press("b")
        await types(person, "h1#1 at s9")
        assert said(app)[-1].startswith("There is no 's9' to stop at")
        await person.press("b")
        await types(person, "h1#1 at s3")
        assert app.steered.breakpoints == []

    at_the_keyboard(loop_run(tmp_path), does)


def test_a_run_at_random_says_its_seed_and_takes_another_each_time(tmp_path: Path) -> None:
    async def does(app: StepperApp, person: Person) -> None:
        ends = []
        for seed in (1, 2):
            app.steered.go_to(0)
            await person.press("a")
            await until(person, lambda: any(f"seed {seed}" in text for text in said(app)))  # noqa: B023
            ends.append([str(record.transition) for record in app.steered.records])
        assert ends[0] != ends[1]

    at_the_keyboard(loop_run(tmp_path), does)


def test_going_on_can_be_stopped(tmp_path: Path) -> None:
    async def does(app: StepperApp, person: Person) -> None:
        app.steered.breakpoints.clear()
        # A press waits until the program is idle, and by then the run may have come to its end by itself.
        app.simulate_key("g")
        while app.steered.at <= 3:
            await asyncio.sleep(0)
        app.simulate_key("escape")
        await person.pause()
        at = app.steered.at
        assert at < MOST_ON
        for _ in range(20):
            await person.pause()
        assert app.steered.at == at

    at_the_keyboard(loop_run(tmp_path), does)


# Looking.


def test_the_state_follows_who_acts_until_a_component_is_chosen(tmp_path: Path) -> None:
    async def does(app: StepperApp, person: Person) -> None:
        inside = app.query_one(Inside)
        await person.press("enter")
        assert inside.selected == "h1"
        await person.press("enter")
        await person.pause()
        assert inside.selected == "s1"
        assert "output:controller" in text_of(app, "#sections")
        await person.press("enter")
        await person.pause()
        assert inside.selected == "c0"
        assert "seen = 1" in text_of(app, "#sections")
        assert "- seen = 0" in text_of(app, "#differences").replace("−", "-")
        await person.press("right_square_bracket")
        await person.pause()
        assert inside.selected == "h1"
        await person.press("enter")
        await person.pause()
        assert inside.selected == "h1"

    at_the_keyboard(loop_run(tmp_path), does)


def test_a_controller_that_raises_is_shown_as_a_violation(tmp_path: Path) -> None:
    async def does(app: StepperApp, person: Person) -> None:
        await person.press("enter", "enter", "enter")
        assert "ControllerCrash" in text_of(app, "#verdicts")
        assert "raise KeyError(switch)" in story(app)
        assert any("ControllerCrash is violated" in text for text in said(app))
        await person.press("u")
        assert "ControllerCrash" not in text_of(app, "#verdicts")

    at_the_keyboard(loop_run(tmp_path, ("hub.py:Hub", "hub.py:Faulty")), does)


def test_help_is_above_everything_and_goes_away(tmp_path: Path) -> None:
    async def does(app: StepperApp, person: Person) -> None:
        await person.press("question_mark")
        assert isinstance(app.screen, Help)
        await person.press("escape")
        assert not isinstance(app.screen, Help)
        assert app.steered.at == 0

    at_the_keyboard(loop_run(tmp_path), does)


def test_light_and_dark_both_show_everything(tmp_path: Path) -> None:
    async def does(app: StepperApp, person: Person) -> None:
        await person.press("enter", "enter")
        dark = app.export_screenshot()
        await person.press("t")
        await person.pause()
        light = app.export_screenshot()
        assert app.theme == "textual-light"
        assert dark != light
        for screen in (dark, light):
            assert "What&#160;can&#160;happen&#160;next" in screen

    at_the_keyboard(loop_run(tmp_path), does)


# Windows.


def test_a_narrow_window_shows_one_pane_after_the_other(tmp_path: Path) -> None:
    async def does(app: StepperApp, person: Person) -> None:
        shown: list[str] = []
        for _ in range(6):
            assert len(seen(app)) == 1
            shown += seen(app)
            await person.press("tab")
            await person.pause()
        assert shown == PANES
        await person.press("enter")
        await person.pause()
        assert app.steered.at == 1

    at_the_keyboard(loop_run(tmp_path), does, size=(60, 20))


def test_a_window_in_between_shows_the_story_or_the_picture_a_wide_one_all_panes(tmp_path: Path) -> None:
    async def does(app: StepperApp, person: Person) -> None:
        assert "picture" not in seen(app)
        await person.press("p")
        await person.pause()
        assert {"picture", "choices"} <= seen(app)
        assert "story" not in seen(app)
        await person.resize_terminal(*WIDE)
        await until(person, lambda: seen(app) == set(PANES))
        await person.resize_terminal(60, 20)
        await until(person, lambda: len(seen(app)) == 1)
        assert all(len(line.text) <= 60 for line in app.query_one(Story).steps.lines)

    at_the_keyboard(loop_run(tmp_path), does)


# Traces.


def test_a_run_is_written_and_replayed(tmp_path: Path) -> None:
    async def does(app: StepperApp, person: Person) -> None:
        await person.press("g")
        await until(person, lambda: bool(said(app)))
        await person.press("w")
        await person.pause()
        assert app.query_one("#answer", Input).value.endswith("loop-step-1.jsonl")
        await person.press("enter")
        await person.pause()
        assert said(app)[-1].startswith("Written: penstock replay ")

    at_the_keyboard(loop_run(tmp_path), does, folder=tmp_path / "out")
    again = replay(tmp_path / "out" / "loop-step-1.jsonl")
    assert again.reproduced
    assert again.property == "NoForwardingLoops"


@pytest.mark.parametrize("size", [(60, 20), WIDE])
def test_a_trace_is_stepped_through_and_left(tmp_path: Path, size: tuple[int, int]) -> None:
    (finding,) = check(load_scenario(loop_scenario(tmp_path)), output=tmp_path).findings
    assert finding.trace is not None

    async def does(app: StepperApp, person: Person) -> None:
        last = len(finding.records)
        assert app.steered.at == last
        await person.press("j")
        await types(person, "1")
        await person.press("enter")
        await person.pause()
        assert app.steered.at == 2, "the next step of the trace is the one that is chosen"
        assert len(app.steered.moments) == last + 1
        await person.press("u", "f")
        await types(person, "loses")
        assert len(app.steered.moments) == 3
        assert app.steered.breakpoints == [PropertyBreak()]

    at_the_keyboard(run_of_trace(finding.trace), does, size=size)
