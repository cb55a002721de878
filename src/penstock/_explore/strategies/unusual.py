"""UNUSUAL: control messages are late, and overtake each other (NICE, section 5.3).

Two things that programs seldom reckon with, and both at once:

- *Late.*  A control message arrives only when no switch can get a frame: packets overtake the rules
  that were to await them, and the reports of packets that came before.
- *Out of order.*  Of the messages that a controller has sent to several switches, the next to arrive
  is among those of the switch it wrote to last or of the one it wrote to first; so rules come into
  force from the far end, or at both ends before the middle, but hardly ever in the order intended.

Hosts, timers and faults are free as ever.  Where frames go round for ever, control messages wait for
ever: other strategies are for that.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.strategies.base import Narrowing
from penstock._explore.strategies.guide import Pick
from penstock._explore.strategies.kinds import CONTROL, Options, Roles, TransitionKind, roles
from penstock._properties.base import Property
from penstock._world.network import Network
from penstock._world.transition import DELIVER, Record


@dataclass(frozen=True, slots=True)
class Unusual(Narrowing):
    """Delays control messages, and has them arrive out of order."""

    name: ClassVar[str] = "unusual"

    @property
    def remark(self) -> str:
        """What the strategy may have missed."""
        return (
            "unusual: control messages came after all packets on their way to switches, and in uncommon "
            "orders only, so what goes wrong when they are prompt may have been missed."
        )

    def watcher(self) -> Property:
        """Remember in which order the controllers' messages under way were sent."""
        return OrderOfSending()

    def pick(self, cells: CompiledNetwork) -> Pick:
        """Pick frames before control messages, and of several orders those at the ends."""
        place = next(
            index for index, watcher in enumerate(cells.properties) if isinstance(watcher, OrderOfSending)
        )

        def pick(state: int, options: Options) -> int:
            if options.of(TransitionKind.RACE, TransitionKind.FRAME):
                return options.every & ~options.of(*CONTROL)
            orders = options.of(TransitionKind.ORDER)
            if not orders & (orders - 1):
                return options.every
            return options.every & ~_in_between(options, orders, cells.watching.state(state, place))

        return pick


def _in_between(options: Options, orders: int, sent: tuple[tuple[str, str], ...]) -> int:
    """Return the orders, as a set, on channels that were written to neither last nor first."""
    latest = {channel: moment for moment, channel in enumerate(sent)}
    when = {
        place: latest.get((transition.node, str(transition.what)), -1)
        for place, (_, _, _, _, transition) in enumerate(options.entries)
        if orders >> place & 1
    }
    ends = min(when.values()), max(when.values())
    return sum(1 << place for place, moment in when.items() if moment not in ends)


class OrderOfSending(Property):
    """Never broken: it remembers the controllers' messages under way, each by its channel, oldest first.

    What was on a session that broke off is not forgotten; it only counts where its channel is in use.
    """

    _roles: Roles

    def start(self, network: Network, /) -> tuple[tuple[str, str], ...]:
        """Begin with nothing sent."""
        self._roles = roles(network)
        return ()

    def see(self, record: Record, /) -> Hashable | None:
        """See what a controller sends, and what of it arrives."""
        verb, node, what = record.transition
        arrived = (node, str(what)) if verb == DELIVER and node in self._roles.controllers else None
        sent = tuple((node, str(port)) for (node, port), _ in record.sends if node in self._roles.controllers)
        return (arrived, sent) if arrived or sent else None

    def next(self, state: Any, seen: Any, /) -> Any:
        """Take what arrived off the list and put what was sent at its end."""
        arrived, sent = seen
        if arrived in state:
            place = state.index(arrived)
            state = state[:place] + state[place + 1 :]
        return state + sent
