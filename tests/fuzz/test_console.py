"""A person at the console: looks around, does something by hand, goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.fuzz.fuzz_lab import fuzzing, opened, perform, scenario, written

from penstock._cli.fuzzing import HELP, Console, converse
from penstock._fuzz.fuzzing import Fuzzing
from penstock._fuzz.invariants import invariants_of
from penstock.errors import PenstockError


@pytest.fixture
def run(tmp_path: Path) -> Fuzzing:
    stage = opened(tmp_path, scenario(topology="linear,2", fuzz={"events": 60, "seed": 3}))
    return fuzzing(stage, invariants=invariants_of(stage))


def obey(run: Fuzzing, words: str) -> str:
    return "\n".join(asyncio.run(Console(run).obey(words)))


def typed(run: Fuzzing, lines: Iterable[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Type lines until there are no more, and return what was printed."""
    left = iter(lines)

    async def ask() -> str:
        try:
            return next(left)
        except StopIteration:
            raise EOFError from None

    asyncio.run(converse(run, ask=ask))
    return capsys.readouterr().out


class TestLooking:
    def test_help_names_every_command(self, run: Fuzzing) -> None:
        assert obey(run, "help") == HELP
        for command in ("go", "can", "flows", "look", "queues", "path", "check", "found", "quit"):
            assert f"\n  {command}" in f"\n{HELP}"

    def test_can_tells_what_is_possible_and_only_that(self, run: Fuzzing) -> None:
        told = obey(run, "can").splitlines()
        assert "links up: h1-s1, h2-s2, s1-s2" in told
        assert "controllers up: c0" in told and "sessions up: s1-c0, s2-c0" in told
        assert any(line.startswith("moves: h1 to s1:3") for line in told)
        assert not [line for line in told if "cut" in line or "off" in line or "held" in line]
        perform(run.stage, "fail s1-s2", "fail s2", "crash c0", "hold h1:0")
        told = obey(run, "can").splitlines()
        for line in ("links cut: s1-s2", "switches off: s2", "controllers down: c0", "held: h1:0"):
            assert line in told

    def test_flows_are_the_rules_of_a_switch(self, run: Fuzzing) -> None:
        assert obey(run, "flows s1") == "table 0: priority=0 any -> output:controller"
        perform(run.stage, "fail s1", "wait 1")
        assert obey(run, "flows s1") == "s1 is off\ns1 has no rules"

    def test_look_shows_a_component(self, run: Fuzzing) -> None:
        assert obey(run, "look s1").startswith("SwitchState(")
        assert "HostState" in obey(run, "look h1")

    def test_queues_are_what_is_in_flight(self, run: Fuzzing) -> None:
        assert obey(run, "queues") == "nothing is in flight"
        perform(run.stage, "hold h1:0", "wait 1", "send h1 to h2 arp", "wait 1")
        assert obey(run, "queues") == "h1:0 (held): [ARP who has 10.0.0.2 tell 10.0.0.1]"
        perform(run.stage, "hold s1:c0")
        assert "s1:c0 (held): empty" in obey(run, "queues")

    @pytest.mark.parametrize(
        ("words", "packet"), [("h2", "ICMP"), ("h2 tcp", "TCP"), ("everybody arp", "ARP who")]
    )
    def test_a_path_is_told_without_anything_happening(self, run: Fuzzing, words: str, packet: str) -> None:
        before = written(run.stage)
        told = obey(run, f"path h1 {words}").splitlines()
        assert told[0].startswith("  1. A frame is injected on the link out of h1:0: ") and packet in told[0]
        assert told[1].startswith("  2. s1 gets ") and "sends a packet-in to controller c0" in told[-1]
        assert written(run.stage) == before and run.outcome.inputs == 0

    def test_found_lists_what_was_found(self, run: Fuzzing) -> None:
        assert obey(run, "found") == "nothing yet"
        obey(run, "forget s1 1")
        assert obey(run, "found").count("NoBlackHoles is violated") >= 1


class TestDoing:
    def test_inputs_typed_by_hand_are_recorded_like_all_others(self, run: Fuzzing) -> None:
        assert obey(run, "fail s1-s2") == "done"
        assert obey(run, "recover s1-s2") == "done"
        assert obey(run, "send h1 to h2 ping") == "done"
        assert obey(run, "check") == "done"
        texts = [line.text for line in written(run.stage).inputs]
        assert texts == ["fail s1-s2", "recover s1-s2", "send h1 to h2 ping 1", "check"]
        assert run.outcome.inputs == 4

    def test_what_an_input_brought_to_light_is_told_at_once(self, run: Fuzzing) -> None:
        told = obey(run, "forget s1 1")
        assert "NoBlackHoles is violated (not yet persistent)" in told and "after" in told

    @pytest.mark.parametrize(
        ("words", "sentence"),
        [
            ("dance", "'dance' is neither a command nor an input: type help"),
            ("", "'' is neither a command nor an input"),
            ("flows", "'flows': ''; see help"),
            ("flows s1 s2", "'flows': 's1 s2'"),
            ("help me", "invalid arguments of 'help'"),
            ("flows h1", "h1 is not a switch: choose s1, s2"),
            ("flows s9", "s9"),
            ("look nobody", "nobody"),
            ("path h1 h9", "h9"),
            ("path h9 h1", "h9"),
            ("path h1 h2 song", "song"),
            ("fail", "fail"),
            ("fail s1-s9", "s1-s9"),
            ("recover s1-s2", "recover s1-s2"),
            ("send h1", "send"),
            ("inject h1:0 xyz", "xyz"),
            ("move h1 to s9:1", "s9:1"),
            ("wait long", "long"),
        ],
    )
    def test_bad_words_are_answered_in_a_sentence_and_leave_no_trace(
        self, run: Fuzzing, words: str, sentence: str
    ) -> None:
        with pytest.raises(PenstockError, match=sentence):
            obey(run, words)
        assert written(run.stage).inputs == ()


class TestConversing:
    def test_go_goes_on_for_so_many_inputs(self, run: Fuzzing, capsys: pytest.CaptureFixture[str]) -> None:
        printed = typed(run, ["go 10", "wait 1", "go 5", "quit", "go 5"], capsys)
        assert "10 inputs so far" in printed and "\ndone\n" in printed
        assert 16 <= run.outcome.inputs <= 25  # waiting to see what lasts counts too
        assert run.outcome.stopped_by == "the user"

    def test_go_alone_goes_to_the_end(self, run: Fuzzing, capsys: pytest.CaptureFixture[str]) -> None:
        printed = typed(run, ["go", "go"], capsys)
        assert run.outcome.inputs >= 60
        assert printed.count("inputs so far") == 2

    def test_bad_words_do_not_end_the_conversation(
        self, run: Fuzzing, capsys: pytest.CaptureFixture[str]
    ) -> None:
        printed = typed(run, ["go away", f"go {'9' * 10}", "dance", "", "can", "q"], capsys)
        assert "'away' is not a number of inputs: type go, or go 100." in printed
        assert "'dance' is neither a command nor an input" in printed
        assert "links up" in printed

    @pytest.mark.parametrize("word", ["quit", "q", "exit", None])
    def test_a_conversation_ends_by_a_word_or_when_there_is_no_more(
        self, run: Fuzzing, capsys: pytest.CaptureFixture[str], word: str | None
    ) -> None:
        printed = typed(run, [] if word is None else [word, "fail s1"], capsys)
        assert printed == "The network is ready; 'help' tells what can be typed.\n"
        assert run.outcome.stopped_by == "the user" and run.outcome.inputs == 0
