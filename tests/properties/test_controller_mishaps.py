"""ControllerCrash and ControllerHang: what is a bug of a controller by itself."""

from __future__ import annotations

from typing import Any

import pytest
from tests.properties.property_lab import lab, search
from tests.properties.sample_controllers import Clumsy, Hub

from penstock._controllers.native import NativeController
from penstock._properties.base import Property
from penstock._properties.controllers import ControllerCrash, ControllerHang
from penstock._world.component import Event, Step
from penstock._world.hosts import host

PAIR = {"h1": host("client", to="h2"), "h2": host("server")}


class Endless(NativeController):
    """A controller that is stopped at its second packet, as one whose steps are counted is."""

    def receive(self, state: Any, port: Any, message: Any) -> Step:
        step = super().receive(state, port, message)
        if getattr(message, "tag", "") == "h2#1":
            return step._replace(
                sends=(), events=(Event("hung", (self.name, "1,000,000 steps\nwere taken.", "…")),)
            )
        return step


def test_a_handler_that_raises_is_a_violation() -> None:
    result = search(lab("single,2", Clumsy(), PAIR), ControllerCrash(), ControllerHang())
    assert result.broken == {
        "ControllerCrash": "c0 raised KeyError: 'h2', while it handled PacketIn(port=2, no_match) from s1."
    }
    assert result.stories["ControllerCrash"][-1] == "deliver s1:c0"


def test_so_is_one_that_raises_by_itself() -> None:
    class Stillborn(Hub):
        def switch_join(self, switch: str) -> None:
            raise RuntimeError("not today")

    network = lab("single,2", Stillborn(), {})
    result = search(network, ControllerCrash(), start=network.initial())
    assert result.broken["ControllerCrash"] == "c0 raised RuntimeError: not today, while it did 'join s1'."


def test_a_handler_that_does_not_come_to_an_end_is_a_violation() -> None:
    result = search(lab("single,2", Endless(Hub(), ("s1",)), PAIR), ControllerCrash(), ControllerHang())
    assert result.broken == {
        "ControllerHang": "c0 did not return: 1,000,000 steps were taken, while it handled "
        "PacketIn(port=2, no_match) from s1."
    }


@pytest.mark.parametrize("watcher", [ControllerCrash, ControllerHang])
def test_handlers_that_do_their_work_are_fine(watcher: type[Property]) -> None:
    network = lab("single,2", Hub(), PAIR)
    result = search(network, watcher())
    assert result.outcome.result == "exhausted"
    assert result.exercised[watcher.__name__] >= 2
    assert result.outcome.states == search(network).outcome.states


@pytest.mark.parametrize("watcher", [ControllerCrash, ControllerHang])
def test_a_controller_that_is_never_asked_does_not_put_them_to_the_test(watcher: type[Property]) -> None:
    result = search(lab("single,2", (), {"h1": host("client", to="h2")}), watcher())
    assert result.warnings == (
        f"{watcher.__name__} was never exercised: it needs a controller that handles something.",
    )
