"""`penstock trace-packet`, `openflow`, `diff` and `plot`: tools to find out why.

What they print of a trace is a stranger's text, so nothing of it can steer a terminal.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import click

from penstock._base.files import write_whole
from penstock._base.terminal import say, say_lines
from penstock._base.text import json_text
from penstock._cli.consenting import consent_to_look
from penstock._replay.player import Playable, load_switches
from penstock._rootcause.journeys import Hop, MetRule, find_packet, journey, packets_of
from penstock._rootcause.ordering import Comparison, Happening, Inversion, compare, happenings
from penstock._rootcause.plotting import as_svg, as_text, progress_file, read_points
from penstock._rootcause.reduction import Reduced, Rewind, reduce_commands
from penstock._story.story import numbered, sentences, tell
from penstock._trace.retelling import record_of, stories_of
from penstock._trace.trace import Trace, read_trace, trace_file
from penstock._world.transition import Record
from penstock.errors import PenstockError

DIFFERENT: Final = 1
_INDENT: Final = "     "

HELP: Final = """\
  next [N]          take the next N lines (just Enter takes one)
  back [N]          go back N steps
  go LINE           go to a line of the trace; 'go end' to the violation, or the last
  flows [SWITCH]    show the flow tables of a switch, or of all
  ports SWITCH      show the ports of a switch, and where they lead
  queues            show what is in flight
  path H1 H2 [WHAT] show which way a packet would take now (ping, arp, tcp, udp)
  help              show this
  quit              leave"""

Ask = Callable[[], str]


# Packets.


def run_trace_packet(
    path: Path,
    packet: str | None,
    *,
    at: int | None,
    ends: tuple[str | None, str | None],
    protocol: str,
    run: bool,
    as_json: bool,
) -> int:
    """Tell which way a packet of a trace took, or which way one would take at a line of it."""
    host, to = ends
    if (host is None) != (to is None):
        raise PenstockError("A packet goes from one host to another: give both --from and --to.")
    if host is not None and to is not None:
        if packet is not None:
            raise PenstockError("Give either a packet of the trace, or --from and --to for one that is not.")
        return _try_packet(path, at, (host, to, protocol), run=run, as_json=as_json)
    if at is not None:
        raise PenstockError("--at is for a packet that is not in the trace: give --from and --to, too.")
    trace = read_trace(trace_file(path))
    if packet is None:
        return _list_packets(trace, as_json=as_json)
    hops = journey(trace, find_packet(trace, packet))
    say(json_text([_hop_as_json(hop) for hop in hops])) if as_json else say_lines(_hop_lines(hops))
    return 0


def _list_packets(trace: Trace, *, as_json: bool) -> int:
    found = list(packets_of(trace))
    if as_json:
        rows = [{"line": one.line, "channel": one.channel, "packet": one.frame} for one in found]
        say(json_text(rows))
    else:
        say_lines(f"{one.line:>6}  {one.channel}  {one.frame}" for one in found)
        say(f"{len(found):,} packets; give one by its name or the number of its line.")
    return 0


def _hop_lines(hops: list[Hop]) -> Iterator[str]:
    stories = stories_of(hop.line for hop in hops)
    for hop, told in zip(hops, stories, strict=True):
        yield from numbered(hop.line.number, told)
        yield from (f"{_INDENT}{_origin(rule)}" for rule in hop.rules)
        yield from (f"{_INDENT}⇒ {fate}" for fate in hop.fates)


def _origin(rule: MetRule) -> str:
    if rule.added is None:
        return f"that rule was in table {rule.table} before the trace begins"
    told = f"that rule came in line {rule.added}"
    if rule.said is not None:
        told += f", sent in line {rule.said}"
    if rule.because is not None and rule.because != rule.said:
        told += f", after line {rule.because}"
    return told


def _hop_as_json(hop: Hop) -> dict[str, Any]:
    return {
        "line": hop.line.number,
        "node": hop.line.node,
        "transition": hop.line.transition,
        "message": hop.line.message,
        "rules": [
            {
                "table": rule.table,
                "rule": rule.rule,
                "added": rule.added,
                "said": rule.said,
                "because": rule.because,
            }
            for rule in hop.rules
        ],
        "fates": list(hop.fates),
    }


def _try_packet(path: Path, at: int | None, packet: tuple[str, str, str], *, run: bool, as_json: bool) -> int:
    rewind = _at(_playable(path, run=run), at)
    records = list(rewind.path(*packet))
    if as_json:
        rows = [{"node": record.node, "step": str(record), "events": _texts(record)} for record in records]
        say(json_text({"line": rewind.line, "hops": rows, "difference": _difference(rewind)}))
        return 0
    say_lines(_moment_lines(rewind))
    say_lines(tell(records))
    return 0


def _texts(record: Record) -> list[str]:
    return list(map(str, record.events))


# OpenFlow replay.


def _playable(path: Path, *, run: bool) -> Playable:
    return load_switches(path, consent_to_look(path, run=run))


def _at(playable: Playable, line: int | None) -> Rewind:
    """Return the switches of a trace right after a line; by default at the violation."""
    rewind = Rewind(playable)
    rewind.go_to(playable.end if line is None else line)
    return rewind


def _difference(rewind: Rewind) -> str | None:
    found = rewind.difference
    return None if found is None else f"line {found.line} does not go as recorded: {found.how}"


def _moment_lines(rewind: Rewind) -> Iterator[str]:
    if difference := _difference(rewind):
        yield f"Beware: {difference}."
    yield f"After line {rewind.line}, at {rewind.world.clock / 1000:g} s:"


def run_openflow(
    path: Path,
    *,
    at: int | None,
    reduce: bool,
    as_json: bool,
    interactive: bool,
    run: bool = False,
    ask: Ask | None = None,
) -> int:
    """Replay the OpenFlow messages of a trace to its switches alone; look at them, or reduce the messages."""
    if reduce:
        reduced = reduce_commands(_playable(path, run=run), at)
        say(_reduced_as_json(reduced)) if as_json else say_lines(_reduced_lines(reduced))
        return 0
    if interactive:
        if as_json:
            raise PenstockError("The console speaks to people: leave --json or --interactive out.")
        _converse(RewindConsole(_playable(path, run=run)), at, ask)
        return 0
    rewind = _at(_playable(path, run=run), at)
    if as_json:
        say(json_text(_moment_as_json(rewind)))
    else:
        say_lines(_moment_lines(rewind))
        say_lines(_everything(rewind))
    return 0


def _everything(rewind: Rewind) -> Iterator[str]:
    for switch in rewind.playable.switches:
        yield switch
        yield from (f"  {text}" for text in (*rewind.flows(switch), *rewind.ports(switch)))
    yield "in flight"
    yield from [f"  {text}" for text in rewind.queues()] or ["  nothing"]


def _moment_as_json(rewind: Rewind) -> dict[str, Any]:
    switches = rewind.playable.switches
    return {
        "line": rewind.line,
        "at": rewind.world.clock,
        "flows": {switch: list(rewind.flows(switch)) for switch in switches},
        "ports": {switch: list(rewind.ports(switch)) for switch in switches},
        "queues": list(rewind.queues()),
        "difference": _difference(rewind),
    }


def _reduced_lines(reduced: Reduced) -> Iterator[str]:
    for command in reduced.kept:
        yield f"{command.line:>6}  {command.controller} to {command.switch}: {command.message}"
    yield (
        f"{len(reduced.kept):,} of {reduced.all_commands:,} commands make the tables after line "
        f"{reduced.line}; none of them can be left out ({reduced.tests:,} trials)."
    )


def _reduced_as_json(reduced: Reduced) -> str:
    kept = [
        {
            "line": command.line,
            "controller": command.controller,
            "switch": command.switch,
            "command": str(command.message),
        }
        for command in reduced.kept
    ]
    return json_text(
        {"line": reduced.line, "commands": reduced.all_commands, "kept": kept, "tests": reduced.tests}
    )


class RewindConsole:
    """A person's hands on a replay."""

    def __init__(self, playable: Playable) -> None:
        self.rewind = Rewind(playable)
        self._commands: dict[str, Callable[..., Iterator[str]]] = {
            "next": self._next,
            "back": self._back,
            "go": self._go,
            "flows": self._flows,
            "ports": self.rewind.ports,
            "queues": self._queues,
            "path": self._path,
            "help": lambda: iter(HELP.splitlines()),
        }

    def obey(self, words: str) -> list[str]:
        """Do what was typed and return what there is to say about it."""
        name, *rest = words.split() or ["next"]
        command = self._commands.get(name)
        if command is None:
            raise PenstockError(f"{words[:60]!r} is not a command: type help.")
        try:
            inspect.signature(command).bind(*rest)
        except TypeError:
            raise PenstockError(
                f"{name!r} takes other words than {' '.join(rest)[:60]!r}: see help."
            ) from None
        return list(command(*rest))

    def _next(self, count: str = "1") -> Iterator[str]:
        for _ in range(_number(count)):
            line = self.rewind.forward().line
            yield from numbered(line.number, next(sentences([record_of(line)])))
        yield from self._beware()

    def _back(self, count: str = "1") -> Iterator[str]:
        self.rewind.go_back(_number(count))
        yield f"after line {self.rewind.line}"

    def _go(self, line: str) -> Iterator[str]:
        self.rewind.go_to(self.rewind.playable.end if line == "end" else _number(line))
        yield f"after line {self.rewind.line}"
        yield from self._beware()

    def _beware(self) -> Iterator[str]:
        if difference := _difference(self.rewind):
            yield f"Beware: {difference}."

    def _flows(self, switch: str = "") -> Iterator[str]:
        if switch:
            yield from self.rewind.flows(switch)
            return
        for name in self.rewind.playable.switches:
            yield from (f"{name}  {text}" for text in self.rewind.flows(name))

    def _queues(self) -> Iterator[str]:
        yield from list(self.rewind.queues()) or ["nothing is in flight"]

    def _path(self, host: str, to: str, *protocol: str) -> Iterator[str]:
        return tell(tuple(self.rewind.path(host, to, *protocol[:1])))


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise PenstockError(f"{text[:40]!r} is not a number from 0 up.")
    return int(text)


def _converse(console: RewindConsole, at: int | None, ask: Ask | None) -> None:
    if at is not None:
        console.rewind.go_to(at)
    say(f"After line {console.rewind.line}; 'help' tells what can be typed.")
    while True:
        try:
            words = ask() if ask is not None else click.prompt("replay", default="", show_default=False)
        except (EOFError, click.Abort):
            return
        if words.strip() in ("quit", "q", "exit"):
            return
        try:
            say_lines(console.obey(words))
        except PenstockError as error:
            say(str(error))


# Two traces.


def run_diff(first: Path, second: Path, *, most: int, as_json: bool) -> int:
    """Tell how two traces differ; the status is 1 if they do."""
    one, other = (happenings(read_trace(trace_file(path))) for path in (first, second))
    found = compare(one, other)
    say(_comparison_as_json(found)) if as_json else say_lines(_comparison_lines(found, most))
    return 0 if found.is_alike else DIFFERENT


def _comparison_lines(found: Comparison, most: int) -> Iterator[str]:
    if found.is_alike:
        yield f"Both do the same: {found.common:,} events, in the same order."
        return
    yield f"{found.common:,} events are in both."
    for label, mark, events in (
        ("first", "-", found.only_first),
        ("second", "+", found.only_second),
    ):
        if events:
            yield ""
            yield f"Only in the {label}, {len(events):,}:"
            yield from (f"  {mark} {event}" for event in events[:most])
            if len(events) > most:
                yield f"  {mark} … and {len(events) - most:,} more (--most shows more)"
    if found.inversion is not None:
        yield ""
        yield "The first two that come in another order:"
        yield from _inversion_lines(found.inversion)
    if found.at_one_place is not None and found.at_one_place != found.inversion:
        yield ""
        yield f"The first two that {found.at_one_place.after.node} saw in another order:"
        yield from _inversion_lines(found.at_one_place)


def _inversion_lines(found: Inversion) -> Iterator[str]:
    yield f"  first:  {found.before}"
    yield f"          {found.after}"
    yield f"  second: {found.there_first}"
    yield f"          {found.there_second}"


def _comparison_as_json(found: Comparison) -> str:
    return json_text(
        {
            "common": found.common,
            "only_first": [_happening_as_json(event) for event in found.only_first],
            "only_second": [_happening_as_json(event) for event in found.only_second],
            "inversion": _inversion_as_json(found.inversion),
            "at_one_place": _inversion_as_json(found.at_one_place),
        }
    )


def _happening_as_json(event: Happening) -> dict[str, Any]:
    return {"line": event.line, "text": event.text}


def _inversion_as_json(found: Inversion | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "first": [_happening_as_json(found.before), _happening_as_json(found.after)],
        "second": [_happening_as_json(found.there_first), _happening_as_json(found.there_second)],
    }


# The picture of a minimisation.


def run_plot(path: Path, output: Path | None) -> int:
    """Print how a minimisation went, and write it as SVG, by default beside its progress."""
    file = progress_file(path)
    points = read_points(file)
    say_lines(as_text(points))
    into = file.with_suffix(".svg") if output is None else output
    write_whole(into, as_svg(points), "The picture")
    say(f"Drawn in {into}")
    return 0
