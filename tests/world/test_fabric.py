"""Links, attachments and power: where wires lead, and what their ends are told when that changes."""

from __future__ import annotations

import pytest
from tests.little_components import wire

from penstock._world.component import Endpoint, Message, Send, Step
from penstock._world.fabric import Fabric, FabricState, Mobility, Roaming
from penstock._world.faults import Faults
from penstock._world.signals import Carrier, Power
from penstock.errors import PenstockError

ALL = Faults(link_failures=2, switch_failures=1, controller_crashes=1, disconnects=1)
H1, S1_SPARE, S2_SPARE = Endpoint("h1", 0), Endpoint("s1", 9), Endpoint("s2", 9)


def make(faults: Faults = ALL, mobility: Mobility | None = None) -> Fabric:
    """Return h1 - s1 - s2 with the controller c0; h1 may move if told how."""
    home = wire("h1:0", "s1:1")
    return Fabric(
        attachments=[home],
        cables=[wire("s1:2", "s2:2")],
        sessions=[wire("s1:c0", "c0:s1"), wire("s2:c0", "c0:s2")],
        switches=["s1", "s2"],
        controllers=["c0"],
        roaming=[Roaming(home, (S1_SPARE, S2_SPARE), mobility)] if mobility else [],
        faults=faults,
    )


def after(fabric: Fabric, *actions: str) -> FabricState:
    state = fabric.initial()
    for action in actions:
        state = fabric.act(state, action).state
    return state


def peer(fabric: Fabric, state: FabricState, node: str, port: int | str) -> str | None:
    found = fabric.peer(state, Endpoint(node, port))
    return str(found) if found else None


def signals(step: Step, node: str) -> list[Message]:
    return [message for port, message in step.sends if port == node]


class TestWires:
    def test_each_end_of_a_wire_hears_the_other(self) -> None:
        fabric = make()
        state = fabric.initial()
        assert peer(fabric, state, "s1", 2) == "s2:2"
        assert peer(fabric, state, "s2", 2) == "s1:2"
        assert peer(fabric, state, "h1", 0) == "s1:1"
        assert peer(fabric, state, "s1", "c0") == "c0:s1"
        assert peer(fabric, state, "c0", "s2") == "s2:c0"

    def test_nobody_hears_a_port_without_a_wire(self) -> None:
        fabric = make()
        assert peer(fabric, fabric.initial(), "s2", 7) is None

    def test_the_fabric_reaches_everybody_whatever_fails(self) -> None:
        fabric = make()
        state = after(fabric, "fail s1")
        assert fabric.peer(state, Endpoint("fabric", "s1")) == Endpoint("s1", "fabric")

    def test_a_perfect_network_offers_nothing(self) -> None:
        fabric = make(Faults())
        assert fabric.actions(fabric.initial()) == ()

    def test_nobody_talks_to_the_fabric(self) -> None:
        fabric = make()
        with pytest.raises(NotImplementedError):
            fabric.receive(fabric.initial(), "s1", Power(on=True))


class TestLinks:
    def test_a_failed_link_leads_nowhere_until_it_recovers(self) -> None:
        fabric = make()
        state = after(fabric, "fail s1-s2")
        assert peer(fabric, state, "s1", 2) is peer(fabric, state, "s2", 2) is None
        assert peer(fabric, state, "h1", 0) == "s1:1"
        state = after(fabric, "fail s1-s2", "recover s1-s2")
        assert peer(fabric, state, "s1", 2) == "s2:2"
        assert state.wiring == fabric.initial().wiring

    def test_what_was_in_flight_is_lost_and_both_ends_are_told(self) -> None:
        fabric = make()
        step = fabric.act(fabric.initial(), "fail s1-s2")
        assert step.cleared == (Endpoint("s1", 2), Endpoint("s2", 2))
        assert step.sends == (Send("s1", Carrier(2, up=False)), Send("s2", Carrier(2, up=False)))
        step = fabric.act(step.state, "recover s1-s2")
        assert step.cleared == ()
        assert step.sends == (Send("s1", Carrier(2, up=True)), Send("s2", Carrier(2, up=True)))

    def test_each_failure_costs_one_and_recovery_nothing(self) -> None:
        fabric = make()
        state = after(fabric, "fail s1-s2", "recover s1-s2", "fail h1-s1")
        assert state.budget == Faults(switch_failures=1, controller_crashes=1, disconnects=1)
        assert "fail s1-s2" not in fabric.actions(state)
        assert "recover h1-s1" in fabric.actions(state)

    def test_recovery_can_be_forbidden(self) -> None:
        fabric = make(Faults(link_failures=1, recovery=False))
        assert fabric.actions(after(fabric, "fail s1-s2")) == ()

    def test_parallel_links_are_told_apart_by_their_ports(self) -> None:
        fabric = Fabric(
            cables=[wire("s1:1", "s2:1"), wire("s2:2", "s1:2"), wire("s1:3", "s3:1")],
            switches=["s1", "s2", "s3"],
            faults=Faults(link_failures=1),
        )
        assert fabric.actions(fabric.initial()) == ("fail s1:1-s2:1", "fail s2:2-s1:2", "fail s1-s3")


class TestSessions:
    def test_a_lost_session_is_told_to_switch_and_controller(self) -> None:
        fabric = make()
        step = fabric.act(fabric.initial(), "disconnect s1-c0")
        assert step.cleared == (Endpoint("s1", "c0"), Endpoint("c0", "s1"))
        assert step.sends == (Send("s1", Carrier("c0", up=False)), Send("c0", Carrier("s1", up=False)))
        assert peer(fabric, step.state, "s1", "c0") is None
        assert peer(fabric, step.state, "s2", "c0") == "c0:s2"
        step = fabric.act(step.state, "reconnect s1-c0")
        assert step.sends == (Send("s1", Carrier("c0", up=True)), Send("c0", Carrier("s1", up=True)))
        assert peer(fabric, step.state, "c0", "s1") == "s1:c0"


class TestPower:
    def test_a_switch_without_power_is_cut_off_and_its_neighbours_see_it(self) -> None:
        fabric = make()
        step = fabric.act(fabric.initial(), "fail s1")
        assert signals(step, "s1") == [Power(on=False)]
        assert signals(step, "h1") == [Carrier(0, up=False)]
        assert signals(step, "s2") == [Carrier(2, up=False)]
        assert signals(step, "c0") == [Carrier("s1", up=False)]
        assert {str(end) for end in step.cleared} == {"h1:0", "s1:1", "s1:2", "s2:2", "s1:c0", "c0:s1"}
        assert all(peer(fabric, step.state, "s1", port) is None for port in (1, 2, "c0"))

    def test_a_switch_that_comes_back_is_told_of_every_link_that_is_up(self) -> None:
        fabric = make()
        step = fabric.act(after(fabric, "fail s1-s2", "fail s1"), "recover s1")
        assert signals(step, "s1") == [Power(on=True), Carrier(1, up=True), Carrier("c0", up=True)]
        assert signals(step, "s2") == []
        assert signals(step, "c0") == [Carrier("s1", up=True)]

    def test_a_link_that_recovers_to_a_dead_switch_stays_dead(self) -> None:
        fabric = make()
        step = fabric.act(after(fabric, "fail s1-s2", "fail s1"), "recover s1-s2")
        assert step.sends == ()
        assert peer(fabric, step.state, "s2", 2) is None
        step = fabric.act(step.state, "recover s1")
        assert signals(step, "s2") == [Carrier(2, up=True)]

    def test_a_controller_that_crashes_loses_its_sessions_and_gets_them_back(self) -> None:
        fabric = make()
        step = fabric.act(fabric.initial(), "crash c0")
        assert signals(step, "c0") == [Power(on=False)]
        assert signals(step, "s1") == signals(step, "s2") == [Carrier("c0", up=False)]
        step = fabric.act(step.state, "restart c0")
        assert signals(step, "c0") == [Power(on=True), Carrier("s1", up=True), Carrier("s2", up=True)]
        assert step.state.wiring == fabric.initial().wiring


class TestMobility:
    SILENT = Mobility(("s1:9", "s2:9"), moves=2)
    ANNOUNCED = Mobility(("s1:9", "s2:9"), moves=2, carrier=True)

    def test_a_host_moves_to_its_places_and_back(self) -> None:
        fabric = make(Faults(), self.SILENT)
        assert fabric.actions(fabric.initial()) == ("move h1 to s1:9", "move h1 to s2:9")
        state = after(fabric, "move h1 to s2:9")
        assert peer(fabric, state, "h1", 0) == "s2:9"
        assert peer(fabric, state, "s2", 9) == "h1:0"
        assert peer(fabric, state, "s1", 1) is None
        assert fabric.actions(state) == ("move h1 to s1:1", "move h1 to s1:9")
        state = after(fabric, "move h1 to s2:9", "move h1 to s1:1")
        assert state.wiring == fabric.initial().wiring
        assert fabric.actions(state) == ()

    def test_frames_to_and_from_the_host_are_lost(self) -> None:
        fabric = make(Faults(), self.SILENT)
        assert fabric.act(fabric.initial(), "move h1 to s2:9").cleared == (H1, Endpoint("s1", 1))

    def test_a_silent_move_is_told_to_nobody(self) -> None:
        fabric = make(Faults(), self.SILENT)
        assert fabric.first_signals() == ()
        assert fabric.act(fabric.initial(), "move h1 to s2:9").sends == ()

    def test_an_announced_move_is_seen_at_both_ports_and_by_the_host(self) -> None:
        fabric = make(Faults(), self.ANNOUNCED)
        empty = (Send("s1", Carrier(9, up=False)), Send("s2", Carrier(9, up=False)))
        assert fabric.first_signals() == empty
        step = fabric.act(fabric.initial(), "move h1 to s2:9")
        assert signals(step, "h1") == [Carrier(0, up=False), Carrier(0, up=True)]
        assert signals(step, "s1") == [Carrier(1, up=False)]
        assert signals(step, "s2") == [Carrier(9, up=True)]

    def test_two_hosts_cannot_be_at_one_place(self) -> None:
        homes = [wire("h1:0", "s1:1"), wire("h2:0", "s1:2")]
        fabric = Fabric(
            attachments=homes,
            switches=["s1"],
            roaming=[Roaming(home, (S1_SPARE,), Mobility(("s1:9",))) for home in homes],
        )
        state = after(fabric, "move h1 to s1:9")
        assert fabric.actions(state) == ()
        assert fabric.actions(after(fabric, "move h2 to s1:9")) == ()

    def test_a_host_that_moves_leaves_its_broken_cable_behind(self) -> None:
        fabric = make(Faults(link_failures=1), self.SILENT)
        step = fabric.act(after(fabric, "fail h1-s1"), "move h1 to s2:9")
        assert peer(fabric, step.state, "h1", 0) == "s2:9"
        assert signals(step, "h1") == [Carrier(0, up=True)]
        assert signals(step, "s1") == [Carrier(1, up=True)]

    def test_the_link_of_a_moved_host_is_called_by_where_it_is(self) -> None:
        fabric = make(Faults(link_failures=1), self.SILENT)
        assert "fail h1-s2" in fabric.actions(after(fabric, "move h1 to s2:9"))

    def test_an_empty_announced_place_is_dead_to_a_switch_that_comes_back(self) -> None:
        fabric = make(Faults(switch_failures=1), self.ANNOUNCED)
        step = fabric.act(after(fabric, "fail s2"), "recover s2")
        assert signals(step, "s2") == [Power(on=True), Carrier(2, up=True), Carrier("c0", up=True)]

    def test_a_negative_number_of_moves_is_refused(self) -> None:
        with pytest.raises(PenstockError, match="invalid moves = -1 in mobility of a host: must be"):
            Mobility(("s1:9",), moves=-1)


class TestTargets:
    def test_only_what_is_targeted_fails(self) -> None:
        fabric = make(Faults(link_failures=1, switch_failures=1, disconnects=1, targets=("s1-s2", "s2")))
        assert fabric.actions(fabric.initial()) == ("fail s1-s2", "fail s2")

    def test_a_target_that_does_not_exist_is_refused(self) -> None:
        with pytest.raises(PenstockError, match="The fault target 's1-s9' is nothing that can fail here"):
            make(Faults(link_failures=1, targets=("s1-s9",)))

    def test_an_action_that_is_not_offered_is_refused(self) -> None:
        fabric = make(Faults())
        with pytest.raises(PenstockError, match="cannot 'fail s1' now"):
            fabric.act(fabric.initial(), "fail s1")


class TestFindingActionsByName:
    def test_what_is_offered_is_allowed_and_nothing_else(self) -> None:
        fabric = make(mobility=Mobility(("s1:9", "s2:9"), moves=2))
        state = after(fabric, "move h1 to s2:9", "fail s1-s2")
        offered = fabric.actions(state)
        names = [
            "h1-s1",
            "h1-s2",
            "s1-s2",
            "s1",
            "s2",
            "c0",
            "s1-c0",
            "h1 to s1:1",
            "h1 to s2:9",
            "h9 to s1:9",
        ]
        verbs = ["move", "fail", "recover", "disconnect", "reconnect", "crash", "restart"]
        tried = [f"{verb} {name}" for verb in verbs for name in names]
        assert {action for action in tried if fabric.allows(state, action)} == set(offered) & set(tried)
        assert "fail h1-s2" in offered
        assert not fabric.allows(state, "fail h1-s1")

    def test_wires_that_share_a_name_fail_one_after_the_other(self) -> None:
        fabric = Fabric(
            cables=[wire("a-b:1", "c:1"), wire("a:1", "b-c:1")],
            switches=["a-b-c"],
            faults=Faults(link_failures=2, switch_failures=1),
        )
        assert fabric.actions(fabric.initial()) == ("fail a-b-c", "fail a-b-c", "fail a-b-c")
        first = fabric.act(fabric.initial(), "fail a-b-c")
        assert first.cleared == (Endpoint("a-b", 1), Endpoint("c", 1))
        second = fabric.act(first.state, "fail a-b-c")
        assert second.cleared == (Endpoint("a", 1), Endpoint("b-c", 1))
        assert fabric.act(second.state, "fail a-b-c").state.wiring.off == {"a-b-c"}
