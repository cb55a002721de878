"""One run of a network: what can happen, taking it, going back, letting time pass."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.little_components import Note, Repeater, Talker, network, two_talkers, wire

from penstock._world.component import Endpoint, Event, Port, Send, Step
from penstock._world.network import ComponentRaised
from penstock._world.transition import Record, Transition
from penstock._world.world import World
from penstock.errors import PenstockError


def texts(world: World) -> list[str]:
    return [str(transition) for transition in world.enabled()]


class TestTaking:
    def test_an_action_sends_and_its_message_is_delivered_by_a_transition_of_its_own(self) -> None:
        world = World(two_talkers(notes=1))
        assert texts(world) == ["a talk"]
        record = world.take("a talk")
        assert record.sends == ((Endpoint("a", 1), Note("a#1")),)
        assert record.events == (Event("talked", ("a#1",)),)
        assert texts(world) == ["deliver a:1"]
        record = world.take("deliver a:1")
        assert (record.node, record.at, record.message) == ("b", Endpoint("b", 1), Note("a#1"))
        assert world.state("b") == (0, (Note("a#1"),))
        assert texts(world) == []

    def test_a_transition_is_taken_by_its_value_as_well_as_by_its_text(self) -> None:
        world = World(two_talkers())
        assert world.take(Transition("act", "a", "talk")).transition == world.network.parse("a talk")

    def test_deliveries_come_before_actions(self) -> None:
        world = World(two_talkers())
        world.take("a talk")
        assert texts(world) == ["deliver a:1", "a talk"]

    def test_a_send_into_a_port_without_a_wire_is_lost_and_says_so(self) -> None:
        world = World(network([Talker("a", (1, 2), notes=2), Talker("b")], [wire("a:1", "b:1")]))
        world.take("a talk")
        record = world.take("a talk")
        assert record.sends == ()
        assert record.lost == ((Endpoint("a", 2), Note("a#2")),)
        assert record.events[-1] == Event("lost", (Endpoint("a", 2), Note("a#2")))

    def test_a_message_from_outside_waits_behind_what_is_in_flight(self) -> None:
        world = World(two_talkers())
        world.take("a talk")
        before = world.state("a")
        record = world.inject(Endpoint("a", 1), Note("stranger"))
        assert str(record.transition) == "inject a:1"
        assert record.sends == ((Endpoint("a", 1), Note("stranger")),)
        assert world.state("a") == before
        assert world.queue(Endpoint("a", 1)) == (Note("a#1"), Note("stranger"))

    def test_a_message_from_outside_is_lost_where_there_is_no_wire_and_refused_where_there_is_no_port(
        self,
    ) -> None:
        world = World(network([Talker("a", (1, 2), notes=2), Talker("b")], [wire("a:1", "b:1")]))
        assert world.inject(Endpoint("a", 2), Note("x")).lost == ((Endpoint("a", 2), Note("x")),)
        with pytest.raises(PenstockError, match="a:7"):
            world.inject(Endpoint("a", 7), Note("x"))

    def test_observers_get_every_record_in_order(self) -> None:
        seen: list[Record] = []
        world = World(two_talkers(), [seen.append])
        late: list[Record] = []
        world.take("a talk")
        world.observe(late.append)
        world.run()
        assert [str(record.transition) for record in seen] == [
            "a talk",
            "deliver a:1",
            "a talk",
            "deliver a:1",
        ]
        assert late == seen[1:]

    def test_a_record_reads_well(self) -> None:
        world = World(two_talkers())
        assert str(world.take("a talk")) == "a talk -> a:1 a#1"
        assert str(world.take("deliver a:1")) == "deliver a:1: a#1"


class TestRunning:
    def test_a_run_ends_when_nothing_is_left_to_happen(self) -> None:
        world = World(two_talkers(notes=3))
        assert world.run() == 6
        assert world.enabled() == ()
        assert world.state("b")[1] == (Note("a#1"), Note("a#2"), Note("a#3"))

    def test_a_run_stops_at_its_limit(self) -> None:
        world = World(two_talkers(notes=3))
        assert world.run(limit=4) == 4
        assert world.state("a")[0] == 2

    def test_a_choice_of_ones_own_decides_the_order(self) -> None:
        world = World(two_talkers(notes=2))
        seen: list[str] = []
        world.observe(lambda record: seen.append(str(record.transition)))
        world.run(choose=lambda transitions: transitions[-1])
        assert seen == ["a talk", "a talk", "deliver a:1", "deliver a:1"]

    def test_the_same_seed_gives_the_same_run_and_another_seed_another(self) -> None:
        def run(seed: int) -> list[str]:
            talkers = [Talker(name, (1, 2), notes=3, hops=2) for name in "abc"]
            ring = [wire("a:1", "b:2"), wire("b:1", "c:2"), wire("c:1", "a:2")]
            seen: list[str] = []
            world = World(network(talkers, ring), [lambda record: seen.append(str(record.transition))])
            world.run(Random(seed))
            return seen

        assert run(1) == run(1)
        assert run(1) != run(2)
        assert sorted(run(1)) == sorted(run(2))


class TestSnapshots:
    def test_going_back_undoes_everything(self) -> None:
        world = World(two_talkers(notes=3))
        world.run(limit=3)
        then, enabled = world.snapshot(), world.enabled()
        world.run()
        end = world.snapshot()
        assert end != then
        world.restore(then)
        assert world.snapshot() == then
        assert world.enabled() == enabled
        world.run()
        assert world.snapshot() == end

    def test_equal_states_are_equal_values_however_they_came_about(self) -> None:
        one, other = World(two_talkers(notes=2)), World(two_talkers(notes=2))
        for text in ("a talk", "a talk", "deliver a:1"):
            one.take(text)
        for text in ("a talk", "deliver a:1", "a talk"):
            other.take(text)
        assert one.snapshot() == other.snapshot()
        assert len({one.snapshot(), other.snapshot()}) == 1


@dataclass(eq=False)
class Alarm:
    """Sends a note at each of its moments."""

    name: str
    moments: tuple[int, ...]
    stuck: bool = False
    ports: tuple[Port, ...] = (1,)

    def initial(self) -> tuple[int, int]:
        return (0, 0)

    def actions(self, state: Any) -> tuple[str, ...]:
        return ()

    def act(self, state: Any, action: str) -> Step:
        raise NotImplementedError(action)

    def receive(self, state: Any, port: Port, message: Any) -> Step:
        return Step(state)

    def deadline(self, state: tuple[int, int]) -> int | None:
        return self.moments[state[0]] if state[0] < len(self.moments) else None

    def advance(self, state: tuple[int, int], now: int) -> Step:
        rung, _ = state
        due = 0 if self.stuck else sum(1 for moment in self.moments[rung:] if moment <= now)
        notes = [Note(f"{self.name} at {now}") for _ in range(due)]
        return Step((rung + due, now), tuple(Send(1, note) for note in notes))


class TestTime:
    def ringing(self, **options: Any) -> World:
        alarms = [Alarm("a", (30, 50)), Alarm("b", (10, 40), **options)]
        return World(network([*alarms, Talker("t", (1, 2))], [wire("a:1", "t:1"), wire("b:1", "t:2")]))

    def test_what_falls_due_happens_at_its_moment_in_order_across_components(self) -> None:
        world = self.ringing()
        sent = [str(send.message) for record in world.advance(45) for send in record.sends]
        assert sent == ["b at 10", "a at 30", "b at 40"]
        assert world.clock == 45

    def test_every_timed_component_learns_the_time_even_when_nothing_is_due(self) -> None:
        world = self.ringing()
        records = world.advance(5)
        assert [str(record.transition) for record in records] == ["time a:5", "time b:5"]
        assert world.state("a") == (0, 5)

    def test_time_stands_still_while_transitions_are_taken(self) -> None:
        world = self.ringing()
        world.advance(10)
        world.run()
        assert world.clock == 10
        assert world.state("t")[1] == (Note("b at 10"),)

    def test_going_back_takes_the_clock_along(self) -> None:
        world = self.ringing()
        start = world.snapshot()
        world.advance(45)
        world.restore(start)
        assert world.clock == 0
        assert [str(s.message) for record in world.advance(20) for s in record.sends] == ["b at 10"]

    def test_time_may_elapse_for_those_only_for_whom_something_is_due(self) -> None:
        world = self.ringing()
        assert [str(record.transition) for record in world.elapse(15)] == ["time b:10"]
        assert (world.clock, world.state("a"), world.state("b")) == (15, (0, 0), (1, 10))

    def test_the_others_hear_how_late_it_is_before_they_take_a_message(self) -> None:
        told: list[Record] = []
        alarms = [Alarm("a", (30,)), Alarm("b", ())]
        world = World(network(alarms, [wire("a:1", "b:1")]), [told.append])
        world.elapse(40)
        assert world.state("b") == (0, 0)
        world.elapse(2)
        world.run()
        assert [str(record.transition) for record in told] == ["time a:30", "time b:42", "deliver a:1"]

    def test_the_others_hear_how_late_it_is_before_the_whole_is_looked_at(self) -> None:
        world, other = self.ringing(), self.ringing()
        for _ in range(9):
            world.elapse(5)
        other.advance(45)
        assert world.snapshot() == other.snapshot()

    def test_a_deadline_that_is_put_off_and_put_back_is_kept(self) -> None:
        world = self.ringing()
        start = world.snapshot()
        world.advance(12)
        later = world.snapshot()
        world.restore(start)
        assert [str(r.transition) for r in world.elapse(11)] == ["time b:10"]
        world.restore(later)
        assert [str(r.transition) for r in world.elapse(28)] == ["time a:30", "time b:40"]

    def test_time_does_not_go_back(self) -> None:
        with pytest.raises(PenstockError, match="back by 5 ms"):
            self.ringing().advance(-5)

    def test_a_component_that_stays_due_is_named_instead_of_waited_for(self) -> None:
        with pytest.raises(PenstockError, match="b is still due at 10 ms"):
            self.ringing(stuck=True).advance(45)


class Clumsy(Talker):
    def receive(self, state: Any, port: Port, message: Any) -> Step:
        raise ValueError("what is this")


class Careless(Talker):
    def act(self, state: Any, action: str) -> Any:
        return state


class Elsewhere(Talker):
    def act(self, state: Any, action: str) -> Step:
        return Step(state, (Send(7, Note("hello")),))


class TestMistakes:
    def test_what_cannot_happen_is_refused_with_what_can(self) -> None:
        world = World(two_talkers())
        with pytest.raises(PenstockError, match=r"'deliver a:1' cannot happen now: enabled are a talk\."):
            world.take("deliver a:1")
        with pytest.raises(PenstockError, match="'b talk' cannot happen now"):
            world.take("b talk")
        with pytest.raises(PenstockError, match="'drop a:1' cannot happen now"):
            world.take("drop a:1")

    def test_only_the_first_of_many_possibilities_are_listed(self) -> None:
        world = World(network([Talker(f"t{number}", (1,), notes=1) for number in range(20)]))
        with pytest.raises(PenstockError, match=r"t0 talk, .* t11 talk and 8 more\.$"):
            world.take("t1 dance")

    @pytest.mark.parametrize("text", ["", "a", "c talk", "deliver", "deliver a", "deliver a:9", "time a:5"])
    def test_a_text_that_means_nothing_here_is_refused(self, text: str) -> None:
        with pytest.raises(PenstockError, match="is no transition of this network"):
            World(two_talkers()).take(text)

    def test_an_exception_in_a_component_names_it_and_the_transition_and_changes_nothing(self) -> None:
        world = World(network([Talker("a", (1,), 1), Clumsy("b")], [wire("a:1", "b:1")]))
        world.take("a talk")
        before = world.snapshot()
        with pytest.raises(
            ComponentRaised, match=r"b raised ValueError: what is this at \S+:\d+, on 'deliver a:1'"
        ) as caught:
            world.take("deliver a:1")
        assert isinstance(caught.value.__cause__, ValueError)
        assert (caught.value.component, str(caught.value.transition)) == ("b", "deliver a:1")
        assert world.snapshot() == before

    def test_a_component_must_return_a_step(self) -> None:
        with pytest.raises(
            ComponentRaised, match=r"a raised TypeError: it returned .* a Step is due, on 'a talk'"
        ):
            World(network([Careless("a", (1,), 1)])).run()

    def test_a_component_must_send_on_its_own_ports(self) -> None:
        with pytest.raises(ComponentRaised, match="sent on port 7, but its ports are 1, 2"):
            World(network([Elsewhere("a", (1, 2), 1)])).run()

    def test_the_state_of_nobody_is_asked_for(self) -> None:
        with pytest.raises(PenstockError, match="There is no 'z' here: the components are a, b, fabric"):
            World(two_talkers()).state("z")

    def test_two_components_of_one_name_are_refused(self) -> None:
        with pytest.raises(PenstockError, match="Two components are called 'a'"):
            network([Talker("a"), Repeater("a", (1,))])

    @pytest.mark.parametrize("name", ["", "deliver", "drop", "two words", "s1:2"])
    def test_a_name_that_would_make_traces_ambiguous_is_refused(self, name: str) -> None:
        with pytest.raises(PenstockError, match="cannot be called"):
            network([Talker(name)])


DETERMINISM = """
from random import Random
from penstock._controllers.static import StaticController
from penstock._world.assembly import build_network
from penstock._world.faults import Faults
from penstock._world.hosts import host
from penstock._world.topology import topology
from penstock._world.world import World

shape = topology("ring,3")
network = build_network(
    shape,
    hosts={"h1": host("ping", to="h3", count=2), "h2": host("ping", to="h1")},
    controllers=StaticController(shape),
    faults=Faults(drops=1, duplicates=1, link_failures=2, switch_failures=1, disconnects=1),
)
world = World(network, [print])
world.run(Random(11), faults=True, limit=150)
"""


def test_a_run_does_not_depend_on_how_python_hashes_strings() -> None:
    def run(hash_seed: str) -> str:
        root = Path(__file__).parents[2]
        env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root / "src")}
        done = subprocess.run(
            [sys.executable, "-c", DETERMINISM], env=env, capture_output=True, text=True, check=True
        )
        return done.stdout

    first = run("1")
    assert first.count("\n") > 50
    assert first == run("2")
