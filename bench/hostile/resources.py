"""Networks, groups, packets and machines that are made to take more than there is."""

from __future__ import annotations

import resource
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from bench.hostile.apps import write_app
from bench.hostile.attack import Attack, demand, penstock

KIND: Final = "resources"
OVERRUN_S: Final = 1.0
"""How far a command may go over its limit, on a machine that has nothing else to do."""

_GROUPS: Final = """
for n in range({count}):
    buckets = [parser.OFPBucket(actions=[parser.OFPActionGroup(n + 1) if n + 1 < {count} else parser.OFPActionOutput(1)]) for _ in range(2)]
    groups.append(parser.OFPGroupMod(switch, ofp.OFPGC_ADD, ofp.OFPGT_ALL, n, buckets))
for group in reversed(groups): switch.send_msg(group)
switch.send_msg(parser.OFPFlowMod(switch, priority=9, match=parser.OFPMatch(), instructions=[parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, [parser.OFPActionGroup(0)])]))
"""


class Glutton(NamedTuple):
    """An app that sends a switch what takes much, and what must come of it."""

    name: str
    place: str
    code: str
    expected: str
    words: tuple[str, ...] = ("check", "--seconds", "20")
    topology: str = "single,2"
    limits: Mapping[int, int] = MappingProxyType({})


GLUTTONS: Final = (
    Glutton("31 groups that make 2^30 copies", "join", "groups = []" + _GROUPS.format(count=31), "dropped over a budget"),
    Glutton("a group that leads back to itself", "join", "switch.send_msg(parser.OFPGroupMod(switch, ofp.OFPGC_ADD, ofp.OFPGT_ALL, 1, [parser.OFPBucket(actions=[parser.OFPActionGroup(1)])]))\nswitch.send_msg(parser.OFPFlowMod(switch, priority=9, match=parser.OFPMatch(), instructions=[parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, [parser.OFPActionGroup(1)])]))", "dropped over a budget"),
    Glutton("4,000 floods in one packet-out", "packet", "flood.actions *= 4000\nflood.buf = None\nswitch.send_msg(flood)", "an end within the limit"),
    Glutton("100,000 rules when a switch joins", "join", "for n in range(100_000): switch.send_msg(parser.OFPFlowMod(switch, priority=2, match=parser.OFPMatch(eth_dst=n), instructions=[]))", "an end within the limit", ("check", "--seconds", "30")),
    Glutton("a million timers", "init", "from os_ken.lib import hub\nfor n in range(100_000): hub.spawn_after(n, print)", "an end within the limit"),
    Glutton("fattree,8 and 1 second", "init", "pass", "an end within the limit", ("check", "--seconds", "1"), "fattree,8"),
    Glutton("linear,200 and 1 second", "init", "pass", "an end within the limit", ("check", "--seconds", "1"), "linear,200"),
    Glutton("fattree,8 in verify and 1 second", "init", "pass", "an end within the limit", ("verify", "--seconds", "1"), "fattree,8"),
    Glutton("fattree,8 in walk and 1 second", "init", "pass", "an end within the limit", ("walk", "--seconds", "1"), "fattree,8"),
    Glutton("ring,3 and 200 MB of memory", "packet", "pass", "bounded", ("check", "--memory", "200", "--seconds", "60"), "ring,3"),
    Glutton("160 MB of address space", "packet", "pass", "one sentence or a verdict", ("check", "--seconds", "20"), limits={resource.RLIMIT_AS: 160 << 20}),
    Glutton("10 open files", "packet", "pass", "one sentence or a verdict", ("check", "--seconds", "20"), limits={resource.RLIMIT_NOFILE: 10}),
)  # fmt: skip


def _glut(each: Glutton, folder: Path) -> str:
    write_app(folder, each.place, each.code)
    command, *given = each.words
    done = penstock(folder, command, "app.py", "--topo", each.topology, *given, limits=each.limits)
    told = f"exit {done.status} after {done.seconds} s: {done.last_line[:120]}"
    demand(done.status in (0, 1, 2, 3) and done.said.strip(), told)
    seconds = float(each.words[each.words.index("--seconds") + 1])
    # Starting Python, and other work on the machine, count as well: the figure is printed.
    demand(done.seconds < 3 * seconds + 20, told)
    return told


def _interrupted(times: int, code: str, words: tuple[str, ...], folder: Path) -> str:
    mark = folder / "begun"
    write_app(folder, "packet", f"open({str(mark)!r}, 'w').close()\n{code}")
    taken: list[float] = []

    def press(process: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + 60
        while not mark.exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.3)
        began = time.monotonic()
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        process.wait(60)
        taken.append(time.monotonic() - began)

    command, *given = words
    done = penstock(folder, command, "app.py", "--topo", "single,2", *given, act=press)
    told = f"exit {done.status}, {taken[0]:.1f} s after Ctrl-C"
    demand(done.status == 3, f"{told}: {done.last_line[:120]}")
    demand(taken[0] < 10, told)
    return told


_WAITS: Final = "ours, theirs = socket.socketpair(); ours.recv(1)"
_DEAF: Final = "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n"


def attacks() -> Iterator[Attack]:
    """Yield the attacks of this kind."""
    for each in GLUTTONS:
        yield Attack(KIND, each.name, each.expected, partial(_glut, each))
    for times in (1, 2):
        for name, code in (("loops", "while True: pass"), ("waits", _WAITS), ("is deaf", _DEAF + _WAITS)):
            for words in (("check",), ("verify", "-p", "ControllerCrash"), ("fuzz", "--profile", "traffic")):
                if times == 1 or words[0] == "check":
                    yield Attack(
                        KIND,
                        f"Ctrl-C {'once' if times == 1 else 'twice'} in {words[0]} while a handler {name}",
                        "an end within a second, exit 3",
                        partial(_interrupted, times, code, words),
                    )
