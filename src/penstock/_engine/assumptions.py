"""What a search takes for granted: the limits of the scenario's world, each with what would lift it.

A verdict holds for the world that was searched.  What that world leaves out is no reason to call a search
bounded, since the scenario says so; but nobody should have to guess it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from penstock._controllers.native import NativeController
from penstock._controllers.osken.dice import MOST
from penstock._engine.building import Built
from penstock._symbolic.remembering import cut_ties
from penstock._world.faults import Faults
from penstock._world.hosts import Host
from penstock._world.hosts.symbolic_host import SymbolicHost
from penstock._world.switch import Switch

_FAULTS: Final[Mapping[str, str]] = {
    "link_failures": "links fail",
    "switch_failures": "switches fail",
    "controller_crashes": "controllers crash",
    "disconnects": "control sessions break",
    "drops": "frames are lost",
    "duplicates": "frames are doubled",
    "reorders": "frames overtake each other",
    "rule_expiries": "rules expire",
}


def assumptions_of_search(built: Built) -> tuple[str, ...]:
    """Return what a search of a network takes for granted, in sentences that name what covers it."""
    return (
        *_faults(built.network.fabric.faults),
        *_properties(built),
        *_controller(built),
        *_hosts(built),
        *_switches(built),
    )


def _faults(faults: Faults) -> Iterator[str]:
    never = [f"{told} ({name})" for name, told in _FAULTS.items() if not getattr(faults, name)]
    if never:
        yield f"It never happens that {', '.join(never)}: each takes a budget in [faults]."
    for name, told in _FAULTS.items():
        if count := getattr(faults, name):
            yield f"It happens at most {_times(count)} that {told}: {name} in [faults]."


_FAILURES: Final = ("link_failures", "switch_failures", "controller_crashes", "disconnects")


def _properties(built: Built) -> Iterator[str]:
    faults = built.network.fabric.faults
    if any(getattr(faults, name) for name in _FAILURES):
        for made in built.properties:
            if what := made.unjudged_after_faults:
                yield (
                    f"Once a link, switch, control session or controller has failed, {made.name} no longer "
                    f"judges {what}: write a property of your own for that."
                )


def _times(count: int) -> str:
    return f"{count} time{'' if count == 1 else 's'}"


def _controller(built: Built) -> Iterator[str]:
    yield (
        "The program has one process number and one seed for the hashes of texts in all runs: PYTHONHASHSEED "
        "has others tried."
    )
    for component in built.network.components:
        timers = getattr(component, "timers", None)
        if isinstance(component, NativeController):
            yield "Time stands still for the program: only an os-ken app has timers."
        elif isinstance(timers, int):
            often = f"go off at most {_times(timers)}" if timers else "never go off"
            yield f"Timers {often}, and the clock stands still in between: timers in [controller]."
            yield "Tasks and threads of the controller switch where they wait, first come first served."
            yield (
                f"A draw from random comes out every way if there are at most {MOST} ways; of more, some are "
                "tried, and the result says so."
            )


def _hosts(built: Built) -> Iterator[str]:
    hosts = [component for component in built.network.components if isinstance(component, Host)]
    curious = [host for host in hosts if isinstance(host, SymbolicHost)]
    if curious:
        most = max(host.count for host in curious)
        yield f"A host sends at most {most} packet{'' if most == 1 else 's'}: count in [hosts.NAME]."
        bursts = [host.burst for host in curious if host.burst is not None and host.burst < host.count]
        if bursts:
            waits = f"{max(bursts)} {'is' if max(bursts) == 1 else 'are'} unanswered"
            yield f"A host sends no other packet while {waits}: burst in [hosts.NAME]."
        yield (
            "Hosts send no truncated frames, fragments, IP options, IPv6 extension headers or second VLAN "
            'tags: a host of your own does (kind = "file.py:Class").'
        )
        yield (
            "Of packets that no controller hears of, one is sent in a run, as the last, with addresses that "
            "belong together: hosts of a kind send more."
        )
    if any(not host.spoofs for host in curious):
        yield "Hosts send under their own addresses alone: spoofs in [hosts.NAME]."
    if built.discovery is not None and built.discovery.cuts_ties:
        yield cut_ties(built.discovery.options.ties)
    if len(curious) < len(hosts):
        yield "Hosts of a kind send what that says: without a kind they find out what makes a difference."


def _switches(built: Built) -> Iterator[str]:
    options = [made.options for made in built.network.components if isinstance(made, Switch)]
    if any(not each.counters for each in options):
        yield "Switches count no packets, so statistics are all zero: counters in [switches]."
    if any(not each.buffers for each in options):
        yield (
            "Switches keep no packets for the controller, as Open vSwitch keeps none, and every packet_in "
            "has all of its packet and no buffer_id: buffers in [switches]."
        )
    if any(each.reorder == "none" for each in options):
        yield 'Switches obey messages in order: reorder = "between-barriers" in [switches].'
