"""Where a packet would go now: tried out on a copy of the network, of which the run itself knows nothing.

The copy has the tables, ports and wires of this moment and nothing in flight.  What would go to a
controller ends there: nobody can say what a running controller would answer.  Hosts do not answer
either.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from penstock._world.component import Endpoint
from penstock._world.frame import Frame
from penstock._world.hosts import Host
from penstock._world.transition import DELIVER, Record, Transition
from penstock._world.world import World

MOST_HOPS: Final = 64
"""A packet that is still under way after so many hops is taken to go round."""


def hops_of(world: World, start: Endpoint, frame: Frame) -> Iterator[Record]:
    """Yield what would become of a frame sent from an endpoint: the sending, then a record for each hop."""
    copy = World(world.network)
    now = world.snapshot()
    copy.restore(now._replace(queues=tuple(() for _ in now.queues)))
    sent = copy.inject(start, frame)
    yield sent
    under_way = deque(_onward(copy, sent))
    for _ in range(MOST_HOPS):
        if not under_way:
            return
        record = copy.take(Transition(DELIVER, *under_way.popleft()))
        yield record
        under_way += _onward(copy, record)


def _onward(world: World, record: Record) -> list[Endpoint]:
    """Return the channels on which frames went on; a host keeps what it got."""
    network = world.network
    if record.message is not None and isinstance(network.components[network.places[record.node]], Host):
        return []
    return [flight.channel for flight in record.sends if isinstance(flight.message, Frame)]
