"""How many flow-mods a switch takes, in which time and memory, and what it says to one too many.

    python -m bench.flow_mods [--entries 1000000] [--json]

All go into one table, at a hundred priorities and in no order.  Then a packet is looked up, further flow-mods
and packets take turns, and entries are deleted strictly, one by one; the time for each of these says whether
a large table costs more than a small one.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from penstock._world.frame import Frame
from penstock._world.switch import PortSpec, Switch, SwitchOptions
from penstock._world.switch.budgets import MOST_ENTRIES
from penstock.openflow.actions import ApplyActions, Output
from penstock.openflow.match import Match
from penstock.openflow.messages import V13, Error, FlowCommand, FlowMod

PORTS: Final = (1, 2, 3)
PRIORITIES: Final = 100
SPREAD: Final = 7919
"""A prime, so that addresses come in no order."""
TURNS: Final = 1000
FRAME: Final = Frame(bytes.fromhex("000000000002000000000001") + b"\x12\x34 some payload", "h1#1")


def flow_mods(numbers: Iterable[int], command: FlowCommand = FlowCommand.ADD) -> Iterator[FlowMod]:
    """Yield a flow-mod for each number."""
    for number in numbers:
        match = Match.of(eth_dst=number * SPREAD % (1 << 40), in_port=PORTS[number % 3])
        actions = ApplyActions((Output(PORTS[number % 3]),))
        yield FlowMod(command, match, (actions,), priority=number % PRIORITIES + 1)


class Filling:
    """A switch that is told one flow-mod after the other."""

    def __init__(self, entries: int) -> None:
        ports = tuple(PortSpec(number, f"s1-eth{number}", number) for number in PORTS)
        self._switch = Switch("s1", 1, ports, SwitchOptions(version=V13, table_size=entries))
        self._state = self._switch.initial()

    @property
    def size(self) -> int:
        """How many entries there are."""
        return sum(map(len, self._state.tables.values()))

    def tell(self, messages: Iterable[FlowMod]) -> list[Error]:
        """Have the switch take messages; return what it says to those that it refuses."""
        refused: list[Error] = []
        for message in messages:
            step = self._switch.receive(self._state, "c0", message)
            self._state = step.state
            refused += (sent.message for sent in step.sends if isinstance(sent.message, Error))
        return refused

    def look_up(self) -> None:
        """Have a packet come in."""
        self._state = self._switch.receive(self._state, 1, FRAME).state

    def take_turns(self, messages: Iterable[FlowMod]) -> None:
        """Have a packet come in after each message."""
        for message in messages:
            self.tell((message,))
            self.look_up()


def timed(work: Callable[[], Any]) -> float:
    begin = time.process_time()
    work()
    return round(time.process_time() - begin, 3)


def measure(entries: int) -> dict[str, Any]:
    filling = Filling(entries)
    first = timed(lambda: filling.tell(flow_mods(range(entries // 10))))
    rest = timed(lambda: filling.tell(flow_mods(range(entries // 10, entries))))
    held = filling.size
    (refused,) = filling.tell(flow_mods((entries,)))
    turns = min(TURNS, entries)
    lookup = timed(filling.look_up)
    strict = timed(lambda: filling.tell(flow_mods(range(turns), FlowCommand.DELETE_STRICT)))
    filling.look_up()
    return {
        "entries": held,
        "first_tenth_cpu_seconds": first,
        "cpu_seconds": round(first + rest, 3),
        "one_too_many": refused.name(V13),
        "first_look_up_cpu_seconds": lookup,
        "strict_deletes": turns,
        "strict_deletes_cpu_seconds": strict,
        "turns_cpu_seconds": timed(lambda: filling.take_turns(flow_mods(range(turns)))),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


def story(found: dict[str, Any]) -> str:
    return (
        "{entries} flow-mods in {cpu_seconds} s of processor time, the first tenth in "
        "{first_tenth_cpu_seconds} s; one more is refused: {one_too_many}\n"
        "  the first packet is looked up in {first_look_up_cpu_seconds} s\n"
        "  {strict_deletes} strict deletes in {strict_deletes_cpu_seconds} s\n"
        "  {strict_deletes} flow-mods and packets in turn in {turns_cpu_seconds} s\n"
        "  peak memory {peak_rss_mb} MB"
    ).format(**found)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.flow_mods", description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=MOST_ENTRIES)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.entries)
    print(json.dumps(found) if options.json else story(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
