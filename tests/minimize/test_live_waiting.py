"""What live replays wait for, what they learn for the next, and controllers that are halted at a log line."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock._controllers.tcp import ports
from penstock._controllers.tcp.process import ControllerProcess, Program
from penstock._fuzz.inputs import Wait
from penstock._replay.live_play import HOPELESS, Barriers, LearnedTimings, Seen, TimeScale, Waiting, timers
from penstock._replay.recording import LOG, Event, RecordedInput, Recording, masked_log
from penstock._scenario.scenario import Scenario

LIMIT_S = 30


def event(line: int, after: int = 0, transition: str = "deliver c0:s1", message: str = "Barrier") -> Event:
    return Event(transition, message, line, after)


# Lessons.


def test_what_did_not_come_is_not_waited_for_with_fewer_inputs() -> None:
    lessons = LearnedTimings()
    lessons.miss([7], frozenset({1, 2, 3}))
    assert lessons.is_hopeless(7, frozenset({1, 3}))
    assert not lessons.is_hopeless(7, frozenset({1, 4}))
    assert not lessons.is_hopeless(8, frozenset({1}))


def test_what_never_comes_is_waited_for_no_more() -> None:
    lessons = LearnedTimings()
    for number in range(HOPELESS):
        lessons.miss([7], frozenset({number}))
    assert lessons.is_hopeless(7, frozenset({98, 99}))


def test_workers_learn_from_each_other() -> None:
    mine, yours = LearnedTimings(), LearnedTimings(pace=TimeScale.SHORT)
    mine.miss([7], frozenset({1}))
    yours.miss([7], frozenset({2}))
    mine.learn(yours)
    assert mine.pace is TimeScale.SHORT
    assert set(mine.missed[7]) == {frozenset({1}), frozenset({2})}
    mine.learn(LearnedTimings(pace=TimeScale.RECORDED))
    assert mine.pace is TimeScale.SHORT


# Events.


def test_what_came_out_of_silence_is_a_timers_work() -> None:
    assert timers([event(1, 2), event(2, 10), event(3, 900), event(4, 905)]) == {3}
    assert timers([event(1, 400)]) == {1}


@pytest.mark.parametrize(
    ("what", "waiting", "counts"),
    [
        (event(1, message="EchoRequest(3 bytes)"), Waiting(data=True, logs=True), False),
        (event(1, transition="deliver s1:2", message="frame"), Waiting(), False),
        (event(1, transition="deliver s1:2", message="frame"), Waiting(data=True), True),
        (event(1, transition=f"{LOG} c0"), Waiting(), False),
        (event(1, transition=f"{LOG} c0"), Waiting(logs=True), True),
        (event(1), Waiting(), True),
    ],
)
def test_keep_alives_pass_and_others_are_waited_for_on_request(
    what: Event, waiting: Waiting, *, counts: bool
) -> None:
    assert waiting.counts(what) is counts


def test_an_event_is_taken_as_often_as_it_happened() -> None:
    seen = Seen()
    seen.note("deliver c0:s1", "Barrier")
    assert seen.take(event(1))
    assert not seen.take(event(2))


# Barriers.

PROGRAM = """
import socket, sys, time
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
for number in range(100000):
    print("step", number, flush=True)
    with open(sys.argv[2], "w") as file:
        file.write(str(number))
    time.sleep(0.01)
"""


class Yard:
    """A controller's process that can be halted."""

    def __init__(self, folder: Path) -> None:
        (folder / "program.py").write_text(PROGRAM)
        self.count = folder / "count"
        port = ports.free_port()
        command = (sys.executable, str(folder / "program.py"), "{port}", str(self.count))
        self.barriers: Barriers | None = None
        self.process = ControllerProcess(Program("c0", command, port, folder), on_line=self.hear)

    def hear(self, text: str) -> None:
        if self.barriers is not None:
            self.barriers.hear("c0", masked_log(text))

    def halt(self, controller: str) -> None:
        assert controller == "c0"
        self.process.halt()

    def go_on(self, controller: str) -> None:
        assert controller == "c0"
        self.process.go_on()

    @property
    def stands_still(self) -> bool:
        return Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def shown(self) -> str:
        """Return how far the program has come; nothing, if it was halted before it could say."""
        return self.count.read_text() if self.count.exists() else ""


async def until(condition: Callable[[], bool]) -> None:
    limit = asyncio.get_running_loop().time() + LIMIT_S
    while not condition():
        assert asyncio.get_running_loop().time() < limit
        await asyncio.sleep(0.005)


def logging_after(inputs: int) -> Recording:
    """Return a script of three inputs in which a controller logs its step after so many of them."""
    cues = tuple(RecordedInput(Wait(1), line) for line in (1, 2, 3))
    expected: list[tuple[Event, ...]] = [(), (), (), ()]
    expected[inputs] = (Event(f"{LOG} c0", masked_log("step 0"), 9),)
    scenario = Scenario(controller={"cmd": "none", "port": 1}, topology="linear,1")
    return Recording(scenario, cues, tuple(expected), None)


def test_a_controller_that_is_ahead_stands_still_until_its_input_comes(tmp_path: Path) -> None:
    async def act() -> None:
        yard = Yard(tmp_path)
        barriers = yard.barriers = Barriers(logging_after(2), yard, 1000 * LIMIT_S)
        try:
            await yard.process.start()
            await until(lambda: yard.stands_still)
            before = yard.shown()
            barriers.reach(1)
            assert yard.stands_still and yard.shown() == before
            barriers.reach(2)
            await until(lambda: yard.shown() != before)
            assert barriers.halts == 1
        finally:
            await yard.process.kill()

    asyncio.run(act())


def test_nobody_stands_still_for_ever(tmp_path: Path) -> None:
    async def act() -> None:
        yard = Yard(tmp_path)
        yard.barriers = Barriers(logging_after(3), yard, 50)
        try:
            await yard.process.start()
            await until(lambda: yard.barriers is not None and yard.barriers.halts == 1)
            await until(lambda: int(yard.shown() or 0) > 20)
            assert not yard.stands_still
        finally:
            await yard.process.kill()

    asyncio.run(act())


def test_a_controller_that_is_not_ahead_goes_on(tmp_path: Path) -> None:
    async def act() -> None:
        yard = Yard(tmp_path)
        barriers = yard.barriers = Barriers(logging_after(1), yard, 1000 * LIMIT_S)
        barriers.reach(1)
        try:
            await yard.process.start()
            await until(lambda: int(yard.shown() or 0) > 5)
            assert barriers.halts == 0
        finally:
            await yard.process.kill()

    asyncio.run(act())
