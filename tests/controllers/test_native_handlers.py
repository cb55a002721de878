"""Native controllers: handlers that a program leaves out do nothing, and a crash is told as the program's."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

from penstock._controllers.controller import Controller
from penstock._controllers.native import NativeController
from penstock._controllers.osken.determinism import Surroundings
from penstock._controllers.osken.hub import Hub, use
from penstock._world.component import Event, Step
from penstock.openflow.match import Match
from penstock.openflow.messages import NO_BUFFER, EchoRequest, Hello, PacketIn, PacketInReason

PACKET = PacketIn(
    buffer_id=NO_BUFFER,
    total_len=14,
    reason=PacketInReason.NO_MATCH,
    match=Match.of(in_port=1),
    data=bytes(14),
)


class Counting(Controller):
    """Counts packets, and fails at the third; from the second on it also answers greetings."""

    def __init__(self) -> None:
        self.packets = 0

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.packets += 1
        if self.packets == 2:
            vars(self)["other"] = lambda switch, _: self.send(switch, EchoRequest(b"hi"))
        if self.packets == 3:
            raise ValueError("three is too much")


def joined(controller: NativeController) -> Any:
    return controller.act(controller.initial(), "join s1").state


def received(controller: NativeController, state: Any, *messages: object) -> Step:
    step = Step(state)
    for message in messages:
        step = controller.receive(step.state, "s1", message)
    return step


def test_a_message_that_the_program_has_no_handler_for_changes_nothing() -> None:
    controller = NativeController(Counting(), ("s1",))
    once = received(controller, joined(controller), PACKET)
    step = controller.receive(once.state, "s1", Hello())
    assert step == Step(once.state)


def test_it_changes_nothing_when_the_program_was_last_elsewhere() -> None:
    controller = NativeController(Counting(), ("s1",))
    first = joined(controller)
    once = received(controller, first, PACKET)
    assert controller.receive(first, "s1", Hello()) == Step(first)
    assert received(controller, first, PACKET).state == once.state != first


def test_a_handler_that_the_program_gives_itself_is_called_from_then_on_only() -> None:
    controller = NativeController(Counting(), ("s1",))
    once = received(controller, joined(controller), PACKET)
    twice = received(controller, once.state, PACKET)
    assert [str(send.message) for send in controller.receive(twice.state, "s1", Hello()).sends] == [
        str(EchoRequest(b"hi"))
    ]
    assert controller.receive(once.state, "s1", Hello()).sends == ()


def test_the_story_of_a_crash_begins_in_the_program() -> None:
    controller = NativeController(Counting(), ("s1",))
    (event,) = received(controller, joined(controller), PACKET, PACKET, PACKET).events
    name, error, story = event.detail
    assert (event.kind, name, error) == ("crashed", "c0", "ValueError: three is too much")
    frames = [line for line in str(story).splitlines() if line.lstrip().startswith("File ")]
    assert len(frames) == 1 and "in packet_in" in frames[0]


def test_a_packet_that_comes_before_the_switch_has_joined_goes_unheard() -> None:
    controller = NativeController(Counting(), ("s1", "s2"))
    first = controller.initial()
    named = replace(PACKET, tag="h1#1")
    assert controller.receive(first, "s1", named) == Step(
        first, (), (Event("unheard", ("c0", "s1", "h1#1")),)
    )
    after = controller.act(first, "join s2").state
    assert controller.receive(after, "s1", named).state == after
    assert controller.receive(after, "s2", named).state != after


class Waiting(Controller):
    """Waits for a thread of its own, or for nobody."""

    def __init__(self) -> None:
        self.told = threading.Event()
        self.found: list[object] = []

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.found.append(self.told.wait(5))
        worker = threading.Thread(target=self.told.set)
        worker.start()
        worker.join()
        self.found.append(self.told.wait())


def test_a_handler_that_waits_lets_threads_run_and_time_pass() -> None:
    program, surroundings = Waiting, Surroundings(Hub(), 20)
    use(surroundings.hub)
    with surroundings.around(b"", loading=True):
        made = program()
    controller = NativeController(made, ("s1",), surroundings=surroundings)
    step = received(controller, joined(controller), PACKET)
    assert (made.found, step.events) == ([False, True], ())
