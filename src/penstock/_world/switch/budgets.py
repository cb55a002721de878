"""How much a switch does for one packet, how long a list of actions is, and how much a switch holds.

The figures are those of Open vSwitch 3.1.0, each found out by asking it (`tests/ovs/test_ovs_budgets.py`
asks again).  What goes over a budget of a packet is told by the switch's `dropped` event, or by `not-output`
where copies had left already and stay sent; the reason is the budget's own sentence.  What goes over a size
is refused with the specification's error.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Budget(NamedTuple):
    """How much of something a switch spends on one packet; its text says what happens beyond that."""

    most: int
    beyond: str

    def __str__(self) -> str:
        return f"{_OVER}{self.beyond}"


_OVER: Final = "it is over a budget of the switch: "

DEPTH: Final = Budget(64, "groups and output:table lead on from each other more than 64 times")
"""Open vSwitch's MAX_DEPTH: groups in buckets, and returns to table 0, that are inside each other.

Beyond it nothing at all is sent of the packet; a packet-out is refused."""

RESUBMITS: Final = Budget(4096, "goto-table and output:table have it looked up more than 4096 times")
"""Open vSwitch's MAX_RESUBMITS: look-ups after the first, whether inside each other or not.

Beyond it nothing at all is sent of the packet; a packet-out is refused."""

COPIES: Final = Budget(8192, "there are 8192 copies of it, after which no group or table is entered")
"""Open vSwitch gives up groups and tables when it has 64 KB of actions to carry out, an output being 8 bytes.

The copies made so far are sent.  A plain list of outputs is not cut short: its length is bounded."""

BUCKETS: Final = Budget(32_768, "groups have it go through more than 32768 buckets")
"""Ours.  Open vSwitch goes through any number of buckets that send nothing, for hours if there are 2^40.

Four for each of the `COPIES`, so that what it sends at once is sent here, too."""

PACKET_BUDGETS: Final = (DEPTH, RESUBMITS, COPIES, BUCKETS)

MOST_ACTIONS: Final = 8190
"""How many actions a list may have: a message has 65,535 bytes, its header 8, an action at least 8."""

MOST_ENTRIES: Final = 1_000_000
"""How many flow entries Open vSwitch says that each of its tables holds."""

MOST_GROUPS: Final = 65_536
"""Ours.  Open vSwitch takes as many groups as there are numbers, which no memory holds."""

MOST_METERS: Final = 1 << 18
"""How many meters the userspace datapath of Open vSwitch holds."""

MOST_BANDS: Final = 8
"""How many bands each of them has at most."""


def is_over_budget(reason: str) -> bool:
    """Tell whether a packet was not sent on because it was over a budget."""
    return _OVER in reason
