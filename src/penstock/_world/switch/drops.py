"""Why a switch sends a packet nowhere, and whether that was meant: the one definition for all engines.

A packet is dropped *on purpose* if whoever wrote the rules (or the packet-out) had it dropped: the entry
that it meets has no output and changes nothing, its action set was cleared, a group has no buckets, a
meter's band drops it.  It is *lost* if a table has no entry for it, or if it was to be output and could not
be: by the port that it came in by, a port that is not there, is down or does not forward, a group without a
live bucket, or because that took more than a switch spends on a packet (`_world.switch.budgets`).

Searches (`_properties.black_holes`) read it off the reasons that the switch gives; the forwarding model
(`_forwarding.crossing`) gives the same reasons for classes of packets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from penstock.errors import PenstockError
from penstock.openflow.match import port_text

MEANT: Final = "meant"
LOST: Final = "lost"
"""What a packet is that a rule drops on purpose, as a scenario may say of `drops`."""


class Ended(Enum):
    """What it says of a packet that a copy of it got no further."""

    KEPT = "kept"
    """A controller took it."""
    ASTRAY = "astray"
    """It came to a bystander, or out of a port where nobody is: other copies may have arrived."""
    DROPPED = "dropped"
    """A rule, a packet-out or a meter dropped it on purpose."""
    LOST = "lost"


NO_OUTPUT: Final = "no action outputs it"
"""What a packet meets that a rule, or a packet-out, was not to send anywhere."""

ONLY_CHANGED: Final = "its actions change it, and none outputs it"
"""Nobody changes a packet in order to drop it: an output was forgotten."""

NO_OTHER_PORT: Final = "there is no port to flood it to but the one that it came in by"
BETWEEN_BRIDGES: Final = "OFPP_NORMAL forwards nothing that bridges send each other"
FROM_NOWHERE: Final = "OFPP_NORMAL forwards nothing that came in by no port"
NO_TIME_TO_LIVE: Final = "its time to live has run out"
NO_CONTROLLER: Final = "no controller takes it"
TOO_MANY_LABELS: Final = "it needs more MPLS labels than a switch can see"

_NO_BUCKETS: Final = " has no bucket"
_EXCEEDS: Final = "it exceeds the rate "
_BETWEEN: Final = "; "


def given_drops(options: Mapping[str, object], name: str) -> str:
    """Return what a scenario says of `drops` for a property or invariant of a name."""
    drops = options.get("drops", MEANT)
    if drops not in (MEANT, LOST):
        raise PenstockError(f'invalid drops = {drops!r} of {name}: must be "{MEANT}" or "{LOST}".')
    return str(drops)


def no_port(port: int) -> str:
    """Return why a packet does not leave by a port that is not there."""
    return f"there is no port {port_text(port)}"


def port_down(port: int) -> str:
    """Return why a packet does not leave by a port that is down."""
    return f"port {port_text(port)} is down"


def not_forwarding(port: int) -> str:
    """Return why a packet does not leave by a port that is blocked."""
    return f"port {port_text(port)} does not forward (OFPPC_NO_FWD)"


def ingress_port(port: int) -> str:
    """Return why a packet is not sent back (specification 1.3 §4.5: only the reserved port IN_PORT does)."""
    return (
        f"output:{port_text(port)} is the port that it came in by, which is ignored: "
        "OFPP_IN_PORT sends it back"
    )


def learned_there(port: int) -> str:
    """Return why a packet is not sent back that is output to `OFPP_NORMAL`."""
    return f"OFPP_NORMAL has learned that its receiver is at port {port_text(port)}, by which it came in"


def no_group(group: int) -> str:
    """Return why a packet is not sent by a group that is not there."""
    return f"there is no group {group}"


def no_bucket(group: int, *, live: bool) -> str:
    """Return why a group sends a packet nowhere: it has no buckets, or none that is `live`."""
    return f"group {group}{_NO_BUCKETS}{' that is live' if live else ''}"


def no_rule(table: int, *, handed_over: bool = False) -> str:
    """Return why a packet ends in a table without an entry for it, even if such packets are `handed_over`."""
    otherwise = NO_CONTROLLER if handed_over else "there is no table-miss rule"
    return f"no rule of table {table} matches it, and {otherwise}"


def exceeds(rate: int, meter: int) -> str:
    """Return why a meter drops a packet."""
    return f"{_EXCEEDS}{rate} of meter {meter}"


def together(reasons: list[str]) -> str:
    """Return several reasons as one."""
    return _BETWEEN.join(dict.fromkeys(reasons))


def is_intended(reason: str) -> bool:
    """Tell whether a packet that was not sent on for a reason was dropped on purpose."""
    return all(
        each == NO_OUTPUT or each.endswith(_NO_BUCKETS) or each.startswith(_EXCEEDS)
        for each in reason.split(_BETWEEN)
    )


def kind_of(reason: str) -> Ended:
    """Return what the reason why a switch did not send a copy on says of the packet."""
    if reason == NO_OTHER_PORT:
        return Ended.ASTRAY
    return Ended.DROPPED if is_intended(reason) else Ended.LOST


def is_black_hole(ends: Iterable[Ended]) -> bool:
    """Tell whether a packet whose copies all ended is lost, and was not dropped on purpose.

    That a copy went astray says nothing where another was dropped: a flood has copies that lead nowhere.
    """
    found = set(ends)
    return Ended.KEPT not in found and (Ended.LOST in found or Ended.DROPPED not in found)
