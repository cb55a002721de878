"""What a program sees around it: time, chance, its output, its own variables, other apps."""

from __future__ import annotations

import ctypes
import datetime
import functools
import itertools
import logging
import random
import sys
import threading
import time
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.controllers.osken_lab import control, handle, joined, lines, network_of, write_app

from penstock._controllers.osken.determinism import Surroundings
from penstock._controllers.osken.hub import Hub
from penstock._world.world import World


def test_chance_is_a_function_of_the_state_and_what_happens(tmp_path: Path) -> None:
    body = "print(random.random(), uuid.uuid4(), random.Random().random(), random.choice('abc'))"
    controller = control(write_app(tmp_path, body))
    (once,) = lines(handle(controller, b"a").events)
    random.seed(3)
    undisturbed = random.getstate()
    assert lines(handle(controller, b"a").events) == [once]
    assert lines(handle(controller, b"b").events) != [once]
    assert random.getstate() == undisturbed


def test_time_stands_still_for_the_program_and_goes_on_for_others(tmp_path: Path) -> None:
    body = "print(time.time(), time.monotonic(), datetime.now(), time.strftime('%H:%M'), ev.timestamp)"
    real = time.time, time.sleep, random.random
    controller = control(write_app(tmp_path, body))
    expected = ["1500000000.0 0.0 2017-07-14 02:40:00 02:40 1500000000.0"]
    assert lines(handle(controller, b"a").events) == lines(handle(controller, b"b").events) == expected
    assert (time.time, time.sleep, random.random) == real


def test_other_threads_keep_their_clock_chance_and_output_during_a_step(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Any] = []

    def look() -> None:
        go.wait()
        print("from elsewhere")
        logging.getLogger("elsewhere").warning("logged elsewhere")
        seen.extend([time.monotonic(), type(itertools.count()), datetime.datetime.now().year])
        seen.extend([type(threading.Lock()), type(functools.lru_cache(repr))])

    go, thread = threading.Event(), threading.Thread(target=look)
    thread.start()
    surroundings = Surroundings(Hub(), 10)
    before = time.monotonic()
    with surroundings.around(b"seed"):
        go.set()
        thread.join()
        inside = time.monotonic()
        print("from the program")
    assert inside == 0.0 < before <= seen[0] <= time.monotonic()
    assert seen[1] is itertools.count
    assert seen[2] > 2017, "the virtual clock begins in 2017"
    assert surroundings.lines == ["from the program"]
    assert "from elsewhere" in capsys.readouterr().out
    assert "logged elsewhere" in caplog.text


def test_state_in_classes_modules_closures_and_defaults_is_put_back(tmp_path: Path) -> None:
    app = write_app(
        tmp_path,
        """
        total = 0
        shared = []

        @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
        def packet_in(self, ev, past=[]):
            global count
            count += 1
            type(self).total += 1
            self.shared.append(count)
            past.append(count)
            print(count, self.total, len(self.shared), len(past), tick(), next(numbers))
        """,
        before="""
        def ticker():
            ticks = 0
            def tick():
                nonlocal ticks
                ticks += 1
                return ticks
            return tick

        count, tick, numbers = 0, ticker(), itertools.count(1)
        """,
    )
    controller = control(app)
    start = joined(controller)
    for _ in range(3):
        assert lines(handle(controller, b"a", state=start).events) == ["1 1 1 1 1 1"]
        assert lines(handle(controller, b"a", b"b", state=start).events) == ["2 2 2 2 2 2"]
    assert controller.blind_spots == ()


def test_so_much_is_kept_of_what_is_logged_and_printed_and_no_more(tmp_path: Path) -> None:
    body = "self.logger.info('%s of %d', 'one', 2)\nself.logger.debug('no')\nfor n in range(99): print(n)"
    controller = control(write_app(tmp_path, body), lines=4)
    assert lines(handle(controller, b"x").events) == ["one of 2", "0", "1", "2", "…"]


# Several apps.


def test_apps_talk_to_each_other_through_events_and_requests(tmp_path: Path) -> None:
    write_app(
        tmp_path,
        """
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.name = 'service'

        @set_ev_cls(Question)
        def answer(self, request):
            hub.sleep(1)
            self.reply_to_request(request, Answer(request.src, request.number * 2))
        """,
        "service",
        before="""
        class Question(event.EventRequestBase):
            def __init__(self, number):
                super().__init__()
                self.dst, self.number = 'service', number

        class Answer(event.EventReplyBase):
            def __init__(self, dst, number):
                super().__init__(dst)
                self.number = number
        """,
    )
    asking = write_app(
        tmp_path, "print(self.send_request(service.Question(21)).number)", "asking", before="import service"
    )
    controller = control(asking, str(tmp_path / "service.py"), timers=None)
    step = handle(controller, b"x")
    assert controller.actions(step.state) == ("timer 1s service.answer",)
    for _ in range(2):
        assert lines(controller.act(step.state, "timer 1s service.answer").events) == ["42"]


def test_every_app_gets_every_packet(tmp_path: Path) -> None:
    apps = [write_app(tmp_path, f"print('{name}')", name) for name in ("first", "second")]
    assert lines(handle(control(*apps), b"x").events) == ["first", "second"]
    assert lines(handle(control(*reversed(apps)), b"x").events) == ["second", "first"]


def test_two_programs_take_turns_in_one_process(tmp_path: Path) -> None:
    body = (
        "self.seen = getattr(self, 'seen', 0) + 1; print('NAME', self.seen, len(app_manager.SERVICE_BRICKS))"
    )
    one = control(write_app(tmp_path, body.replace("NAME", "one"), "one"))
    first = joined(one)
    two = control(
        write_app(tmp_path, body.replace("NAME", "two"), "two"),
        write_app(tmp_path, "pass", "three"),
        name="c1",
    )
    second = joined(two)
    for _ in range(2):
        assert lines(handle(one, b"a", b"b", state=first).events) == ["one 2 2"]
        assert lines(handle(two, b"a", state=second).events) == ["two 1 3"]


def test_a_program_begins_with_fresh_modules(tmp_path: Path) -> None:
    body = "global count\ncount += 1\nprint(count)"
    app = write_app(tmp_path, body, before="count = 0")
    for _ in range(2):
        assert lines(handle(control(app), b"a").events) == ["1"]


def test_options_reach_the_program(tmp_path: Path) -> None:
    body = "print(self.CONF.observe_links, self.CONF.explicit_drop)"
    app = write_app(tmp_path, body)
    assert lines(handle(control(app), b"a").events) == ["False True"]
    chosen = control(app, observe_links=True, options={"explicit-drop": False})
    assert lines(handle(chosen, b"a").events) == ["True False"]
    # The next program does not inherit them.
    assert lines(handle(control(app), b"a").events) == ["False True"]


def test_link_discovery_finds_the_links(tmp_path: Path) -> None:
    app = write_app(
        tmp_path,
        """
        _CONTEXTS = {'switches': switches.Switches}

        @set_ev_cls(event.EventLinkAdd)
        def link(self, ev):
            print(ev.link.src.dpid, ev.link.src.port_no, ev.link.dst.dpid, ev.link.dst.port_no)
        """,
        before="from os_ken.topology import event, switches",
    )
    controller = control(app, shape="linear,2", observe_links=True)
    found: list[str] = []
    world = World(network_of(controller, "linear,2"), [lambda record: found.extend(lines(record.events))])
    world.run()
    for _ in range(20):
        world.advance(100)
        world.run()
    assert sorted(found) == ["1 2 2 2", "2 2 1 2"]


def test_chance_from_the_system_is_the_same_again(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, "print(os.getrandom(4))", before="import os"))
    assert lines(handle(controller, b"a").events) == lines(handle(controller, b"a").events)


def test_what_a_library_draws_when_it_is_imported_is_not_the_programs_chance(tmp_path: Path) -> None:
    # Imported for the first time, it makes a key for its child processes.
    known = {name: module for name, module in sys.modules.items() if name.startswith("multiprocessing")}
    for name in known:
        del sys.modules[name]
    try:
        drawing = control(write_app(tmp_path, "pass", before="import multiprocessing.process"))
    finally:
        sys.modules.update(known)
    assert drawing.reservations() == ()
    own = control(
        write_app(tmp_path, "pass", name="own_draw", before="import random\nD = random.randrange(3)")
    )
    assert "draws from random" in str(own.reservations())


def test_the_time_of_a_log_record_is_the_clock_to_who_looks_at_it(tmp_path: Path) -> None:
    handler = """
        import logging
        class Keeping(logging.Handler):
            def emit(self, record): self.kept = {}
        KEEPING = Keeping()
        logging.getLogger("kept").addHandler(KEEPING)
        """
    told = []
    for name, kept in (("by_message", "record.msg"), ("by_time", "record.created")):
        app = write_app(
            tmp_path, 'logging.getLogger("kept").warning("x")', name, dedent(handler).format(kept)
        )
        controller = control(app)
        handle(controller, b"a")
        told.append("reads the clock" in str(controller.reservations()))
    assert told == [False, True]


def test_what_penstocks_own_libraries_leave_in_ctypes_is_no_state_of_a_program(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, "pass", before="import ctypes"))
    handle(controller, b"a")
    ctypes.CFUNCTYPE(*[ctypes.c_double] * 23)  # as the solver's library does, which is loaded when needed
    controller.look()
    assert controller.reservations() == ()
