"""Runs in the Informal Trace Format of Apalache, with the state of everything after each step.

    {"#meta": …, "vars": ["step", "action", …], "states": [{"#meta": {"index": 0}, "step": …}, …], "loop": 7}

`switches`, `hosts`, `controllers` and `fabric` map each component to the sections of its state (`flow table
0`, `ports`, …) and these to their lines; `channels` maps it to what it has sent that is under way.  `action`
and `node` say what happened and to whom, and are empty in the first state.  `loop` is the state that
follows the last one again, where a proof found a run that goes on for ever.

A trace has no states, so the run is taken again (see `_report.unfolding`); states end where that does.
Whole numbers are written as `#bigint`, functions as `#map`, as ADR 15 of Apalache has it; names from a trace
are never names of fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TextIO

from penstock._base.version import VERSION
from penstock._report.export.violations import source_of
from penstock._report.states import IN_FLIGHT
from penstock._report.unfolding import Unfolded, unfold
from penstock._trace.consent import Consent
from penstock._trace.trace import FuzzTrace, Line, ProofTrace, Trace
from penstock._verify.abstract_host import AbstractHost
from penstock._verify.abstract_switch import AbstractSwitch
from penstock._world.fabric import Fabric
from penstock._world.hosts import Host
from penstock._world.network import Network
from penstock._world.switch import Switch
from penstock.errors import PenstockError

_DESCRIPTION: Final = "https://apalache-mc.org/docs/adr/015adr-trace.html"
_SECTIONS: Final = "Str -> (Str -> Seq(Str))"
TYPES: Final[Mapping[str, str]] = {
    "step": "Int",
    "at": "Int",
    "action": "Str",
    "node": "Str",
    "switches": _SECTIONS,
    "hosts": _SECTIONS,
    "controllers": _SECTIONS,
    "fabric": _SECTIONS,
    "channels": "Str -> Seq(Str)",
}
"""The variables, with their types as Apalache writes them."""


def write_itf(path: Path, file: TextIO, consent: Consent | None = None) -> str:
    """Take a run again and write its states, those of controllers with consent; return what to remark."""
    source = source_of(path)
    trace = source.trace
    unfolded = unfold(trace, source.file.parent, consent)
    if unfolded.network is None:
        raise PenstockError(" ".join(unfolded.remarks) or f"{source.file.name} has no states.")
    lines = [line for line in trace.lines if unfolded.until is None or line.number <= unfolded.until]
    meta = {
        "format": "ITF",
        "format-description": _DESCRIPTION,
        "source": source.file.name,
        "description": f"Penstock {VERSION}{_verdict(trace)}",
        "varTypes": dict(TYPES),
    }
    file.write(f'{{"#meta": {json.dumps(meta)},\n"vars": {json.dumps(list(TYPES))},\n')
    loop = trace.loop if isinstance(trace, ProofTrace) else 0
    if loop and len(lines) == len(trace.lines):
        # The state after the last step is the one before the loop, so what follows is the loop's first.
        file.write(f'"loop": {len(lines) - loop + 1},\n')
    file.write('"states": [')
    states = _states(lines, unfolded, unfolded.network, timed=isinstance(trace, FuzzTrace))
    for index, state in enumerate(states):
        file.write(f'{"," if index else ""}\n{{"#meta": {{"index": {index}}}, {state}}}')
    file.write("\n]}\n")
    return " ".join((*unfolded.remarks, *unfolded.left_out))


def _verdict(trace: Trace) -> str:
    return "" if trace.verdict is None else f": {trace.verdict.property} is violated: {trace.verdict.message}"


def _states(lines: Iterable[Line], unfolded: Unfolded, network: Network, *, timed: bool) -> Iterator[str]:
    """Yield the states as the inside of JSON objects."""
    picture = _Picture(network)
    for component, section, texts in unfolded.start:
        picture.change(component, section, (), texts)
    yield _state(0, 0, "", "", picture)
    for line in lines:
        for change in unfolded.changes.get(line.number, ()):
            picture.change(change.component, change.section, change.removed, change.added)
        at = line.at or 0 if timed else line.number
        yield _state(line.number, at, line.transition, line.node, picture)


def _state(step: int, at: int, action: str, node: str, picture: _Picture) -> str:
    happened = {"step": _number(step), "at": _number(at), "action": action, "node": node}
    return f"{json.dumps(happened)[1:-1]}, {picture.text()}"


def _number(number: int) -> dict[str, str]:
    return {"#bigint": str(number)}


class _Picture:
    """All components of a network at one moment; what did not change is not written down anew."""

    def __init__(self, network: Network) -> None:
        self._kinds = {made.name: _kind(made) for made in network.components}
        self._sections: dict[str, dict[str, list[str]]] = {name: {} for name in network.names}
        self._written: dict[str, dict[str, str]] = {name: {} for name in TYPES if name not in _HAPPENED}
        for name, kind in self._kinds.items():
            self._write(kind, name, [])
            self._write("channels", name, [])
        self._stale: dict[tuple[str, str], None] = {}

    def change(self, component: str, section: str, removed: Iterable[str], added: Iterable[str]) -> None:
        """Take lines out of a section and add others."""
        lines = self._sections[component].setdefault(section, [])
        for text in removed:
            # Of sections that are too long, not all lines were ever here.
            if text in lines:
                lines.remove(text)
        lines += added
        self._stale[component, section] = None

    def text(self) -> str:
        """Return the variables as the inside of a JSON object."""
        for component in dict.fromkeys(name for name, section in self._stale if section != IN_FLIGHT):
            sections = [
                [name, lines]
                for name, lines in self._sections[component].items()
                if lines and name != IN_FLIGHT
            ]
            self._write(self._kinds[component], component, sections)
        for component in dict.fromkeys(name for name, section in self._stale if section == IN_FLIGHT):
            self._write("channels", component, self._sections[component][IN_FLIGHT])
        self._stale.clear()
        return ", ".join(
            f'"{variable}": {{"#map": [{", ".join(pairs.values())}]}}'
            for variable, pairs in self._written.items()
        )

    def _write(self, variable: str, component: str, value: Sequence[object]) -> None:
        shown = value if variable == "channels" else {"#map": value}
        self._written[variable][component] = json.dumps([component, shown])


_HAPPENED: Final = ("step", "at", "action", "node")


def _kind(component: object) -> str:
    match component:
        case Switch() | AbstractSwitch():
            return "switches"
        case Host() | AbstractHost():
            return "hosts"
        case Fabric():
            return "fabric"
        case _:
            return "controllers"
