"""Which code of an os-ken app did what, where that is noted."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

from tests.controllers.osken_lab import control, joined, packet, write_app

from penstock._controllers import origins
from penstock._story.story import sentences
from penstock._world.transition import DELIVER, Record, Transition

SEND = """
dp = ev.msg.datapath
dp.send_msg(dp.ofproto_parser.OFPBarrierRequest(dp))
"""


def events(folder: Path, body: str) -> dict[str, tuple[object, ...]]:
    """Return what is noted of a handler that is given a packet."""
    controller = control(write_app(folder, body))
    state = joined(controller)
    plain = controller.receive(state, "s1", packet())
    with origins.recorded():
        step = controller.receive(state, "s1", packet())
    assert not {event.kind for event in plain.events} & origins.NOTES, "searches note nothing"
    assert (plain.state, plain.sends) == (step.state, step.sends)
    return {event.kind: event.detail for event in step.events}


def line(folder: Path, text: str) -> int:
    lines = (folder / "little_app.py").read_text().splitlines()
    return next(number for number, source in enumerate(lines, 1) if text in source)


def test_who_sent_a_message(tmp_path: Path) -> None:
    noted = events(tmp_path, SEND)
    assert noted["code"] == (f"s1 little_app.py:{line(tmp_path, 'send_msg')}:packet_in",)


def test_where_a_handler_returned_that_sent_nothing(tmp_path: Path) -> None:
    noted = events(tmp_path, "if ev.msg.total_len:\n    return\nraise ValueError")
    assert noted["returned"] == (f"little_app.py:{line(tmp_path, 'return')}:packet_in",)


def test_code_of_others_that_runs_in_between_is_not_the_programs(tmp_path: Path) -> None:
    # As a plugin of a test framework may have it.
    there: dict[str, Any] = {"__name__": "installed"}
    exec(compile("def callback(*_): pass", "/lib/site-packages/installed.py", "exec"), there)
    gc.callbacks.append(there["callback"])
    try:
        noted = events(tmp_path, "import gc\ngc.collect()\nreturn")
    finally:
        gc.callbacks.remove(there["callback"])
    assert noted["returned"] == (f"little_app.py:{line(tmp_path, 'return')}:packet_in",)


def test_where_a_handler_raised(tmp_path: Path) -> None:
    noted = events(tmp_path, "int('x')  # here")
    assert noted["raised"] == (f"little_app.py:{line(tmp_path, '# here')}:packet_in",)


def test_where_a_handler_sleeps_is_told_in_the_story(tmp_path: Path) -> None:
    noted = events(tmp_path, "hub.sleep(3)")
    assert noted["asleep"] == ("c0", f"packet_in, little_app.py:{line(tmp_path, 'hub.sleep')}: hub.sleep(3)")
    controller = control(write_app(tmp_path, "hub.sleep(3)", name="sleepy_app"))
    with origins.recorded():
        step = controller.receive(joined(controller), "s1", packet())
    record = Record(Transition(DELIVER, "s1", "c0"), "c0", message=packet(), events=step.events)
    (told,) = sentences([record])
    assert told[1].startswith("still in packet_in, sleepy_app.py:") and "sends nothing" not in told


def test_a_task_that_is_no_handler_is_not_said_to_be_in_one(tmp_path: Path) -> None:
    assert "asleep" not in events(tmp_path, "hub.spawn(hub.sleep, 3)")
