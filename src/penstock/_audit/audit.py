"""What is wrong with a network's tables as they are: loops, black holes, ambiguities, rules never met.

The tables come from flow dumps (`dumps`), the wires from a topology; no controller is asked.  Everything is
worked out on exact sets of packets (`penstock._forwarding`).  What is left out is a reason why the verdict is
partial: lines that could not be read, actions and packets that are not followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from penstock._audit.dumps import Dump, doubt_groups
from penstock._forwarding.ambiguity import Audit as SwitchAudit
from penstock._forwarding.invariants import NoForwardingLoops, packets_between, reach
from penstock._forwarding.journeys import Outcome
from penstock._forwarding.kinds import all_packets
from penstock._forwarding.model import ForwardingModel, HostPort
from penstock._forwarding.sets import packet_space
from penstock._world.component import Endpoint
from penstock._world.hosts.host import Address
from penstock._world.switch import PortSpec, Switch, SwitchOptions
from penstock._world.switch.flow_table import FlowEntry, FlowTable
from penstock._world.switch.state import PortStatus, SwitchState
from penstock._world.topology import SwitchNode, Topology
from penstock.openflow.actions import ApplyActions, Enqueue, Output, WriteActions
from penstock.openflow.match import Match
from penstock.openflow.messages import V10, V13, PortNo

Kind = Literal["loop", "black hole", "ambiguous rules", "shadowed rule"]
KINDS: Final[tuple[Kind, ...]] = ("loop", "black hole", "ambiguous rules", "shadowed rule")


class Finding(NamedTuple):
    """Something that is wrong: a key that stays while it is, a sentence, and what shows it."""

    kind: Kind
    key: str
    message: str
    details: Mapping[str, Any]


@dataclass(frozen=True)
class Report:
    """What was found, whom packets reach, and what was left out."""

    findings: tuple[Finding, ...]
    reachability: Mapping[str, Mapping[str, str]]
    reasons: tuple[str, ...]
    """Why the findings may not be all, in sentences."""
    switches: int
    rules: int
    unread: tuple[Mapping[str, Any], ...] = ()
    unknown: tuple[Mapping[str, Any], ...] = field(default=())

    @property
    def status(self) -> int:
        """The exit status: 1 findings, 3 none but something was left out, 0 neither."""
        if self.findings:
            return 1
        return 3 if self.reasons else 0

    @property
    def verdict(self) -> str:
        """What it came to, in a word; findings of a partial audit may not be all."""
        word = "findings" if self.findings else "nothing found"
        return f"{word}, partial" if self.reasons else word

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain values."""
        by_kind = {
            kind: [
                {"key": one.key, "message": one.message, **one.details}
                for one in self.findings
                if one.kind == kind
            ]
            for kind in KINDS
        }
        return {
            "verdict": self.verdict,
            "partial": bool(self.reasons),
            "reasons": list(self.reasons),
            "switches": self.switches,
            "rules": self.rules,
            "loops": by_kind["loop"],
            "black_holes": by_kind["black hole"],
            "ambiguous": by_kind["ambiguous rules"],
            "shadowed": by_kind["shadowed rule"],
            "reachability": {source: dict(row) for source, row in self.reachability.items()},
            "unread": [dict(one) for one in self.unread],
            "not_followed": [dict(one) for one in self.unknown],
        }


class NetworkAudit:
    """The tables of a network, and the wires between its switches."""

    def __init__(self, drawn: Topology, *, hands_over_misses: bool = False) -> None:
        options = SwitchOptions(version=V10 if hands_over_misses else V13)
        self._switches = {node.name: _switch(node, options) for node in drawn.switches}
        self._hosts = [
            HostPort(Address(node.name, node.mac, node.ip), Endpoint(node.name, node.ports[0]))
            for node in drawn.hosts
            if node.ports
        ]
        self._dumps: dict[str, Dump] = {}
        self._tables: dict[str, dict[int, FlowTable]] = {}
        self.model = ForwardingModel([one.chassis for one in self._switches.values()], self._hosts)
        wires = dict(drawn.peers())
        # What is sent to a switch itself arrives there.
        wires.update(
            {Endpoint(name, int(PortNo.LOCAL)): Endpoint(itself(name), 0) for name in self._switches}
        )
        self._wires = wires
        self._undrawn: dict[str, tuple[int, ...]] = {}
        """The ports that rules of a switch name and no link of the topology does."""
        self.model.rewire(wires)

    def port_number(self, switch: str, name: str) -> int | None:
        """Return the number of a port that is told by name."""
        ports = self._switches[switch].chassis.ports
        found = (spec.number for spec in ports if spec.name == name)
        return int(PortNo.LOCAL) if name == switch else next(found, None)

    def take(self, switch: str, dump: Dump) -> None:
        """Take over what a switch has now; only what is different costs anything."""
        doubt_groups(dump)
        made = self._switches[switch]
        ports = {spec.number: PortStatus() for spec in made.chassis.ports}
        ports[int(PortNo.LOCAL)] = PortStatus()
        told = {number: status for number, status in dump.ports.items() if number != PortNo.LOCAL}
        if told:
            ports = {number: told.get(number, _GONE) for number in ports if number != PortNo.LOCAL}
            ports[int(PortNo.LOCAL)] = PortStatus()
        drawn = set(ports)
        self._undrawn[switch] = tuple(
            sorted(number for number in _named_ports(dump) - drawn if number in told or not told)
        )
        # What such a port leads to is not known: somewhere else.
        ports |= {
            number: told.get(number, PortStatus()) for number in {*self._undrawn[switch], *told} - drawn
        }
        for number in set(ports) - drawn:
            self._wires[Endpoint(switch, number)] = Endpoint(f"beyond port {number} of {switch}", 0)
        begun = made.initial()
        groups = type(begun.groups)(dump.groups)
        state = SwitchState(powered=True, ports=type(begun.ports)(ports), groups=groups)
        before = set(self._tables.get(switch, ()))
        tables = {number: FlowTable(_last(entries)) for number, entries in dump.entries.items()}
        self._dumps[switch], self._tables[switch] = dump, tables
        self.model.rewire(self._wires)
        self.model.set_state(switch, state)
        for number in sorted(before | set(tables)):
            self.model.replace_table(switch, number, tables.get(number, ()))

    def report(self) -> Report:
        """Return what is wrong now."""
        findings: list[Finding] = []
        reasons: list[str] = []
        findings += self._loops()
        findings += (_hole(one) for one in self.model.black_holes())
        for name in self._switches:
            found, left_out = self._of_switch(name)
            findings += found
            reasons += left_out
        reasons += self.left_out()
        if not self._hosts:
            reasons.append(
                'The topology has no host, so no packets were sent: add links such as ["h1", "s1:1"].'
            )
        reasons += self.model.remarks
        return Report(
            tuple(_unique(findings)),
            self._reachability(),
            tuple(dict.fromkeys(reasons)),
            len(self._switches),
            sum(len(entries) for dump in self._dumps.values() for entries in dump.entries.values()),
            tuple(
                {"switch": name, "line": one.number, "text": one.text, "why": one.why}
                for name, dump in self._dumps.items()
                for one in dump.unread
            ),
            tuple(
                {"switch": name, "line": number, "action": action}
                for name, dump in self._dumps.items()
                for number, action in dump.unknown
            ),
        )

    def left_out(self) -> list[str]:
        """Return why what becomes of packets may not be what is told, in sentences."""
        return [*self._unread(), *self._undrawn_ports()]

    def why(self, host: str, packets: Match) -> list[Outcome]:
        """Return what becomes of packets of a host."""
        return self.model.outcomes(host, packets)

    # What was left out.

    def _unread(self) -> Iterator[str]:
        for name, dump in self._dumps.items():
            if dump.unread:
                lines = ", ".join(str(one.number) for one in dump.unread[:5])
                more = f" and {len(dump.unread) - 5:,} more" if len(dump.unread) > 5 else ""
                yield (
                    f"{len(dump.unread):,} lines of {name} could not be read: {lines}{more}."
                    if len(dump.unread) > 1
                    else f"Line {lines} of {name} could not be read: {dump.unread[0].why}."
                )

    def _undrawn_ports(self) -> Iterator[str]:
        for name, ports in self._undrawn.items():
            if ports:
                numbers = ", ".join(map(str, ports))
                yield f"Ports of {name} that rules name are in no link of the topology: {numbers}."

    # The findings, kind by kind.

    def _loops(self) -> Iterator[Finding]:
        for fact in NoForwardingLoops().check(self.model):
            assert fact.outcome is not None
            yield Finding("loop", fact.key, fact.message, _shown(fact.outcome))

    def _of_switch(self, name: str) -> tuple[list[Finding], list[str]]:
        state = self._state(name)
        judge = SwitchAudit(self._switches[name].chassis, state, state.ports)
        findings = []
        for one in judge.ambiguities():
            key = f"{name} table {one.table} {one.first.priority} {one.first.match} {one.second.match}"
            details = {
                "switch": name,
                "table": one.table,
                "rules": [str(one.first), str(one.second)],
                "lines": [self._line(name, one.table, each) for each in (one.first, one.second)],
                "port": one.port,
                "frame": one.frame.hex(),
            }
            findings.append(Finding("ambiguous rules", key, one.told(name), details))
        reasons = []
        if judge.open:
            reasons.append(f"{judge.open} pairs of rules of {name} that overlap could not be judged.")
        shadowed, left_out = self._shadowed(name, judge)
        return findings + shadowed, reasons + left_out

    def _shadowed(self, name: str, judge: SwitchAudit) -> tuple[list[Finding], list[str]]:
        """Return the rules that no packet meets, and what could not be said."""
        met, of_all = judge.met()
        space = packet_space()
        universe = all_packets(space)
        findings, odd, unsure = [], 0, 0
        for number, table in self._tables[name].items():
            for entry in table:
                if (number, entry) in met:
                    continue
                if space.meet(space.match(entry.match), universe) == space.nothing:
                    odd += 1
                    continue
                covering = self._covering(name, number, entry)
                is_covered = self._is_covered(name, number, entry)
                if not of_all and not is_covered:
                    unsure += 1
                    continue
                covering = covering if is_covered else []
                because = f" The rules before it take all: {'; '.join(covering)}." if covering else ""
                told = f"{name} has a rule in table {number} that no packet meets: {entry}.{because}"
                details = {
                    "switch": name,
                    "table": number,
                    "rule": str(entry),
                    "line": self._line(name, number, entry),
                    "covered_by": covering,
                }
                key = f"{name} table {number} {entry.priority} {entry.match}"
                findings.append(Finding("shadowed rule", key, told, details))
        reasons = []
        if odd:
            reasons.append(
                f"{odd} rules of {name} ask for no packets, or for such as are not thought of here: "
                "fragments, second tags, reverse ARP."
            )
        if unsure:
            reasons.append(f"Whether packets meet {unsure} rules of {name} could not be said.")
        return findings, reasons

    def _is_covered(self, name: str, table: int, entry: FlowEntry) -> bool:
        """Tell whether the rules before an entry leave it no packet at all, whatever order a switch has."""
        others = self.model.sharing(name, table, entry.match)
        if any(one.priority == entry.priority and one.match != entry.match for one in others):
            return False
        return not self.model.hit(name, table, entry)

    def _covering(self, name: str, table: int, entry: FlowEntry) -> list[str]:
        """Return the entries of higher priorities that share packets with one, a few of them."""
        others = self.model.sharing(name, table, entry.match)
        before = [one for one in others if one.priority > entry.priority]
        return [str(one) for one in sorted(before, key=lambda one: -one.priority)[:3]]

    def _line(self, name: str, table: int, entry: FlowEntry) -> int:
        return self._dumps[name].entries.get(table, {}).get(entry, 0)

    def _state(self, name: str) -> SwitchState:
        state = self.model.state(name)
        begun = self._switches[name].initial()
        return SwitchState(
            powered=True,
            ports=state.ports,
            groups=state.groups,
            tables=type(begun.tables)(self._tables.get(name, {})),
        )

    def _reachability(self) -> dict[str, dict[str, str]]:
        names = [host.address.name for host in self._hosts]
        return {
            a: {
                b: reach(self.model.outcomes(a, packets_between(self.model, a, b)), b)
                for b in names
                if a != b
            }
            for a in names
        }


def _named_ports(dump: Dump) -> set[int]:
    """Return the ports that the entries of a switch name."""
    found: set[int] = set()
    for entry in (entry for entries in dump.entries.values() for entry in entries):
        port = entry.match.value("in_port")
        found |= set() if port is None else {port}
        for one in entry.instructions:
            if isinstance(one, ApplyActions | WriteActions):
                found.update(a.port for a in one.actions if isinstance(a, Output | Enqueue))
    for group in dump.groups.values():
        for bucket in group.buckets:
            found.update(a.port for a in bucket.actions if isinstance(a, Output | Enqueue))
    return {port for port in found if port < PortNo.MAX}


_GONE: Final = PortStatus(link=False)
"""A port that the topology has and the switch has not."""


def itself(switch: str) -> str:
    """Return how the switch as a host of its own is called."""
    return f"{switch} itself"


def _switch(node: SwitchNode, options: SwitchOptions) -> Switch:
    ports = tuple(PortSpec(number, f"{node.name}-eth{number}", number) for number in node.ports)
    return Switch(node.name, node.dpid, ports, options)


def _last(entries: Mapping[FlowEntry, int]) -> list[FlowEntry]:
    """Return the entries of a table, of those of one priority and match the last one."""
    return list({(entry.priority, entry.match): entry for entry in entries}.values())


def _unique(findings: list[Finding]) -> list[Finding]:
    order = {kind: place for place, kind in enumerate(KINDS)}
    kept: dict[tuple[str, str], Finding] = {}
    for one in findings:
        kept.setdefault((one.kind, one.key), one)
    return sorted(kept.values(), key=lambda one: (order[one.kind], one.key))


def _hole(outcome: Outcome) -> Finding:
    key = f"black hole at {outcome.node}: {outcome.why}"
    return Finding("black hole", key, f"{outcome}.", _shown(outcome))


def _shown(outcome: Outcome) -> dict[str, Any]:
    return {
        "from": outcome.source,
        "packets": str(outcome.packets),
        "frame": outcome.frame.hex(),
        "path": [str(step) for step in outcome.path],
    }


def told_step(outcome: Outcome) -> list[str]:
    """Return how packets end and which rules they meet, as lines."""
    return [f"{outcome}.", *(f"    {step}" for step in outcome.path)]
