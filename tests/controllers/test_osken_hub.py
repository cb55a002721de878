"""The hub: green threads in virtual time, with the manners of eventlet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock._controllers.osken import hub as hubs
from penstock._controllers.osken.hub import Hub, Overrun, TaskExit, Timeout, WouldWait
from penstock._controllers.osken.waiting import (
    BoundedSemaphore,
    Event,
    Queue,
    QueueEmpty,
    QueueFull,
    Semaphore,
    joinall,
)


@pytest.fixture
def hub() -> Iterator[Hub]:
    before, made = hubs.current(), Hub()
    hubs.use(made)
    yield made
    hubs.use(before)


@pytest.fixture
def told() -> list[Any]:
    return []


def run(hub: Hub, *tasks: Callable[[], Any]) -> None:
    """Run tasks until nothing is left, letting every timer go off."""
    for task in tasks:
        hub.spawn(task)
    hub.run(1000)
    while hub.agenda.timers:
        hub.fire(hub.agenda.timers[0])
        hub.run(1000)


def test_tasks_take_turns_in_the_order_in_which_they_are_ready(hub: Hub, told: list[Any]) -> None:
    def talk(name: str) -> None:
        for number in (1, 2):
            told.append(f"{name}{number}")
            hub.sleep(0)

    run(hub, lambda: talk("a"), lambda: talk("b"))
    assert told == ["a1", "b1", "a2", "b2"]


def test_time_moves_only_when_timers_go_off_and_then_in_their_order(hub: Hub, told: list[Any]) -> None:
    def wake_after(seconds: float) -> None:
        hub.sleep(seconds)
        told.append((seconds, hub.agenda.now))

    run(hub, lambda: wake_after(2), lambda: wake_after(0.5), lambda: hub.spawn_after(1, told.append, "later"))
    assert told == [(0.5, 500_000), "later", (2, 2_000_000)]


def test_who_waits_for_a_task_gets_its_result_or_its_error(hub: Hub, told: list[Any]) -> None:
    def fail() -> None:
        raise ValueError("no")

    def wait() -> None:
        told.append(hub.spawn(lambda: 42).wait())
        try:
            hub.spawn(fail, raise_error=True).wait()
        except ValueError as error:
            told.append(str(error))
        joinall([hub.spawn(hub.sleep, 3), hub.spawn(hub.sleep, 1)])
        told.append(hub.agenda.now)

    run(hub, wait)
    assert told == [42, "no", 3_000_000]
    assert hub.crashes == []


def test_a_task_that_fails_is_noted(hub: Hub) -> None:
    run(hub, lambda: 1 // 0)
    assert [type(error) for error in hub.crashes] == [ZeroDivisionError]


def test_a_killed_task_cleans_up_and_others_go_on(hub: Hub, told: list[Any]) -> None:
    def sleep() -> None:
        try:
            hub.sleep(100)
        except TaskExit:
            told.append("killed")
            raise
        finally:
            told.append("cleaned")

    def kill() -> None:
        task = hub.spawn(sleep)
        never = hub.spawn_after(1, told.append, "never")
        hub.sleep(0)
        task.kill()
        told.append(task.dead)
        task.kill()
        never.cancel()

    run(hub, kill)
    assert told == ["killed", "cleaned", True]
    assert hub.agenda.now == 0
    assert hub.crashes == []


def test_a_task_may_kill_itself_or_one_that_has_not_begun(hub: Hub, told: list[Any]) -> None:
    def end() -> None:
        hub.kill(hub.spawn(told.append, "never"))
        hub.kill(hub.task)
        told.append("never")

    run(hub, end)
    assert told == []


def test_a_timeout_is_raised_where_the_task_waits_unless_cancelled(hub: Hub, told: list[Any]) -> None:
    def wait() -> None:
        limit = Timeout(2)
        try:
            Event().wait()
        except Timeout as due:
            told.append((due is limit, str(due), limit.pending))
        with Timeout(1, False):
            hub.sleep(5)
            told.append("never")
        try:
            with Timeout(1, KeyError("own")):
                hub.sleep(5)
        except KeyError as error:
            told.append(error.args[0])
        with Timeout(1):
            told.append("in time")

    run(hub, wait)
    assert told == [(True, "2 seconds", False), "own", "in time"]
    assert hub.agenda.timers == []


def test_an_event_wakes_all_who_wait_and_stays_up(hub: Hub, told: list[Any]) -> None:
    flag = Event()

    def wait(timeout: float | None) -> None:
        told.append((flag.wait(timeout), hub.agenda.now))

    hub.spawn_after(2, flag.set)
    run(hub, lambda: wait(1), lambda: wait(None), lambda: wait(3))
    assert told == [(False, 1_000_000), (True, 2_000_000), (True, 2_000_000)]
    assert flag.is_set()
    flag.clear()
    assert not flag.is_set()


def test_a_queue_is_first_in_first_out_and_makes_both_sides_wait(hub: Hub, told: list[Any]) -> None:
    queue = Queue(1)

    def put() -> None:
        for item in "abc":
            queue.put(item)
            told.append(f"put {item}")

    def take() -> None:
        for _ in "abc":
            told.append(f"took {queue.get()}")

    run(hub, put, take)
    assert [line for line in told if "took" in line] == ["took a", "took b", "took c"]
    assert queue.empty()
    assert len(queue) == queue.qsize() == 0
    assert queue


def test_a_queue_that_nobody_serves_in_time(hub: Hub, told: list[Any]) -> None:
    queue = Queue(1)
    with pytest.raises(QueueEmpty):
        queue.get_nowait()
    queue.put_nowait("x")
    assert queue.full()
    with pytest.raises(QueueFull):
        queue.put("y", block=False)

    def wait() -> None:
        try:
            queue.put("y", timeout=1)
        except QueueFull:
            told.append(hub.agenda.now)
        queue.get()
        try:
            queue.get(timeout=1)
        except QueueEmpty:
            told.append(hub.agenda.now)

    run(hub, wait)
    assert told == [1_000_000, 2_000_000]


def test_a_served_queue_is_emptied_by_one_task_at_a_time(hub: Hub, told: list[Any]) -> None:
    queue = Queue()

    def serve() -> None:
        while not queue.empty():
            item = queue.get()
            hub.sleep(1)
            told.append((item, hub.agenda.now))

    queue.put("before")
    queue.serve(serve)
    run(hub, lambda: list(map(queue.put, "ab")))
    assert told == [("before", 1_000_000), ("a", 2_000_000), ("b", 3_000_000)]
    queue.put("c")
    run(hub)
    assert told[-1] == ("c", 4_000_000)


def test_a_semaphore_lets_in_so_many(hub: Hub, told: list[Any]) -> None:
    room = Semaphore(2)

    def enter(name: str) -> None:
        with room:
            hub.sleep(1)
            told.append((name, hub.agenda.now // 1_000_000))

    run(hub, *(lambda name=name: enter(name) for name in "abcd"))
    assert told == [("a", 1), ("b", 1), ("c", 2), ("d", 2)]
    assert room.acquire(blocking=False)
    assert room.acquire()
    assert not room.acquire(blocking=False)
    assert room.locked()


def test_a_bounded_semaphore_takes_no_more_than_it_gave() -> None:
    room = BoundedSemaphore(1)
    room.acquire()
    room.release()
    with pytest.raises(ValueError, match="released too many times"):
        room.release()


def test_waiting_is_for_tasks_only(hub: Hub) -> None:
    with pytest.raises(WouldWait, match=r"test_osken_hub\.test_waiting_is_for_tasks_only waits"):
        Event().wait()
    hub.sleep(3)
    assert hub.agenda.now == 3_000_000


def test_tasks_that_give_each_other_turns_for_ever_are_stopped(hub: Hub) -> None:
    def spin() -> None:
        while True:
            hub.sleep(0)

    hub.spawn(spin)
    with pytest.raises(Overrun, match="more than 50 turns"):
        hub.run(50)


def test_timers_are_named_for_who_waits_how_long(hub: Hub) -> None:
    def wait_at_length() -> None:
        hub.sleep(1.5)

    for _ in "ab":
        hub.spawn(wait_at_length)
    hub.spawn_after(1.5, wait_at_length)
    hub.run(10)
    assert list(hub.next_timers()) == [
        "1.5s test_osken_hub.wait_at_length",
        "1.5s test_osken_hub.wait_at_length #2",
        "1.5s test_osken_hub.wait_at_length #3",
    ]


def test_stacks_are_used_again(hub: Hub) -> None:
    seen = set()

    def look() -> None:
        assert hub.task is not None and hub.task.stack is not None
        seen.add(id(hub.task.stack.green))

    for _ in range(5):
        run(hub, look)
    assert len(seen) == 1
    assert hub.stacks == {}


def test_os_ken_itself_runs_on_this_hub() -> None:
    from penstock._controllers.osken import framework

    framework.install()
    from os_ken.lib import hub as os_kens

    assert os_kens is sys.modules["os_ken.lib.hub"]
    assert os_kens.Queue is Queue
    assert os_kens.HUB_TYPE == "penstock"
    assert "socket" not in {type(os_kens.listen(("127.0.0.1", 0))).__name__}
