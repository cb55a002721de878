"""What must hold during a run: what is wrong for a moment, what lasts, and who is to blame for nothing."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.fuzz_lab import Flooder, fuzzing, opened, perform, scenario
from tests.fuzz.live_lab import live_scenario, on_stage, scripted
from tests.tcp_lab import until

from penstock._controllers.controller import Controller
from penstock._fuzz import installed_rules
from penstock._fuzz.building import build_setting
from penstock._fuzz.fuzzing import Fuzzing, run_folder, stage_of
from penstock._fuzz.harness import Harness
from penstock._fuzz.inputs import input_of
from penstock._fuzz.invariants import DEFAULT, Lasting, Patience, Wires, invariants_of
from penstock._fuzz.judging import Finding
from penstock._fuzz.live_harness import LiveHarness
from penstock._scenario.scenario import Scenario
from penstock._world.transition import Record
from penstock.errors import PenstockError
from penstock.openflow.actions import Output
from penstock.openflow.match import Match
from penstock.openflow.messages import PacketIn, PortNo


class Fixed(Controller):
    """Gives each switch that joins the rules that it was made with: (switch, fields, port)."""

    def __init__(self, *rules: tuple[str, dict[str, int], int | None]) -> None:
        self.rules = rules

    def switch_join(self, switch: str) -> None:
        for place, fields, port in self.rules:
            if place == switch:
                actions = () if port is None else (Output(port),)
                self.install(switch, Match.of(**fields), actions)

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Say nothing."""


class Shadowed(Controller):
    """Two rules that overlap, and one above them for all packets that meet both."""

    def switch_join(self, switch: str) -> None:
        self.install(switch, Match.of(in_port=1), (Output(2),))
        self.install(switch, Match.of(eth_dst=2))
        self.install(switch, Match.of(in_port=1, eth_dst=2), (Output(2),), priority=0xFFFF)


def _ports(text: str) -> list[str]:
    return re.findall(r"from port \d", text)


STRAIGHT = (("s1", {"in_port": 1}, 2), ("s1", {"in_port": 2}, 1))
"""What connects the two hosts of `single,2`."""
ORDERED = scenario(Fixed(*STRAIGHT), topology="single,2", fuzz={"invariants": ["TablesAsOrdered"]})


def watched(folder: Path, given: Scenario) -> Fuzzing:
    """Return a run with the invariants that its scenario names, which see the switches join."""
    stage = stage_of(build_setting(given), run_folder(folder, given))
    run = fuzzing(stage, invariants=invariants_of(stage))
    asyncio.run(stage.open())
    return run


def named(folder: Path, controller: Controller, *invariants: Any, **details: Any) -> Fuzzing:
    """Return a run on which the invariants named are looked at; what is wrong lasts at once."""
    fuzz = {"invariants": list(invariants), "persistent_ms": 0, **details.pop("fuzz", {})}
    return watched(folder, scenario(controller, fuzz=fuzz, **details))


def do(run: Fuzzing, *texts: str) -> list[str]:
    """Perform inputs and return what was found, each as verdict, invariant and message."""
    before = len(run.outcome.findings)
    for text in texts:
        asyncio.run(run.perform(input_of(text)))
    return [told(found.finding) for found in run.outcome.findings[before:]]


def told(finding: Finding) -> str:
    lasts = " for good" if finding.persistent else ""
    return f"{finding.verdict}{lasts} {finding.invariant}: {finding.message}"


class TestPatience:
    @pytest.fixture
    def stage(self, tmp_path: Path) -> Harness:
        return opened(tmp_path, scenario())

    def test_time_counts_while_the_controllers_could_act(self, stage: Harness) -> None:
        patience = Patience(stage)
        assert patience.runs and patience.reach(100) == 100
        assert patience.reach(250) == 250

    @pytest.mark.parametrize(
        ("broken", "mended"),
        [
            ("crash c0", "restart c0"),
            ("disconnect s1-c0", "reconnect s1-c0"),
            ("partition c0", "heal c0"),
            ("hold s2:c0", "release s2:c0"),
            ("hold c0:s2", "release c0:s2"),
            ("delay c0:s1 by 1000", "release c0:s1"),
            ("limit s1 to 1", "unlimit s1"),
        ],
    )
    def test_time_does_not_count_while_they_could_not(self, stage: Harness, broken: str, mended: str) -> None:
        patience = Patience(stage)
        patience.reach(100)
        perform(stage, broken)
        assert not patience.runs
        assert patience.reach(500) == 100
        perform(stage, mended)
        assert patience.reach(600) == 200

    @pytest.mark.parametrize("broken", ["fail s1-s2", "fail s2", "hold s1:2"])
    def test_what_is_broken_elsewhere_is_no_excuse(self, stage: Harness, broken: str) -> None:
        perform(stage, broken)
        assert Patience(stage).runs


class Scripted:
    """Claims what it is told to."""

    name = "Scripted"

    def __init__(self) -> None:
        self.wrong: dict[str, str] = {}
        self.seen: list[Record] = []

    def observe(self, record: Record) -> None:
        self.seen.append(record)

    def claims(self) -> Mapping[str, str]:
        return self.wrong

    def rules(self, claim: str) -> tuple[str, ...]:
        return (f"s1 {claim}",)

    def remarks(self) -> tuple[str, ...]:
        return ()


class TestLasting:
    @pytest.fixture
    def stage(self, tmp_path: Path) -> Harness:
        return opened(tmp_path, scenario())

    def lasting(self, stage: Harness, threshold: int) -> tuple[Scripted, Lasting]:
        source = Scripted()
        return source, Lasting(source, Patience(stage), threshold)

    def test_what_passes_in_time_is_told_when_it_comes_and_when_it_goes(self, stage: Harness) -> None:
        source, lasting = self.lasting(stage, 1000)
        assert lasting.check(10) == [] and not lasting.is_undecided
        source.wrong["a"] = "It is wrong."
        assert [*map(told, lasting.check(20))] == ["violated Scripted: It is wrong."]
        assert lasting.is_undecided
        assert lasting.check(1019) == []
        source.wrong.clear()
        assert [*map(told, lasting.check(1020))] == ["healed Scripted: It is wrong."]
        assert not lasting.is_undecided

    def test_what_does_not_pass_is_told_again_as_lasting_and_once(self, stage: Harness) -> None:
        source, lasting = self.lasting(stage, 1000)
        source.wrong["a"] = "It is wrong."
        lasting.check(20)
        assert [*map(told, lasting.check(1020))] == ["violated for good Scripted: It is wrong."]
        assert not lasting.is_undecided
        assert lasting.check(5000) == []
        source.wrong.clear()
        assert [*map(told, lasting.check(5001))] == ["healed for good Scripted: It is wrong."]

    def test_a_threshold_of_nothing_makes_everything_last(self, stage: Harness) -> None:
        source, lasting = self.lasting(stage, 0)
        source.wrong["a"] = "It is wrong."
        assert [*map(told, lasting.check(20))] == ["violated for good Scripted: It is wrong."]
        assert not lasting.is_undecided and lasting.check(21) == []

    def test_what_comes_back_under_the_same_name_is_new(self, stage: Harness) -> None:
        source, lasting = self.lasting(stage, 1000)
        source.wrong["a"] = "It is wrong."
        lasting.check(0)
        source.wrong.clear()
        lasting.check(900)
        source.wrong["a"] = "It is wrong."
        assert [*map(told, lasting.check(950))] == ["violated Scripted: It is wrong."]
        assert lasting.check(1100) == []

    def test_a_message_may_change_while_the_claim_stands(self, stage: Harness) -> None:
        source, lasting = self.lasting(stage, 1000)
        source.wrong["a"] = "It is wrong."
        lasting.check(0)
        source.wrong["a"] = "It is wrong in another way."
        assert lasting.check(10) == []

    def test_many_at_once_are_told_by_their_number(self, stage: Harness) -> None:
        source, lasting = self.lasting(stage, 0)
        source.wrong = {str(number): f"Number {number}." for number in range(10)}
        messages = [finding.message for finding in lasting.check(0)]
        assert messages == ["Number 0.", "Number 1.", "Number 2. (and 7 more)"]

    def test_nothing_is_undecided_while_the_controllers_could_do_nothing(self, stage: Harness) -> None:
        source, lasting = self.lasting(stage, 1000)
        source.wrong["a"] = "It is wrong."
        lasting.check(0)
        perform(stage, "partition c0")
        assert not lasting.is_undecided
        assert lasting.check(9000) == []
        perform(stage, "heal c0")
        assert lasting.is_undecided
        assert [*map(told, lasting.check(10_000))] == ["violated for good Scripted: It is wrong."]

    def test_records_go_to_the_source(self, stage: Harness) -> None:
        source, lasting = self.lasting(stage, 0)
        stage.observers.append(lasting.observe)
        perform(stage, "fail s1-s2")
        assert "fabric fail s1-s2" in [str(record.transition) for record in source.seen]


class TestTheFuzzerHoldsItsBreath:
    def test_it_waits_until_what_is_wrong_is_known_to_last(self, tmp_path: Path) -> None:
        run = watched(tmp_path, ORDERED)
        do(run, "check")
        first, last = do(run, "forget s1 1")
        assert first.startswith("violated TablesAsOrdered: s1 was sent the rule")
        assert last == first.replace("violated", "violated for good", 1)
        assert run.outcome.by_verb["wait"] > 3
        assert run.stage.now() == run.options.persistent_ms

    def test_it_does_not_wait_for_controllers_that_are_down(self, tmp_path: Path) -> None:
        run = watched(tmp_path, ORDERED)
        do(run, "crash c0", "forget s1 1")
        assert run.outcome.by_verb["wait"] == 0


class TestWires:
    def test_hosts_are_connected_while_there_is_a_way(self, tmp_path: Path) -> None:
        stage = opened(tmp_path, scenario(topology="ring,3"))
        wires = Wires(stage.world)
        assert wires.connect("h1", "h2")
        perform(stage, "fail s1-s2")
        assert wires.connect("h1", "h2")
        perform(stage, "fail s2-s3")
        assert not wires.connect("h1", "h2") and wires.connect("h1", "h3")
        perform(stage, "recover s2-s3", "fail h2-s2")
        assert not wires.connect("h1", "h2")

    def test_a_host_that_moved_is_connected_where_it_is(self, tmp_path: Path) -> None:
        stage = opened(tmp_path, scenario(topology="linear,2"))
        wires = Wires(stage.world)
        perform(stage, "fail s1-s2")
        assert not wires.connect("h1", "h2")
        perform(stage, "move h2 to s1:3")
        assert wires.connect("h1", "h2")

    def test_a_switch_without_power_connects_nobody(self, tmp_path: Path) -> None:
        stage = opened(tmp_path, scenario(topology="linear,3"))
        perform(stage, "fail s2")
        assert not Wires(stage.world).connect("h1", "h3")


class TestEachByItsName:
    def test_the_usual_ones_are_looked_at_unless_others_are_named(self, tmp_path: Path) -> None:
        assert len(invariants_of(opened(tmp_path, scenario()))) == len(DEFAULT) == 6
        one = scenario(fuzz={"invariants": ["LoopFreedom", "DirectPaths", "NoForwardingLoops"]})
        # The second is a property, which the run watches by itself, and the third another name of the first.
        assert len(invariants_of(opened(tmp_path, one))) == 1

    def test_loop_freedom(self, tmp_path: Path) -> None:
        round_and_round = Fixed(*((f"s{n}", {}, port) for n, port in ((1, 2), (2, 3), (3, 3))))
        run = named(tmp_path, round_and_round, "NoForwardingLoops", topology="ring,3")
        (found,) = do(run, "check")
        assert found.startswith("violated for good NoForwardingLoops:") and "goes round for ever" in found
        (healed,) = do(run, "fail s1-s2")
        assert healed.startswith("healed for good NoForwardingLoops:")

    def test_black_hole_freedom(self, tmp_path: Path) -> None:
        run = named(tmp_path, Fixed(*STRAIGHT), "NoBlackHoles", topology="single,3")
        assert [text for text in do(run, "check") if "h1 does not reach h2" in text] == []
        run = named(
            tmp_path, Fixed(("s1", {"in_port": 1}, 9), STRAIGHT[1]), "NoBlackHoles", topology="single,2"
        )
        (found,) = do(run, "check")
        assert "NoBlackHoles: h1 does not reach h2" in found

    def test_what_a_rule_drops_is_no_black_hole_but_is_not_reached(self, tmp_path: Path) -> None:
        firewall = Fixed(("s1", {"in_port": 1}, None), STRAIGHT[1])
        run = named(tmp_path, firewall, "NoBlackHoles", topology="single,2")
        assert do(run, "check") == []
        run = named(tmp_path, firewall, "AllPairsReachability", topology="single,2")
        (found,) = do(run, "check")
        assert "AllPairsReachability: h1 does not reach h2" in found

    def test_a_host_without_a_wire_is_nobodys_fault(self, tmp_path: Path) -> None:
        run = named(tmp_path, Fixed(*STRAIGHT), "NoBlackHoles", "AllPairsReachability", topology="single,2")
        assert do(run, "check", "fail h2-s1", "check") == []

    def test_isolation_by_rules(self, tmp_path: Path) -> None:
        rules = [{"from": "h1", "to": "h2", "match": {"eth_type": 0x0800, "ip_proto": 6, "tcp_dst": 22}}]
        isolation = {"name": "Isolation", "rules": rules}
        run = named(tmp_path, Fixed(*STRAIGHT), isolation, topology="single,2")
        (found,) = do(run, "check")
        assert "violated for good Isolation: TCP" in found and ":22 from h1 reaches h2" in found
        shut = Fixed(("s1", {"in_port": 1}, None), STRAIGHT[1])
        assert do(named(tmp_path, shut, isolation, topology="single,2"), "check") == []

    def test_a_function_of_the_users(self, tmp_path: Path) -> None:
        (tmp_path / "mine.py").write_text(
            "def three_hosts(model):\n"
            "    return [] if len(model.hosts) > 2 else [f'There are only {len(model.hosts)} hosts.']\n"
        )
        given = {"name": f"{tmp_path / 'mine.py'}:three_hosts", "over": "forwarding"}
        (found,) = do(named(tmp_path, Fixed(), given, topology="single,2"), "check")
        assert found.endswith("three_hosts: There are only 2 hosts.")
        assert do(named(tmp_path, Fixed(), given, topology="single,3"), "check") == []

    def test_tables_as_ordered(self, tmp_path: Path) -> None:
        run = named(tmp_path, Fixed(*STRAIGHT), "TablesAsOrdered", topology="single,2")
        (found,) = do(run, "forget s1 2")
        assert "TablesAsOrdered: s1 was sent the rule" in found
        assert found.endswith("in_port=2 -> output:1 for table 0, and does not have it.")

    def test_ambiguous_rules_are_told_and_heal(self, tmp_path: Path) -> None:
        clashing = Fixed(*STRAIGHT, ("s1", {"eth_dst": 2}, None))
        run = named(tmp_path, clashing, "NoAmbiguousRules", topology="single,2")
        (found, second) = do(run, "check")
        assert "NoAmbiguousRules: s1 has two rules of priority 32768 in table 0 for" in found
        assert "eth_dst=00:00:00:00:00:02 -> drop" in found
        assert {"from port 1", "from port 2"} <= {word for text in (found, second) for word in _ports(text)}
        healed = do(run, "forget s1 1")
        assert [text.split(":")[0] for text in healed] == ["healed for good NoAmbiguousRules"] * 2

    def test_rules_above_hide_an_ambiguity_until_they_are_gone(self, tmp_path: Path) -> None:
        run = named(tmp_path, Shadowed(), "NoAmbiguousRules", topology="single,2")
        assert do(run, "check") == []
        (found,) = do(run, "forget s1 1")
        assert "NoAmbiguousRules: s1 has two rules of priority 32768" in found
        assert do(run, "fail s1")[0].startswith("healed for good NoAmbiguousRules")

    def test_large_tables_without_overlaps_are_not_gone_through(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(installed_rules, "all_ambiguities", None)
        many = [("s1", {"eth_dst": number}, number % 2 + 1) for number in range(300)]
        assert do(named(tmp_path, Fixed(*many), "NoAmbiguousRules", topology="single,2"), "check") == []

    def test_controller_liveness(self, tmp_path: Path) -> None:
        async def act(stage: LiveHarness, records: list[Record]) -> None:
            run = fuzzing(stage, invariants=invariants_of(stage))
            (liveness,) = run.invariants[1:]
            assert liveness.check(0) == [] and not liveness.is_undecided
            pid = stage._processes["c0"].pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            await until(lambda: stage.deaths, "the death was noticed")
            (dead,) = liveness.check(1)
            assert told(dead).startswith("violated for good ControllerLiveness: c0 ended by signal 9")
            assert liveness.check(2) == []

        given = live_scenario(
            tmp_path, scripted(), topology="single,2", fuzz={"invariants": ["ControllerLiveness"]}
        )
        on_stage(given, tmp_path, act)

    def test_a_controller_that_does_not_answer_is_not_alive(self, tmp_path: Path) -> None:
        async def act(stage: LiveHarness, records: list[Record]) -> None:
            run = fuzzing(stage, invariants=invariants_of(stage))
            await stage.perform(input_of("send h1 to h2 ping"))
            await until(lambda: stage.unanswered, "the answer was overdue")
            (silent,) = [found.finding for found in run.check()]
            assert told(silent) == (
                "violated for good ControllerLiveness: "
                "No response in time after: send h1 to h2 ping 1 (s1-c0)."
            )

        given = live_scenario(
            tmp_path, scripted("deaf"), topology="single,2", fuzz={"invariants": ["ControllerLiveness"]}
        )
        on_stage(given, tmp_path, act, answer_s=0.2)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("NoForwardingLops", "unknown invariant 'NoForwardingLops': did you mean 'NoForwardingLoops'"),
        ({"name": "NoForwardingLoops", "sise": 3}, "NoForwardingLoops"),
        ({"name": "TablesAsOrdered", "sise": 3}, "TablesAsOrdered"),
        ({"name": "ControllerLiveness", "sise": 3}, "ControllerLiveness"),
        ({"name": "Isolation", "rule": []}, "rule"),
        ({"name": "Isolation"}, "Isolation needs its rules"),
        ({"name": "Isolation", "rules": "h1 to h2"}, "Isolation needs its rules"),
        (
            {"name": "Isolation", "rules": [{"from": "h1", "to": "h2", "match": {"colour": 3}}]},
            "colour",
        ),
        ({"name": "Isolation", "rules": [{"from": "h1"}]}, "is not a rule of isolation"),
        ({"name": "mine.py:nothing", "over": "forwarding"}, "mine.py"),
        ({}, "unknown invariant None"),
        (7, "must be a string, a table or a Property"),
    ],
)
def test_what_is_no_invariant_is_refused_in_a_sentence(tmp_path: Path, given: Any, sentence: str) -> None:
    with pytest.raises(PenstockError, match=sentence):
        watched(tmp_path, scenario(Flooder(), fuzz={"invariants": [given]}))


def test_a_function_that_is_none_or_fails_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("LIMIT = 3\n\ndef fails(model):\n    return model.colours\n")
    file = tmp_path / "mine.py"
    with pytest.raises(
        PenstockError, match="LIMIT is not a function: an invariant is one that takes a model"
    ):
        named(tmp_path, Fixed(), {"name": f"{file}:LIMIT", "over": "forwarding"})
    run = named(tmp_path, Fixed(), {"name": f"{file}:fails", "over": "forwarding"}, topology="single,2")
    with pytest.raises(
        PenstockError,
        match=r"mine\.py:fails raised AttributeError: .*colours. at .*mine\.py:4",
    ):
        do(run, "check")


def test_a_rule_for_a_host_that_is_not_there_is_refused_at_the_first_look(tmp_path: Path) -> None:
    isolation = {"name": "Isolation", "rules": [{"from": "h1", "to": "h9"}]}
    run = named(tmp_path, Fixed(), isolation, topology="single,2")
    with pytest.raises(PenstockError, match="unknown host 'h9': the hosts are h1, h2"):
        do(run, "check")


def test_a_controller_that_keeps_its_network_in_order_is_found_guilty_of_nothing(tmp_path: Path) -> None:
    to_all = Fixed(*((name, {}, PortNo.FLOOD) for name in ("s1", "s2")))
    run = watched(tmp_path, scenario(to_all, fuzz={"invariants": [*DEFAULT, "AllPairsReachability"]}))
    found = do(run, "check", "fail s1-s2", "recover s1-s2", "send h1 to h2 ping", "fail s1", "recover s1")
    assert [text for text in found if "for good" in text] == []
