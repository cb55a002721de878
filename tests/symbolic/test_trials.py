"""What a program decides without its being seen is found by trying what it may look for.

Each program here takes its value out of sight for certain: the run is told that there is none.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest
from tests.soundness.judging import by_check, by_verify
from tests.soundness.programs import Lines, Program, app, scenario

from penstock._controllers.probing import Before

UNFOUND = "packets that could not be found"

UNSEEN = """\
from penstock._concolic import run as _run
class unseen:
    def __enter__(self):
        self.run, _run.Run.current = _run.Run.current, None
    def __exit__(self, *_):
        _run.Run.current = self.run
"""
OSKEN_PORT = """\
from os_ken.lib.packet import packet, udp
def port_of(msg):
    header = packet.Packet(msg.data).get_protocol(udp.udp)
    return header.dst_port if header else 0
"""
NATIVE_PORT = """\
def port_of(message):
    with unseen():
        data = bytes(message.data)
        return int.from_bytes(data[36:38]) if data[12:14] == b'\\x08\\x00' and data[23] == 17 else 0
"""

BUGS = {
    "at once": "if port_of(msg) == 12345: raise RuntimeError('bug')",
    "worked out": "if port_of(msg) == WANTED[0]: raise RuntimeError('bug')",
    "as a text": "if str(int(port_of(msg)))[::-1] == '54321': raise RuntimeError('bug')",
    "in a variable": "wanted = int('23' + str(456))\nif port_of(msg) == wanted: raise RuntimeError('bug')",
    "returned": "if port_of(msg) == other(): raise RuntimeError('bug')",
    "from there on": "if port_of(msg) > 60000: raise RuntimeError('bug')",
    "kept": "if self.last == 12345: raise RuntimeError('bug')\nself.last = int(port_of(msg))",
    "counted": "self.hits[int(port_of(msg))] += 1\nif self.hits[12345] > 1: raise RuntimeError('bug')",
    "never returns": "if port_of(msg) == 12345: self.lock.acquire()\nelse: self.lock.locked()",
}


def _program(body: str, *, native: bool = False) -> Program:
    before = f"{UNSEEN}{NATIVE_PORT if native else OSKEN_PORT}WANTED = [int('12' + '345')]\n"
    before += "def other(): return int(''.join(map(chr, [50, 51, 52, 53, 54])))\n"
    setup = (
        "self.last = 0\nself.hits = collections.Counter()\nself.lock = threading.Lock()\nself.lock.acquire()"
    )
    if native:
        body = body.replace("msg", "message")
    lines = Lines(before, "", setup, f"with unseen():\n{indent(body, '    ')}")
    table = scenario("app.py", "ControllerCrash", "ControllerHang", native=native)
    table["hosts"] = {"h1": {"count": 2}, "h2": {"count": 0}}
    return Program("unseen", "unseen", {"app.py": app(lines, native=native)}, table, "bug", "bug")


@pytest.mark.parametrize("native", [False, True], ids=["osken", "native"])
@pytest.mark.parametrize("body", BUGS.values(), ids=BUGS.keys())
def test_check_finds_what_it_did_not_see(body: str, native: bool, tmp_path: Path) -> None:
    assert by_check(_program(body, native=native), tmp_path).word == "found"


@pytest.mark.parametrize("body", [BUGS["at once"], BUGS["kept"]], ids=["at once", "kept"])
def test_so_does_verify(body: str, tmp_path: Path) -> None:
    assert by_verify(_program(body), tmp_path).word == "found"


def test_what_was_not_seen_bounds_the_result_even_if_nothing_is_broken(tmp_path: Path) -> None:
    judged = by_check(_program("if port_of(msg) == 12345: return"), tmp_path)
    assert judged == ("bounded", (UNFOUND,))


@pytest.mark.parametrize(
    "body",
    [
        "",
        "self.hits[port_of(msg)] += 1",
        "if port_of(msg) == 12345: self.logger.info('that port')",
        "if random.random() < 0.5: self.last = 1",
    ],
)
def test_nothing_is_said_of_a_program_that_decides_in_sight(body: str, tmp_path: Path) -> None:
    lines = Lines(OSKEN_PORT, "", "self.last = 0\nself.hits = collections.Counter()", body)
    program = Program("seen", "seen", {"app.py": app(lines)}, scenario("app.py"), "safe", "safe")
    assert UNFOUND not in by_check(program, tmp_path).reasons


def _safe(body: str, *, native: bool = False) -> Program:
    lines = Lines("BIG = (1 << 20000) - 1", "", "self.count = 0", body)
    table = scenario("app.py", "ControllerCrash", "ControllerHang", native=native)
    table["hosts"] = {"h1": {"count": 1}, "h2": {"count": 0}}
    return Program("safe", "safe", {"app.py": app(lines, native=native)}, table, "safe", "safe")


COUNTED = "self.count += 1\nif self.count == 5: "
"""What is done at the fifth packet, where a scenario has one."""


@pytest.mark.parametrize("native", [False, True], ids=["osken", "native"])
@pytest.mark.parametrize("end", ["raise RuntimeError('late')", "sum(0 for _ in iter(int, 1))"])
def test_what_comes_of_many_packets_is_nobodys_fault_where_there_is_one(
    end: str, native: bool, tmp_path: Path
) -> None:
    program = _safe(COUNTED + end, native=native)
    assert by_check(program, tmp_path).word == "clear"


def test_a_program_may_close_the_session_that_a_message_came_by(tmp_path: Path) -> None:
    assert by_check(_safe("dp.close()"), tmp_path).word in ("clear", "bounded")


def test_what_was_handed_over_before_makes_another_call() -> None:
    first, second = Before(), Before()
    assert first.digest == second.digest == b""
    first.add(("s1", "a"))
    second.add(("s1", "b"))
    assert len({b"", first.digest, second.digest}) == 3
