"""What to try next where a result is bounded, or a property never had anything to judge.

`next_steps` maps why an engine stopped (`stopping.Bound`) and what it measured (`Ran`) to suggestions, the
most promising first.  A suggestion is a value: fields of a scenario to change, or another command, and why.
It is rendered for people (the option of the command line where there is one, else the scenario's line) and
for programs.  The order of promise follows what finds bugs soonest: likelier orders first, then reductions
that miss nothing, then less to search, and only then more of the bound that was reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from penstock._base.typed import flags_of, made_from, toml_of
from penstock._engine.building import TIMERS, plan
from penstock._explore.strategies.base import Narrowing, Ordering
from penstock._explore.strategies.random_walks import RandomWalks
from penstock._scenario.options import SymbolicOptions, options_of
from penstock._scenario.scenario import SECTIONS, Scenario
from penstock._verdict.verdict import Bound, Why
from penstock._world.topology import Topology, topology
from penstock.errors import PenstockError

MOST: Final = 6
"""How many suggestions are worth reading."""
FURTHER: Final = 10
"""How many times more of time, states or inputs are suggested: less seldom gets a level deeper."""

Change = tuple[str, str, Any]
"""A table of the scenario ("" for its top), a key in it, and the value it should have."""

_KINDS: Final[Mapping[str, type]] = {"": Scenario, **SECTIONS, "walk": RandomWalks}
"""What describes the fields of each table; walks have none of their own in a scenario."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Something to try: changes of the scenario for a command, and why they are promising."""

    command: str
    changes: tuple[Change, ...]
    why: str

    @property
    def options(self) -> tuple[str, ...]:
        """The words on the command line that say the same; empty if the scenario itself has to change."""
        words: list[str] = []
        for table, key, value in self.changes:
            flag = dict(flags_of(_KINDS[table], self.command)).get(key) if table in _KINDS else None
            if flag is None:
                return ()
            for each in value if isinstance(value, list) else [value]:
                words += [flag.name] if each is True else [flag.name, str(each)]
        return tuple(words)

    @property
    def lines(self) -> str:
        """The lines of the scenario that say the same; empty where no scenario can."""
        table: dict[str, Any] = {}
        for name, key, value in self.changes:
            if name == "walk":
                return ""
            inside = table
            for part in filter(None, name.split(".")):
                inside = inside.setdefault(part, {})
            inside[key] = value
        return toml_of(table).strip().replace("\n\n", "\n") if table else ""

    def __str__(self) -> str:
        if self.options or not self.changes:
            words = " ".join(f'"{word}"' if " " in word else word for word in self.options)
            what = f"penstock {self.command} SCENARIO {words}".rstrip()
        else:
            what = f"in the scenario, {self._in_words()}"
        return f"{what}: {self.why}."

    def _in_words(self) -> str:
        """Return the changes in one line, table by table."""
        tables: dict[str, list[str]] = {}
        for table, key, value in self.changes:
            tables.setdefault(table, []).append(toml_of({"": {key: value}}).split("\n")[2])
        return ", ".join(f"[{table}] {' and '.join(lines)}" for table, lines in tables.items())

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "command": self.command,
            "options": list(self.options),
            "scenario": self.lines,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Ran:
    """What an engine was given and measured, as far as suggestions go by it."""

    engine: str
    scenario: Scenario
    states: int = 0
    depth: int = 0
    walk: Mapping[str, int] = field(default_factory=dict)
    """Of random walks, their seed, how many and how long."""
    lost: Sequence[str] = ()
    """Where in the app it was lost what packets depend on, `app.py, line 7`."""
    unexercised: Sequence[str] = ()
    """The properties that never had anything to judge."""
    passing: int = 0
    """How many violations of a fuzzing run did not last."""

    @property
    def names(self) -> list[str]:
        """The names of the strategies in use."""
        return [each.name for each in plan(self.scenario).strategies]


def next_steps(ran: Ran, bounds: Sequence[str]) -> tuple[Suggestion, ...]:
    """Return what to try next, the most promising first."""
    found: list[Suggestion] = []
    for bound in bounds:
        if isinstance(bound, Bound) and bound.why in _BY_WHY:
            found += _BY_WHY[bound.why](ran, bound)
    found = [*{repr(each.changes): each for each in reversed(found)}.values()][::-1][:MOST]
    for name in ran.unexercised:
        found += _exercise(ran, name)
    return tuple({repr(each.changes) + each.command: each for each in reversed(found)}.values())[::-1]


def advice(steps: Sequence[Suggestion]) -> Iterator[str]:
    """Yield suggestions as lines of text."""
    if steps:
        yield "Next steps, in this order:"
        yield from (f"  {number}. {step}" for number, step in enumerate(steps, 1))


# By what stopped it.


def _searched_too_little(ran: Ran, bound: Bound) -> Iterator[Suggestion]:
    """Yield what helps a search that met more states than it had room or time for."""
    if ran.engine == "verify":
        yield from _proved_too_little(ran, bound)
        return
    if ran.engine == "walk":
        yield from _walked_too_little(ran, bound)
        return
    strategies = plan(ran.scenario).strategies
    if not any(isinstance(each, Ordering) for each in strategies):
        yield _search(ran, "strategies", [*_spelt(ran), "races"], "orders in which messages race come first")
    if bound.why is Why.MEMORY and not ran.scenario.limits().compact:
        yield _search(ran, "compact", True, "states are remembered by 64-bit fingerprints")
    if "ample" not in ran.scenario.limits().reductions:
        yield _search(ran, "reductions", ["ample"], "fewer states, and no violation is missed")
    if not any(isinstance(each, Narrowing) for each in strategies):
        yield _search(
            ran, "strategies", [*_spelt(ran), "no-delay"], "control messages arrive at once: far fewer orders"
        )
    yield from _smaller(ran)
    yield from _fewer_packets(ran)
    yield from _more(ran, bound)


def _spelt(ran: Ran) -> list[str]:
    """Return the strategies in use that can be named on the command line."""
    return [each for each in ran.scenario.limits().strategies if isinstance(each, str)]


def _proved_too_little(ran: Ran, bound: Bound) -> Iterator[Suggestion]:
    if options_of(ran.scenario.verify).mode != "penstock":
        yield Suggestion(
            "verify", (("verify", "mode", "penstock"),), "the reductions that leave the fewest states"
        )
    claims = ran.scenario.verify.get("properties", ())
    if isinstance(claims, list | tuple) and len(claims) > 1:
        yield Suggestion("verify", (("verify", "properties", [claims[0]]),), "one property at a time")
    yield from _smaller(ran)
    yield from _more(ran, bound)
    yield Suggestion("check", (), "looks for a violation with a few packets, which needs no proof")


def _walked_too_little(ran: Ran, bound: Bound) -> Iterator[Suggestion]:
    walk = ran.walk
    if walk and ran.depth >= walk["longest"]:
        yield Suggestion(
            "walk", (("walk", "longest", walk["longest"] * FURTHER),), "walks were cut off before they ended"
        )
    yield Suggestion("check", (("search", "strategies", ["races"]),), "likely orders first, and none twice")
    if walk:
        yield Suggestion("walk", (("walk", "seed", walk["seed"] + 1),), "another seed takes other walks")
        more = walk["walks"] * FURTHER
        yield Suggestion("walk", (("walk", "walks", more),), f"{FURTHER} times as many walks")
    if bound.why is not Why.WALKS:
        yield from _more(ran, bound)


def _too_shallow(ran: Ran, bound: Bound) -> Iterator[Suggestion]:
    deeper = int(bound.amount or ran.depth or 1) * 2
    yield _search(ran, "depth", deeper, "twice as deep")
    if ran.engine == "check" and not any(
        isinstance(each, Ordering) for each in plan(ran.scenario).strategies
    ):
        yield _search(ran, "strategies", [*_spelt(ran), "races"], "orders in which messages race come first")


def _too_few_delays(ran: Ran, bound: Bound) -> Iterator[Suggestion]:
    more = int(bound.amount or 0) + 1
    yield _search(ran, "strategies", [f"delay-bounded:delays={more}"], "one more delay")
    yield _search(ran, "strategies", ["delay-bounded"], "any number of delays, fewest first")


def _narrowed(ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    """Yield how to search what strategies left out."""
    yield Suggestion(
        "check", (("search", "strategies", ["races"]),), "in place of those strategies: it leaves nothing out"
    )
    bounding = plan(ran.scenario).bounding
    if bounding is not None:
        more = f"pkt-seq:count={bounding.count + 1}"
        yield _search(ran, "strategies", [more], "each host may send one packet more")


def _unfound(ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    """Yield what helps where packets could not all be found: say what hosts send, or look longer."""
    if ran.engine == "verify":
        yield from _look_longer(ran)
        yield Suggestion("check", (), "looks for a violation with the packets that were found")
        return
    where = f" past {ran.lost[0]}" if ran.lost else ""
    sender, receiver = _two_hosts(ran.scenario)
    if not ran.lost:
        yield from _look_longer(ran)
    yield Suggestion(
        ran.engine,
        ((f"hosts.{sender}", "kind", "client"), (f"hosts.{sender}", "to", receiver)),
        f"a packet of your own choosing gets{where or ' there too'}; file.py:Class sends any other",
    )
    if ran.lost:
        yield from _look_longer(ran)
    yield Suggestion(
        "fuzz",
        (("fuzz", "profile", "traffic"),),
        "random packets need no path through the handler to be found",
    )


def _look_longer(ran: Ran) -> Iterator[Suggestion]:
    options = made_from(SymbolicOptions, ran.scenario.symbolic, "symbolic")
    changes: tuple[Change, ...] = (("symbolic", "paths", options.paths * FURTHER),)
    if options.seconds is not None:
        changes = (*changes, ("symbolic", "seconds", options.seconds * FURTHER))
    yield Suggestion(ran.engine, changes, "more paths through each handler are tried")


def _interrupted(ran: Ran, bound: Bound) -> Iterator[Suggestion]:
    if ran.engine == "fuzz":
        yield from _fuzzed_too_little(ran, bound)
    else:
        yield from _searched_too_little(ran, bound)


def _fuzzed_too_little(ran: Ran, bound: Bound) -> Iterator[Suggestion]:
    """Yield what another run may find."""
    options = ran.scenario.fuzzing()
    yield Suggestion("fuzz", (("fuzz", "seed", options.seed + 1),), "another seed draws other inputs")
    if ran.passing:
        shorter = max(options.persistent_ms // FURTHER, 1)
        text = "violations that passed count if they last this long"
        yield Suggestion("fuzz", (("fuzz", "persistent_ms", shorter),), text)
    if options.profile != "everything":
        text = "also tables that fill up, rules that vanish, flow-mods without effect"
        yield Suggestion("fuzz", (("fuzz", "profile", "everything"),), text)
    if options.order == "fifo" and not _has_processes(ran.scenario):
        text = "messages of different switches overtake each other"
        yield Suggestion("fuzz", (("fuzz", "order", "random"),), text)
    if bound.why is Why.SECONDS or options.events is None:
        more = FURTHER * (options.seconds or 10)
        yield Suggestion("fuzz", (("fuzz", "seconds", _rounded(more)),), f"{FURTHER} times as long")
    else:
        yield Suggestion(
            "fuzz", (("fuzz", "events", FURTHER * options.events),), f"{FURTHER} times as many inputs"
        )


def _has_processes(scenario: Scenario) -> bool:
    """Tell whether a controller is a process, which decides for itself what comes when."""
    given = scenario.controllers.values() or [scenario.controller]
    return any(isinstance(table, Mapping) and "cmd" in table for table in given)


def _trace_too_large(ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    room = ran.scenario.fuzzing().trace_mb
    yield Suggestion("fuzz", (("fuzz", "trace_mb", room * 2),), "the trace may grow twice as large")
    yield Suggestion(
        "fuzz", (("fuzz", "seed", ran.scenario.fuzzing().seed + 1),), "another seed, with less to say"
    )


def _inputs_over(_ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    yield Suggestion("fuzz", (("fuzz", "inputs", []),), "without inputs of their own, runs draw them")
    yield Suggestion("fuzz", (("fuzz", "order", "random"),), "the same inputs with other orders of delivery")


def _crashed(ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    yield Suggestion(ran.engine, (("fuzz", "after_crash", "restart"),), "the run goes on after a crash")


def _timers(ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    text = "a search lets timers go off, that many of them"
    given = ran.scenario.controller.get("timers") if isinstance(ran.scenario.controller, Mapping) else None
    before = given if isinstance(given, int) and given else TIMERS
    more = 3 * before if ran.engine == "check" else before
    yield Suggestion("check", (("controller", "timers", more),), text)
    yield Suggestion("fuzz", (), "a run lets all of them go off, in virtual time")


def _too_many_programs(ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    yield from _smaller(ran)
    yield Suggestion("check", (), "a search does not need the program's states to end")


def _unfollowed(_ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    yield Suggestion("check", (), "a search follows all that a proof does not, with a few packets")
    yield Suggestion("fuzz", (), "a run follows it too, with many packets and failures")


def _untold(_ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    yield Suggestion("fuzz", (), "a run judges by where the rules send all packets, whatever became of one")


def _unseen(_ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    yield Suggestion("fuzz", (), "one run from its beginning to its end needs no state to be put back")


def _cut_off(ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    yield Suggestion(ran.engine, (("search", "network", True),), "every run of the program may call others")


def _used_up(ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    """Yield how a program comes to be called less often."""
    if ran.engine != "fuzz":
        yield Suggestion("fuzz", (), "one run from its beginning to its end calls the program less often")
    yield Suggestion(ran.engine, (("", "topology", "linear,2"),), "a small network calls it less often")


def _unsent(ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    """Yield how hosts come to send something."""
    sender, receiver = _two_hosts(ran.scenario)
    if sender == receiver:
        yield Suggestion("fuzz", (("", "topology", "linear,2"),), "two hosts can send each other packets")
    if any(isinstance(given, Mapping) and "kind" in given for given in ran.scenario.hosts.values()):
        yield Suggestion("fuzz", (("", "hosts", {}),), "hosts without a kind send what the run draws")
    if ran.scenario.fuzzing().inputs:
        more = [*ran.scenario.fuzzing().inputs, f"send {sender} to {receiver} ping 1"]
        yield Suggestion("fuzz", (("fuzz", "inputs", more),), "a packet for what the inputs change to matter")
    else:
        changes: tuple[Change, ...] = (("fuzz", "profile", "traffic"),)
        if ran.scenario.fuzzing().rates:
            changes = (*changes, ("fuzz", "rates", {}))
        yield Suggestion("fuzz", changes, "mostly packets, with the usual rates")


def _unconnected(_ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    text = "sessions do not break, so that switches and controllers get to know each other"
    yield Suggestion("fuzz", (("fuzz", "profile", "traffic"),), text)


def _no_table_miss(ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    yield _reachability()
    if ran.scenario.openflow != "1.0":
        text = "there, a packet that meets no rule goes to the controller without a table-miss rule"
        yield Suggestion("fuzz", (("", "openflow", "1.0"),), text)


def _unanswered(ran: Ran, bound: Bound) -> Iterator[Suggestion]:
    yield from _longer(ran, bound)
    yield _reachability()


def _empty_packet_outs(ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    if not ran.scenario.switches.get("buffers"):
        text = "the switches keep packets for the controller, which relies on it"
        yield Suggestion(ran.engine, (("switches", "buffers", 256),), text)
    yield _reachability()


def _undelivered(_ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    yield _reachability()


def _longer(ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    """Yield a run that waits for a controller that takes its time."""
    options = ran.scenario.fuzzing()
    seconds = max(120, _rounded(2 * (options.seconds or 0)))
    if _has_processes(ran.scenario):
        text = "long enough for spanning trees and discovery to come to an end"
        yield Suggestion("fuzz", (("fuzz", "seconds", seconds),), text)
    else:
        text = "virtual time passes between inputs, so that timers of the controller go off"
        yield Suggestion("fuzz", (("fuzz", "interval_ms", 1000),), text)


def _reachability() -> Suggestion:
    text = "what hosts cannot reach is then a violation, with its cause"
    return Suggestion("fuzz", (("fuzz", "invariants", ["AllPairsReachability"]),), text)


def _unmetered(ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    yield Suggestion(
        ran.engine, (("switches", "overruns", 1),), "one packet may exceed a meter's rate, at any moment"
    )
    yield Suggestion("fuzz", (), "a run has a clock, by which meters limit")


def _chosen(ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    naming = "that names the rules, and a packet that meets both"
    yield Suggestion(ran.engine, (("", "properties", ["NoAmbiguousRules"]),), naming)
    choosing = "a switch may come to use the other rule, at any moment"
    yield Suggestion("check", (("switches", "overlaps", 1),), choosing)


def _spread(ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    sender, receiver = _two_hosts(ran.scenario)
    own = ((f"hosts.{sender}", "kind", "client"), (f"hosts.{sender}", "to", receiver))
    yield Suggestion(ran.engine, own, "flows of your own choosing go to other buckets")
    yield Suggestion("fuzz", (), "a run has many flows, which go to all buckets")


def _scope(ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    more = tuple(
        (f"hosts.{name}", "count", 10 * table["count"])
        for name, table in ran.scenario.hosts.items()
        if isinstance(table, Mapping) and table.get("count")
    )
    yield Suggestion(ran.engine, more, "hosts send more packets; without count, any number")


def _faulty(ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    yield Suggestion(ran.engine, (), "again, once what raised is mended")


def _died(ran: Ran, _bound: Bound) -> Iterator[Suggestion]:
    yield Suggestion(ran.engine, (), "again, once what ends the process is mended")
    yield from _smaller(ran)


_BY_WHY: Final[Mapping[Why, Callable[[Ran, Bound], Iterator[Suggestion]]]] = {
    Why.STATES: _searched_too_little,
    Why.SECONDS: lambda ran, bound: (
        _fuzzed_too_little(ran, bound) if ran.engine == "fuzz" else _searched_too_little(ran, bound)
    ),
    Why.MEMORY: _searched_too_little,
    Why.FULL: _searched_too_little,
    Why.DEPTH: _too_shallow,
    Why.DELAYS: _too_few_delays,
    Why.WALKS: _walked_too_little,
    Why.NARROWED: _narrowed,
    Why.UNFOUND: _unfound,
    Why.INTERRUPTED: _interrupted,
    Why.FAULT: _faulty,
    Why.WORKER: _died,
    Why.EVENTS: _fuzzed_too_little,
    Why.TRACE_SIZE: _trace_too_large,
    Why.INPUTS: _inputs_over,
    Why.CRASH: _crashed,
    Why.PROGRAM_STATES: _too_many_programs,
    Why.TIMERS: _timers,
    Why.METERS: _unmetered,
    Why.CHOSEN: _chosen,
    Why.SPREAD: _spread,
    Why.SCOPE: _scope,
    Why.UNTOLD: _untold,
    Why.UNFOLLOWED: _unfollowed,
    Why.UNSEEN_STATE: _unseen,
    Why.NETWORK: _cut_off,
    Why.LIMITS: _used_up,
    Why.UNSENT: _unsent,
    Why.UNCONNECTED: _unconnected,
    Why.NO_TABLE_MISS: _no_table_miss,
    Why.UNANSWERED: _unanswered,
    Why.EMPTY_PACKET_OUTS: _empty_packet_outs,
    Why.WITHOUT_ACTIONS: _undelivered,
    Why.REFUSED: _undelivered,
    Why.HOLDING_DOWN: _longer,
    Why.LOST: _undelivered,
}
"""What to try after each bound; the first violation is none, and properties without anything to judge have
suggestions of their own (`_exercise`)."""


# Parts that several have in common.


def _search(ran: Ran, key: str, value: Any, why: str) -> Suggestion:
    return Suggestion(ran.engine, (("search", key, value),), why)


def _more(ran: Ran, bound: Bound) -> Iterator[Suggestion]:
    """Yield more of the bound that was reached."""
    limits = ran.scenario.limits_of_proof() if ran.engine == "verify" else ran.scenario.limits()
    match bound.why:
        case Why.SECONDS:
            seconds = _rounded(FURTHER * (limits.seconds or 10))
            yield _search(ran, "seconds", seconds, f"{FURTHER} times as long")
        case Why.STATES:
            yield _search(ran, "states", FURTHER * (limits.states or 1000), f"{FURTHER} times as many states")
        case Why.MEMORY:
            yield _search(ran, "memory_mb", 2 * (limits.memory_mb or 1000), "twice the memory")
        case _:
            return


def _rounded(number: float) -> float | int:
    return int(number) if number == int(number) else number


def _smaller(ran: Ran) -> Iterator[Suggestion]:
    """Yield the next smaller network of the same shape, if there is one with two hosts."""
    given = ran.scenario.topology
    if isinstance(given, str) and (smaller := _smaller_shape(given)) is not None:
        yield Suggestion(ran.engine, (("", "topology", smaller),), "most bugs show in the smallest network")


def _smaller_shape(text: str) -> str | None:
    name, *numbers = text.split(",")
    size = _size(topology(text))
    for place in range(len(numbers)):
        fewer = [*numbers]
        fewer[place] = str(int(fewer[place]) - 1)
        try:
            made = topology(",".join([name, *fewer]))
        except (PenstockError, ValueError):
            continue
        if len(made.hosts) >= 2 and _size(made) < size:
            return ",".join([name, *fewer])
    return None


def _size(made: Topology) -> int:
    return len(made.hosts) + len(made.switches) + len(made.links)


def _fewer_packets(ran: Ran) -> Iterator[Suggestion]:
    """Yield one packet for each host, where hosts may send more than that."""
    counts = [given.get("count", 1) for given in ran.scenario.hosts.values() if isinstance(given, Mapping)]
    finds_traffic = not any(
        "kind" in given for given in ran.scenario.hosts.values() if isinstance(given, Mapping)
    )
    more_than_one = any(isinstance(count, int) and count > 1 for count in counts) or finds_traffic
    if more_than_one and "pkt-seq" not in ran.names:
        strategies = [*_spelt(ran), "pkt-seq:count=1"]
        yield _search(ran, "strategies", strategies, "each host sends one packet only")


def _two_hosts(scenario: Scenario) -> tuple[str, str]:
    """Return the names of two hosts of a scenario's network."""
    given = scenario.topology
    drawn = topology(given) if isinstance(given, str) else given if isinstance(given, Topology) else None
    names = [node.name for node in drawn.hosts] if drawn is not None else ["h1", "h2"]
    return names[0], names[1] if len(names) > 1 else names[0]


def _exercise(ran: Ran, name: str) -> Iterator[Suggestion]:
    """Yield the lines of a scenario that put a property to the test."""
    sender, receiver = _two_hosts(ran.scenario)
    talks: tuple[Change, ...] = ((f"hosts.{sender}", "kind", "ping"), (f"hosts.{sender}", "to", receiver))
    text = f"{name} then has packets to judge"
    match name:
        case "NoForgottenPackets":
            yield Suggestion(
                ran.engine, (("switches", "buffers", 4),), f"{name} judges switches with buffers"
            )
        case "NoBlackHolesMobile":
            moves: Change = (f"hosts.{receiver}", "mobility", {"places": ["s1:9"], "moves": 1})
            yield Suggestion(ran.engine, (*talks, moves), f"{name} judges packets to a host that moved")
        case "DirectPaths" | "StrictDirectPaths":
            more: Change = (f"hosts.{sender}", "count", 3)
            yield Suggestion(ran.engine, (*talks, more), f"{name} judges packets after the first of a flow")
        case "FlowAffinity":
            opens: tuple[Change, ...] = (
                (f"hosts.{sender}", "kind", "tcp-client"),
                (f"hosts.{sender}", "to", receiver),
            )
            yield Suggestion(ran.engine, opens, f"{name} judges connections of several packets")
        case "ControllerCrash" | "ControllerHang":
            text = f"{name} then sees switches join and packets come in"
            yield Suggestion(ran.engine, (("search", "start", "cold"), *talks), text)
        case _:
            yield Suggestion(ran.engine, talks, text)
