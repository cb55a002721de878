"""What led to a finding: the few lines of a long run that explain what it ended in.

Everything that happened before at the same switch or controller is a cause in the strict sense, and in a
run of thousands of lines that is nearly everything.  So the past is told from the other end.  What a
finding speaks of is the present state of the nodes that it names, and *that* was made by few lines: those
that brought the rules which are still there, the last word on each port, on power and on the size of
tables, a wire that is cut, a host that moved, a handler that raised.  From there it is followed back which
message, and which input, brought each of them about; that a node had done something else before counts
only where a process spoke, of which nobody knows to what it answered.

It is a reading aid.  What a controller remembers is not in a trace, so what it learnt earlier may be missing
here; the whole trace has it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from penstock._trace.trace import FindingLine, FuzzTrace, Line
from penstock._world.signals import FABRIC
from penstock._world.transition import INJECT

_NAME: Final = re.compile(r"[A-Za-z]\w*(?:\.\w+)*")
_RULES: Final = ("rule-added", "rule-modified", "rule-removed")
_MISHAPS: Final = ("crashed", "hung")
_ERRORS: Final = "ControllerErrors"
_TRACEBACK: Final = "Traceback (most recent call last)"
_LONGEST_TRACEBACK: Final = 100
"""How many lines of a traceback are told."""
_SIGNALS: Final = ("Carrier(", "Power(", "TableLimit(")


def what_led_to(trace: FuzzTrace, finding: FindingLine) -> set[int]:
    """Return the numbers of the lines that a finding can be understood from."""
    lines = {line.number: line for line in trace.lines if line.number < finding.number}
    brought = _causes_of_steps(lines)
    inputs = {line.number for line in trace.inputs}
    logged = set(_log_lines(trace, finding))
    waiting = list(_heard_before(lines, finding, min(logged)) if logged else _makers(lines, finding))
    found: set[int] = set(logged)
    while waiting:
        number = waiting.pop()
        if number in found:
            continue
        found.add(number)
        if number not in inputs:
            waiting += brought.get(number, ())
    return found


def _log_lines(trace: FuzzTrace, finding: FindingLine) -> Iterator[int]:
    """Yield the numbers of the log lines that an error of a controller's log was found in."""
    if finding.invariant != _ERRORS:
        return
    controller, text = finding.message.partition(" ")[0], finding.message.partition(": ")[2]
    logs = [line for line in trace.logs if line.number < finding.number and line.source == controller]
    place = next((n for n in range(len(logs) - 1, -1, -1) if text and text in logs[n].text), None)
    if place is None:
        return
    yield logs[place].number
    for line in reversed(logs[max(0, place - _LONGEST_TRACEBACK) : place]):
        if not line.text.startswith((" ", "\t", "|")) and _TRACEBACK not in line.text:
            return
        yield line.number
        if _TRACEBACK in line.text:
            return


def _heard_before(lines: Mapping[int, Line], finding: FindingLine, logged: int) -> set[int]:
    """Return the last thing that a controller was told before it logged something."""
    controller = finding.message.partition(" ")[0]
    told = [number for number, line in lines.items() if number < logged and line.node == controller]
    return set(told[-1:])


def _causes_of_steps(lines: Mapping[int, Line]) -> dict[int, list[int]]:
    """Return what brought each step about: its causes, without what its node had merely done before."""
    last: dict[str, int] = {}
    found = {}
    for number, line in lines.items():
        mine = last.get(line.node)
        spoken = line.transition.startswith(f"{INJECT} ") and line.node != FABRIC
        found[number] = [cause for cause in line.causes if spoken or cause != mine]
        last[line.node] = number
    return found


def _makers(lines: Mapping[int, Line], finding: FindingLine) -> set[int]:
    """Return the steps that made the state which a finding speaks of."""
    named = set(_NAME.findall(finding.message))
    if mishap := _mishap(lines, named, finding):
        return {mishap, *_introduction(lines, mishap)}
    by_node: dict[str, dict[int, Line]] = defaultdict(dict)
    for number, line in lines.items():
        if line.node in named:
            by_node[line.node][number] = line
    found = set(_wiring(lines, named).values())
    for own in by_node.values():
        found |= set(_state_after(own).values())
    return found


def _mishap(lines: Mapping[int, Line], named: set[str], finding: FindingLine) -> int | None:
    """Return the last step in which a controller of a finding about controllers failed."""
    if not finding.invariant.startswith("Controller"):
        return None
    failed = [number for number, line in lines.items() if line.node in named and _is_mishap(line)]
    return failed[-1] if failed else None


def _is_mishap(line: Line) -> bool:
    return any(event.startswith(_MISHAPS) for event in line.events)


def _introduction(lines: Mapping[int, Line], mishap: int) -> Iterator[int]:
    """Yield how the controller and the switch that it failed over had met, packets apart."""
    controller, switch = lines[mishap].node, lines[mishap].transition.partition(" ")[2].partition(":")[0]
    met = 0
    for number, line in lines.items():
        if line.transition == f"{controller} join {switch}":
            met = number
    for number, line in lines.items():
        told = line.message is not None and not line.message.startswith("PacketIn")
        if met < number < mishap and line.transition == f"deliver {switch}:{controller}" and told:
            yield number


def _wiring(lines: Mapping[int, Line], named: set[str]) -> dict[str, int]:
    """Return the last changes of wires and power at some nodes that are still so: what moved, what failed."""
    state: dict[str, int] = {}
    for number, line in lines.items():
        fabric, _, change = line.transition.partition(" ")
        verb, _, target = change.partition(" ")
        if fabric != FABRIC or named.isdisjoint(_NAME.findall(target)):
            continue
        if verb == "move":
            state[target.partition(" to ")[0]] = number
        elif verb in ("fail", "crash", "disconnect"):
            state[target] = number
        else:
            state.pop(target, None)
    return state


def _state_after(lines: Mapping[int, Line]) -> dict[str, int]:
    """Return, for each thing that is still so at a node after its steps, the step that made it so."""
    state: dict[str, int] = {}
    for number, line in lines.items():
        if line.message is not None and line.message.startswith(_SIGNALS):
            if line.message.startswith("Power("):
                state.clear()
            state[line.message.rpartition(" ")[0] or line.message.partition("(")[0]] = number
        for event in line.events:
            kind, _, rest = event.partition(" ")
            if kind in _RULES:
                rule = rest.partition(" -> ")[0]
                if kind == "rule-removed":
                    state.pop(rule, None)
                else:
                    state[rule] = number
            elif kind == "refused":
                state[event] = number
    return state
