"""The forwarding model: a network's tables, ports and wires, and what they do with every packet.

    model = ForwardingModel(chassis, hosts)
    model.rewire(wires)
    model.set_state("s1", state)               # ports, groups, power
    model.put("s1", 0, entry)                  # a rule comes or changes
    model.loops(), model.black_holes()         # each with a packet, its path and the rules on it
    model.outcomes("h1", Match.of(eth_type=0x0800))

Every change leaves the model in step at once, at a cost that depends on the packets concerned and not on
the size of the tables; `forest` says how.  Several changes are made together by `batch`.

What hosts can send is taken at its widest: any packet that there is (`kinds`), whatever its addresses say.
A loop that no packet of a host gets into is not reported.
Packets that go to a controller are *undecided*: what it does with them is not for a table to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

from penstock._forwarding.crossing import Site
from penstock._forwarding.forest import LOCAL, Forest, ends_of
from penstock._forwarding.frames import frame_of
from penstock._forwarding.header_space import WIDTH, Cube, cube_of, match_of, meet
from penstock._forwarding.kinds import kind_of, usual_header
from penstock._forwarding.trees import Ending, Fate, Flow, Source, Touched
from penstock._world.component import Endpoint
from penstock._world.hosts.host import Address
from penstock._world.switch.flow_table import FlowEntry
from penstock._world.switch.state import PortStatus, SwitchState
from penstock._world.switch.turn import Chassis
from penstock.errors import PenstockError
from penstock.openflow.actions import Action, Enqueue, Group, Output
from penstock.openflow.match import Match
from penstock.openflow.messages import PortNo
from penstock.packet import describe

_ALL_PORTS: Final = (PortNo.FLOOD, PortNo.ALL, PortNo.IN_PORT)
_EVERY_BIT: Final = (1 << WIDTH) - 1
_LONGEST_LOG: Final = 4_096


class HostPort(NamedTuple):
    """Where a host is plugged in from, and who it is."""

    address: Address
    end: Endpoint


class Step(NamedTuple):
    """One table on a packet's path and the rule it met there, which is empty if it met none."""

    switch: str
    port: int
    table: int
    rule: str

    def __str__(self) -> str:
        return f"{self.switch}:{self.port} table {self.table}: {self.rule or 'no rule'}"


class Outcome(NamedTuple):
    """How a class of packets that a host sends ends, with one packet of it.

    `cube` holds the class; what rules of higher priority take out of it on the way is not told there.
    `at_end` is the packet's header after all that was written to it.  `perhaps` tells that it depends on the
    choices of a select group.  `cycle` is where the path of a loop begins to repeat itself, and 0 otherwise.
    """

    source: str
    fate: Fate
    node: str
    why: str
    cube: Cube
    header: int
    at_end: int
    path: tuple[Step, ...]
    perhaps: bool = False
    cycle: int = 0

    @property
    def frame(self) -> bytes:
        """The bytes of the packet, to be sent by the host."""
        return frame_of(self.header)

    @property
    def packets(self) -> Match:
        """The class as a match."""
        return match_of((self.cube[0] & ~LOCAL, self.cube[1] & ~LOCAL))

    @property
    def hops(self) -> tuple[str, ...]:
        """The switches and ports on the path, in order."""
        return tuple(f"{step.switch}:{step.port}" for step in self.path if step.table == 0)

    def __str__(self) -> str:
        way = " > ".join((self.source, *self.hops))
        text = f"{describe(self.frame)} from {self.source}"
        match self.fate:
            case "delivered":
                return f"{text} reaches {self.node} ({way})"
            case "controller":
                return f"{text} goes to the controller from {self.node} ({way})"
            case "loop":
                lasting = f" {self.why}" if self.why else " for ever"
                return f"{text} goes round{lasting} ({way} > {self.node} again)"
            case "dropped" if not self.why:
                return f"{text} is dropped by a rule of {self.node} ({way})"
            case "unfollowed":
                return f"{text} cannot be followed beyond {self.node}: {self.why} ({way})"
            case _:
                return f"{text} is lost at {self.node}: {self.why} ({way})"


def outcome_of(ending: Ending, header: int) -> Outcome:
    """Return an ending as a value, told with one of its packets."""
    passings = ending.passings()
    path = tuple(
        Step(
            passing.branch.flow.place[0],
            passing.branch.flow.port,
            passing.branch.flow.place[1],
            str(passing.branch.rule.entry) if passing.branch.rule else "",
        )
        for passing in passings
    )
    flows = [passing.branch.flow for passing in passings]
    cycle = flows.index(ending.start) if ending.start is not None else 0
    written, values, _ = ending.writes
    return Outcome(
        ending.tree.source.name,
        ending.fate,
        ending.node,
        ending.why,
        ending.packets.cube,
        header,
        (header & ~written | values) & ~LOCAL,
        path,
        ending.perhaps,
        cycle,
    )


class ForwardingModel:
    """What a network's tables do with every packet that its hosts can send."""

    def __init__(self, switches: Iterable[Chassis], hosts: Iterable[HostPort]) -> None:
        self._forest = Forest(self._note)
        self._chassis = {chassis.name: chassis for chassis in switches}
        self._hosts = {host.address.name: host for host in hosts}
        self._outcomes: dict[Ending, Outcome] = {}
        self._log: list[Touched] = []
        self._forgotten = 0
        self._batches = 0
        for name, chassis in self._chassis.items():
            self._forest.sites[name] = Site(chassis, SwitchState(powered=False))
        for host in self._hosts.values():
            self._plant(host)
        self._mend()

    # What there is.

    @property
    def hosts(self) -> Mapping[str, HostPort]:
        """The hosts, by name."""
        return self._hosts

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the answers do not take into account, as sentences."""
        reasons = sorted({f"at {one.node}: {one.why}" for one in self._forest.unfollowed})
        found = [f"Some packets are not followed beyond where they are {reason}." for reason in reasons]
        given_up = self._forest.search.given_up
        if given_up:
            found.append(
                f"{given_up} times a class was too intricate to find a packet of; it counts as empty."
            )
        return tuple(found)

    def rules(self, switch: str, table: int) -> int:
        """Return how many rules a table has."""
        found = self._forest.tables.get((switch, table))
        return len(found) if found is not None else 0

    def has(self, switch: str, table: int, priority: int, match: Match) -> bool:
        """Tell whether a table has an entry of a priority and match."""
        return self._forest.table(self._known(switch), table).find(priority, match) is not None

    def overlapping(self, switch: str, table: int, priority: int, match: Match) -> list[FlowEntry]:
        """Return the entry of a priority and match, and after it those of its priority that share packets."""
        rules = self._forest.table(self._known(switch), table)
        rule = rules.find(priority, match)
        if rule is None:
            return []
        others = (other for other in rules.overlapping(rule.cube) if other is not rule)
        return [rule.entry, *(other.entry for other in others if other.entry.priority == priority)]

    # What changes.

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Make several changes and bring the model in step after the last."""
        self._batches += 1
        try:
            yield
        finally:
            self._batches -= 1
            self._mend()

    def put(self, switch: str, table: int, entry: FlowEntry) -> None:
        """Add an entry to a table, in place of the one of its priority and match."""
        rules = self._forest.table(self._known(switch), table)
        old = rules.find(entry.priority, entry.match)
        if old is not None:
            if old.entry.instructions == entry.instructions:
                old.entry = entry
                return
            rules.remove(old)
            self._forest.rule_removed(old)
        self._forest.rule_added(rules, rules.add(entry))
        self._mend()

    def remove(self, switch: str, table: int, priority: int, match: Match) -> None:
        """Take the entry of a priority and match out of a table."""
        rules = self._forest.table(self._known(switch), table)
        rule = rules.find(priority, match)
        if rule is None:
            raise PenstockError(f"{rules.place} has no entry priority={priority} {match} to remove.")
        rules.remove(rule)
        self._forest.rule_removed(rule)
        self._mend()

    def replace_table(self, switch: str, table: int, entries: Iterable[FlowEntry]) -> None:
        """Give a table the entries it has from now on; only what differs costs anything but a comparison."""
        wanted = {(entry.priority, entry.match): entry for entry in entries}
        with self.batch():
            for rule in list(self._forest.table(self._known(switch), table)):
                key = rule.entry.priority, rule.entry.match
                if key not in wanted:
                    self.remove(switch, table, *key)
            for entry in wanted.values():
                self.put(switch, table, entry)

    def set_state(self, switch: str, state: SwitchState) -> None:
        """Take over a switch's ports, groups, sessions and power; its tables are told apart from it."""
        forest = self._forest
        old = forest.sites[self._known(switch)].state
        new = SwitchState(
            powered=state.powered, ports=state.ports, groups=state.groups, sessions=state.sessions
        )
        forest.sites[switch] = Site(self._chassis[switch], new)
        ports = {port for port in {*old.ports, *new.ports} if old.ports.get(port) != new.ports.get(port)}
        groups = old.groups != new.groups or (new.groups and old.sessions != new.sessions)
        if ports or groups:
            self._redo(switch, ports)
        for port in {*old.ports, *new.ports} if old.powered != new.powered else ports:
            self._redo_end(forest.wires.get(Endpoint(switch, port)))
        self._mend()

    def set_port(self, switch: str, port: int, status: PortStatus) -> None:
        """Change how one port of a switch stands."""
        state = self._forest.sites[self._known(switch)].state
        ports = state.ports.set(port, status)
        self.set_state(
            switch,
            SwitchState(powered=state.powered, ports=ports, groups=state.groups, sessions=state.sessions),
        )

    def rewire(self, wires: Mapping[Endpoint, Endpoint]) -> None:
        """Take over where every port of a switch or host leads now; one that is left out leads nowhere."""
        changed = ends_of(self._forest.wires, wires)
        self._forest.wires = dict(wires)
        for end in changed:
            self._redo_end(end)
        self._mend()

    def _known(self, switch: str) -> str:
        if switch not in self._chassis:
            raise PenstockError(f"unknown switch {switch!r}: the switches are {', '.join(self._chassis)}.")
        return switch

    def _redo_end(self, end: Endpoint | None) -> None:
        """Do again what is sent out of a port."""
        if end is None:
            return
        if end.node in self._chassis:
            self._redo(end.node, {int(end.port)})
        elif end.node in self._hosts and self._hosts[end.node].end == end:
            self._plant(self._hosts[end.node])

    def _redo(self, switch: str, ports: set[int]) -> None:
        def concerns(actions: Iterable[Action]) -> bool:
            return any(
                action.port in ports or action.port in _ALL_PORTS
                if isinstance(action, Output | Enqueue)
                else isinstance(action, Group)
                for action in actions
            )

        self._forest.surroundings_changed(switch, concerns)

    def _plant(self, host: HostPort) -> None:
        _, mac, ip = host.address
        self._forest.plant(Source(host.address.name, host.end, usual_header(mac, ip)))

    def _mend(self) -> None:
        if not self._batches:
            self._forest.mend()

    # Who wants to know what changed.

    def _note(self, touched: Touched) -> None:
        if len(self._log) >= _LONGEST_LOG:
            self._forgotten += len(self._log)
            self._log.clear()
        self._log.append(touched)

    @property
    def moment(self) -> int:
        """A number that grows with every class of packets that may go elsewhere than before."""
        return self._forgotten + len(self._log)

    def touched_since(self, moment: int) -> list[Touched] | None:
        """Return which packets may go elsewhere than at a moment, or None if that was too long ago."""
        return None if moment < self._forgotten else self._log[moment - self._forgotten :]

    # Questions.

    def outcomes(self, host: str, packets: Match | int) -> list[Outcome]:
        """Return how packets of a host end, of a class or the one with a header, each with an example."""
        cube = (packets, _EVERY_BIT) if isinstance(packets, int) else cube_of(packets)
        return [outcome_of(*found) for found in self._endings(host, cube)]

    def trace(self, host: str, header: int) -> list[Outcome]:
        """Return how one packet of a host and its copies end."""
        if kind_of(header) is None:
            raise PenstockError(
                f"The header {header:#x} is of no packet that is followed: see penstock._forwarding.kinds."
            )
        return self.outcomes(host, header)

    def loops(self) -> list[Outcome]:
        """Return the classes of packets that come back to a port as they were there before."""
        return [self._told(ending) for ending in self._forest.loops]

    def black_holes(self) -> list[Outcome]:
        """Return the classes of packets that a rule sends on in vain.

        Of a packet that was copied on its way, a copy that is lost counts only if no other arrives
        anywhere; that is decided by the example found.
        """
        return [
            self._told(ending)
            for ending in self._forest.losses
            if ending.alone or self._vanishes(ending.tree.source.name, _witness(ending))
        ]

    def _told(self, ending: Ending) -> Outcome:
        """Return an ending as a value, put together once while its example is the same."""
        header = _witness(ending)
        known = self._outcomes.get(ending)
        if known is None or known.header != header:
            if len(self._outcomes) > 2 * (len(self._forest.loops) + len(self._forest.losses)):
                self._outcomes.clear()
            known = self._outcomes[ending] = outcome_of(ending, header)
        return known

    def _vanishes(self, host: str, header: int) -> bool:
        endings = (ending for ending, _ in self._endings(host, (header, _EVERY_BIT)))
        return all(ending.fate in ("lost", "dropped", "missed") for ending in endings)

    def _endings(self, host: str, cube: Cube) -> Iterator[tuple[Ending, int]]:
        forest = self._forest
        tree = forest.trees.get(host)
        if tree is None:
            raise PenstockError(f"unknown host {host!r}: the hosts are {', '.join(self._hosts)}.")
        ahead: list[Flow | Ending] = tree.onward[::-1]
        while ahead:
            one = ahead.pop()
            shared = meet(one.packets.cube, cube)
            witness = one.packets.witness
            if shared is None:
                continue
            if witness is None or witness & shared[1] != shared[0]:
                witness = forest.search.find(shared, one.packets.constraints, tree.source.usual)
            if witness is None:
                continue
            if isinstance(one, Ending):
                yield one, witness
            else:
                ahead += reversed(_beyond(one, shared))


def _beyond(flow: Flow, cube: Cube) -> list[Flow | Ending]:
    """Return what grows from a flow by the rules that packets of a cube may meet."""
    written, values, _ = flow.writes
    met = flow.table.overlapping((cube[0] & ~written | values, cube[1] | written))
    branches = [flow.branches[rule] for rule in (*met, None) if rule in flow.branches]
    return [one for branch in branches for passing in branch.passings for one in passing.onward]


def _witness(ending: Ending) -> int:
    witness = ending.packets.witness
    assert witness is not None, "a class without packets is no part of a tree"
    return witness
