"""Programs that fail, that do not end, that sleep."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.controllers.osken_lab import control, handle, joined, lines, network_of, packet, write_app

from penstock._world.component import Step, Timed
from penstock._world.signals import FABRIC, Power
from penstock._world.world import World

# Failures.


def test_a_handler_that_raises_is_an_event_and_the_program_goes_on(tmp_path: Path) -> None:
    app = write_app(tmp_path, "print('in', ev.msg.data)\nif ev.msg.data == b'bad': self.nothing.call()")
    controller = control(app)
    step = handle(controller, b"bad")
    (crash,) = [event.detail for event in step.events if event.kind == "crashed"]
    assert crash[:2] == ("c0", "AttributeError: 'LittleApp' object has no attribute 'nothing'")
    assert isinstance(crash[2], str)
    told = crash[2].splitlines()
    assert told[0] == "Traceback (most recent call last):"
    assert "little_app.py" in told[1]
    assert "in packet_in" in told[1]
    assert lines(handle(controller, b"fine", state=step.state).events) == ["in b'fine'"]


def test_a_task_that_raises_is_an_event(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, "hub.spawn(int, 'x')"))
    assert [event.detail[1] for event in handle(controller, b"x").events] == [
        "ValueError: invalid literal for int() with base 10: 'x'"
    ]


def test_where_objects_are_in_memory_is_left_out(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, "print(self)\nraise ValueError(self)"))
    logged, crashed = handle(controller, b"x").events
    assert logged.detail[1] == "<little_app.LittleApp object>"
    assert crashed.detail[1] == "ValueError: <little_app.LittleApp object>"


@pytest.mark.parametrize(
    ("body", "how"),
    [
        ("while True: pass", "it computed for more than 0.2 s"),
        (
            "while True:\n    try:\n        str(list(range(99)))\n    except: pass",
            "computed for more than 0.2 s",
        ),
        ("while True: hub.sleep(0)", "its tasks took more than 10000 turns"),
    ],
    ids=["loop", "stubborn", "yielding"],
)
def test_a_program_that_does_not_come_to_rest_hangs(tmp_path: Path, body: str, how: str) -> None:
    body = body.replace("\n", "\n    ")
    app = write_app(tmp_path, f"if ev.msg.data == b'hang':\n    {body}\nprint('fine')")
    controller = control(app, seconds=0.2)
    before = joined(controller)
    step = handle(controller, b"hang", state=before)
    ((kind, detail),) = [(event.kind, event.detail) for event in step.events]
    assert kind == "hung"
    assert detail[0] == "c0"
    assert isinstance(detail[1], str) and how in detail[1]
    assert controller.actions(step.state) == ()
    assert controller.receive(step.state, "s1", packet()) == Step(step.state)
    assert lines(handle(controller, b"other", state=before).events) == ["fine"]
    revived = controller.receive(step.state, FABRIC, Power(on=True)).state
    assert revived.snapshot == controller.initial().snapshot


# Timers and tasks.

SLEEPER = """
print('began', ev.msg.data)
hub.sleep(5)
print('woke', ev.msg.data, time.time() % 100)
"""


def test_a_sleeping_handler_is_a_timer_and_events_wait_for_it(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, SLEEPER), timers=None)
    asleep = handle(controller, b"a", b"b")
    assert controller.actions(asleep.state) == ("timer 5s little_app.packet_in",)
    woken = controller.act(asleep.state, "timer 5s little_app.packet_in")
    assert lines(woken.events) == ["woke b'a' 5.0", "began b'b'"]


def test_a_state_with_sleeping_tasks_can_be_entered_again_and_again(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, SLEEPER), timers=None)
    one, two = handle(controller, b"a").state, handle(controller, b"a", b"b").state
    assert one != two
    for state, expected in [(one, ["woke b'a' 5.0"]), (two, ["woke b'a' 5.0", "began b'b'"])] * 3:
        assert lines(controller.act(state, "timer 5s little_app.packet_in").events) == expected


def test_timers_spend_a_budget_which_is_nothing_unless_given(tmp_path: Path) -> None:
    app = write_app(
        tmp_path,
        """
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.ticks = 0
            self.ticker = hub.spawn(self.tick)

        def tick(self):
            while True:
                hub.sleep(10)
                self.ticks += 1
        """,
    )
    assert control(app).actions(control(app).initial()) == ("join s1",)
    controller = control(app, timers=2)
    state = controller.initial()
    for left in (2, 1):
        assert controller.actions(state)[1:] == ("timer 10s little_app.tick",)
        assert state.timers == left
        state = controller.act(state, "timer 10s little_app.tick").state
    assert controller.actions(state) == ("join s1",)


TICKING = """
def start(self):
    super().start()
    for seconds in (3, 2, 2.5):
        hub.spawn_after(seconds, self.ring, seconds)
    hub.spawn_after(2, self.ring, 'too')

def ring(self, what):
    print(what)
"""


def test_only_the_earliest_timers_may_go_off_and_each_has_its_name(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, TICKING), timers=None)
    state = controller.initial()
    assert controller.actions(state) == ("join s1", "timer 2s little_app.ring", "timer 2s little_app.ring #2")
    step = controller.act(state, "timer 2s little_app.ring #2")
    assert lines(step.events) == ["too"]
    assert controller.actions(step.state) == ("join s1", "timer 2s little_app.ring")
    step = controller.act(step.state, "timer 2s little_app.ring")
    assert controller.actions(step.state) == ("join s1", "timer 2.5s little_app.ring")


def test_the_worlds_time_lets_timers_go_off_at_their_moments(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, TICKING))
    assert isinstance(controller, Timed)
    assert controller.deadline(controller.initial()) == 2000
    world = World(network_of(controller, "single,2"))
    records = world.advance(2600)
    assert [line for record in records for line in lines(record.events)] == ["2", "too", "2.5"]
    assert controller.deadline(world.state("c0")) == 3000
    assert lines(world.advance(400)[0].events) == ["3"]
    assert controller.deadline(world.state("c0")) is None


def test_time_makes_states_differ_only_for_a_program_that_looks_at_the_clock(tmp_path: Path) -> None:
    ticking = """
    def start(self):
        super().start()
        hub.spawn(self.tick)

    def tick(self):
        while True:
            hub.sleep(10)
            LOOK
    """
    blind = control(write_app(tmp_path, ticking.replace("LOOK", "pass"), "blind"), timers=None)
    after = blind.act(blind.initial(), "timer 10s blind.tick").state
    assert after == blind.initial()
    assert blind.deadline(after) == 20_000
    watching = control(
        write_app(tmp_path, ticking.replace("LOOK", "time.monotonic()"), "watching"), timers=None
    )
    once = watching.act(watching.initial(), "timer 10s watching.tick").state
    assert watching.act(once, "timer 10s watching.tick").state != once


def test_tasks_inside_for_loops_are_told_apart_by_how_far_they_are(tmp_path: Path) -> None:
    app = write_app(
        tmp_path,
        """
        def start(self):
            super().start()
            hub.spawn(self.count)

        def count(self):
            for _ in (1, 2):
                hub.sleep(1)
            print('done')
        """,
    )
    controller = control(app, timers=None)
    step = Step(controller.initial())
    states = [step.state]
    for _ in (1, 2):
        step = controller.act(step.state, "timer 1s little_app.count")
        states.append(step.state)
    assert len(set(states)) == 3
    assert lines(step.events) == ["done"]


def test_what_hangs_on_sleeping_tasks_can_be_cleared_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock._controllers.osken.program._STACKS", 4)
    body = """
try:
    hub.sleep(5)
    print('woke')
finally:
    self.cleaned = getattr(self, 'cleaned', 0) + 1
"""
    controller = control(write_app(tmp_path, body), timers=None)
    asleep = handle(controller, b"a").state
    steps = [controller.act(asleep, "timer 5s little_app.packet_in") for _ in range(12)]
    assert all(step == steps[0] for step in steps)
    assert len(controller._program.hub.stacks) < 6


# Threads and locks.

TAKES = "import threading\nself.lock = getattr(self, 'lock', None) or threading.{}()\nself.lock.acquire()"


def test_one_thread_hands_all_events_to_an_app(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, TAKES.format("RLock") + "\nprint('in')"))
    second = handle(controller, b"b", state=handle(controller, b"a").state)
    assert lines(second.events) == ["in"]
    assert [event.kind for event in second.events] == ["log"]


def test_an_app_knows_the_thread_that_hands_it_events_by_one_object(tmp_path: Path) -> None:
    known = "i = hub.getcurrent()\nprint(getattr(self, 'i', i) is i, i.dead, hub.spawn(int) is i)\nself.i = i"
    controller = control(write_app(tmp_path, known))
    step = handle(controller, b"a")
    assert (
        lines(step.events) == lines(handle(controller, b"b", state=step.state).events) == ["True False False"]
    )


def test_a_plain_lock_that_a_handler_keeps_blocks_the_next_one(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, TAKES.format("Lock")))
    step = handle(controller, b"b", state=handle(controller, b"a").state)
    assert [(event.kind, "left locked" in str(event.detail[1])) for event in step.events] == [("hung", True)]


def test_a_thread_that_exits_is_no_crash(tmp_path: Path) -> None:
    body = "import sys, threading\nthreading.Thread(target=sys.exit).start()"
    assert handle(control(write_app(tmp_path, body)), b"a").events == ()
