"""When a search sends packets that only flow tables treat, and which.

To send one of every class in every state would make searches many times larger, and for nothing: under given
tables it can be told what becomes of such a packet (`table_classes`).  So all classes are sent

- where the search starts, before hosts have sent anything: there they put properties to the test, also those
  of a user's own, and whatever a program installs while switches join is judged;

and in other states those that may break something, because they get lost or go round.  A search in which no
packets meet such tables at first leaves them out, looks when it is over at all tables it has met, and is
repeated if there was one of them (`look_further`).  Whoever takes a run by hand may send any of them.

A handler may treat packets for all hosts alike, and then one packet stands for all of them.  Pings of all
pairs of hosts, and the ARP questions before them, are sent too, unless a packet from the one to the other
was: each by itself, from where the search started (`begin_pings`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

from penstock._concolic.packets.frames import FrameSpace
from penstock._concolic.packets.layouts import ETH_SLOW
from penstock._concolic.space import Inputs
from penstock._concolic.terms import Term, evaluate
from penstock._symbolic.forwarding.arrivals import passages
from penstock._symbolic.table_classes import MOST_CLASSES, TableClass, TableClasses
from penstock._verdict.verdict import Bound, Why
from penstock._world.component import Endpoint
from penstock._world.hosts import Host
from penstock._world.hosts.symbolic_host import SymbolicHost
from penstock._world.network import Network
from penstock._world.signals import FABRIC
from penstock._world.switch import Switch
from penstock._world.switch.headers import read
from penstock.addresses import BROADCAST_MAC
from penstock.openflow.fields import ETH_ARP, ETH_LLDP

MOST_TABLES: Final = 5_000
"""How many different tables are looked at after a search."""


class TablePackets:
    """Finds packets of hosts that flow tables treat by themselves."""

    def __init__(
        self,
        network: Network,
        controller: str,
        frames: Callable[[Host], FrameSpace],
        wishes: Sequence[Term],
    ) -> None:
        self._network = network
        self._controller = controller
        self._frames = frames
        self._wishes = wishes
        self._hosts = [made for made in network.components if isinstance(made, Host)]
        self._curious = [made for made in self._hosts if isinstance(made, SymbolicHost)]
        self._switches = [made.name for made in network.components if isinstance(made, Switch)]
        self._found: dict[Hashable, tuple[TableClass, ...]] = {}
        self._splitting: dict[str, TableClasses] = {}
        self._met: dict[Hashable, Mapping[str, Any]] = {}
        self._start: tuple[Hashable, ...] | None = None
        self._settled = True
        self._sends = True
        self._offered: set[tuple[str, bytes]] = set()
        self.only_pings = False
        """Whether hosts send pings and nothing else."""
        self.remarks: dict[str, None] = {}
        """Where classes may be missing, in sentences."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The hosts whose states decide whether there is anything more to send."""
        return tuple(made.name for made in self._curious) if self._sends or self.only_pings else ()

    def begin(self, joined: Mapping[str, Any], *, settled: bool = True) -> None:
        """Begin a search; `joined` are the states once all switches have joined.

        Where a search does not start there (`settled`), switches without rules are only switches that have
        not joined yet.
        """
        self._start, self._settled = self._tables(joined), settled
        self._met.clear()
        self._offered.clear()
        self.only_pings = False
        self._sends = any(self.classes(host, joined) for host in self._curious)

    def leave_out(self) -> None:
        """Have a search send none of these packets, and say so."""
        self._settled = self._sends = False
        text = "Switches did not come to rest while they joined, so packets that rules treat were left out."
        self.remarks[Bound(text, Why.UNFOUND)] = None

    def look_further(self) -> bool:
        """After a search, tell whether it has to be repeated with packets that get lost in tables it met."""
        if self._sends or not self._settled or self._start is None:
            return False
        if len(self._met) >= MOST_TABLES:
            text = (
                f"Only {MOST_TABLES:,} different flow tables were searched for packets that get lost there."
            )
            self.remarks[Bound(text, Why.UNFOUND)] = None
        self._sends = any(
            known.is_suspicious
            for seen in self._met.values()
            for host in self._curious
            for known in self.classes(host, seen)
        )
        return self._sends

    def note_offered(self, host: SymbolicHost, packets: Sequence[bytes]) -> None:
        """Note what a host might send besides."""
        self._offered.update((host.name, data) for data in packets)

    def begin_pings(self) -> bool:
        """After a search, have hosts send pings and nothing else; tell whether there are any."""
        self.only_pings = self._settled and any(self._pings(host) for host in self._curious if host.count)
        return self.only_pings

    def _pings(self, host: SymbolicHost) -> list[bytes]:
        """Return the pings of a host, and the questions, where it was offered nothing like them."""
        known = {_aim(data) for name, data in self._offered if name == host.name}
        return [data for data in self._splitting_of(host).pings() if _aim(data) not in known]

    def packets(
        self, host: SymbolicHost, seen: Mapping[str, Any], sent: Sequence[Inputs]
    ) -> tuple[bytes, ...]:
        """Return the packets that a host may send now, none like those sent before."""
        if self.only_pings:
            return tuple(self._pings(host)) if self._is_start(seen) else ()
        if not self._sends:
            if len(self._met) < MOST_TABLES:
                self._met.setdefault(self._tables(seen), seen)
            return ()
        found = self.classes(host, seen)
        if self._start is None:
            return tuple(dict.fromkeys((*(known.packets.data for known in found), *self._pings(host))))
        found = self._worth_sending(found, seen)
        packets = tuple(known.packets.data for known in found if not _is_covered(known, sent))
        self.note_offered(host, packets)
        return packets

    def _worth_sending(
        self, found: tuple[TableClass, ...], seen: Mapping[str, Any]
    ) -> tuple[TableClass, ...]:
        if self._is_start(seen):
            return found
        at_start = self._tables(seen) == self._start
        return tuple(known for known in found if known.is_suspicious) if self._settled or at_start else ()

    def _is_start(self, seen: Mapping[str, Any]) -> bool:
        """Tell whether tables are as they were at the start, and no host has sent anything."""
        pristine = all(seen[made.name].memory == made.start() for made in self._curious)
        return pristine and self._tables(seen) == self._start

    def _tables(self, seen: Mapping[str, Any]) -> tuple[Hashable, ...]:
        """Return what decides about packets that no controller gets."""
        states = (seen[name] for name in self._switches)
        tables = ((each.powered, each.tables, each.groups, each.ports, each.addresses) for each in states)
        return (seen[FABRIC], *tables)

    def classes(self, host: SymbolicHost, seen: Mapping[str, Any]) -> tuple[TableClass, ...]:
        """Return the classes of packets of a host that the tables treat now, the most common ones first."""
        key = (host.name, *self._tables(seen))
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._split(host, seen)
        return found

    def _split(self, host: SymbolicHost, seen: Mapping[str, Any]) -> tuple[TableClass, ...]:
        end = self._network.fabric.peer(seen[FABRIC], Endpoint(host.name, host.port))
        if end is None or end.node not in self._switches:
            return ()
        splitting = self._splitting_of(host)
        journeys = passages(
            self._network, seen, end.node, int(end.port), splitting.fields, splitting.solver.may_have
        )
        found, complete = splitting.found(journeys, self._controller, self._peers(seen))
        if not complete:
            text = (
                f"{host.name} may send more than {MOST_CLASSES} packets that flow tables tell apart, or some "
                "that could not be followed through them."
            )
            self.remarks[Bound(text, Why.UNFOUND)] = None
        return tuple(found)

    def _splitting_of(self, host: SymbolicHost) -> TableClasses:
        splitting = self._splitting.get(host.name)
        if splitting is None:
            frames = self._frames(host)
            splitting = self._splitting[host.name] = TableClasses(host, self._hosts, frames, self._wishes)
        return splitting

    def _peers(self, seen: Mapping[str, Any]) -> dict[tuple[str, int], str]:
        """Return which hosts are at the ports of switches."""
        ends = (
            (made, self._network.fabric.peer(seen[FABRIC], Endpoint(made.name, made.port)))
            for made in self._hosts
        )
        return {(end.node, int(end.port)): made.name for made, end in ends if end is not None}


def _is_covered(known: TableClass, sent: Sequence[Inputs]) -> bool:
    """Tell whether a packet that can be sent again is of a class."""
    return any(all(evaluate(term, inputs) for term in known.packets.condition) for inputs in sent)


def _aim(data: bytes) -> tuple[int, int]:
    """Return whom a packet is for: a MAC address, and the IP address that an ARP question is about."""
    fields = read(data).fields
    if fields.get("eth_type") in (ETH_LLDP, ETH_SLOW):
        return 0, 0
    asked = fields.get("eth_type") == ETH_ARP and fields.get("eth_dst") == BROADCAST_MAC
    return fields.get("eth_dst", 0), fields.get("arp_tpa", 0) if asked else 0
