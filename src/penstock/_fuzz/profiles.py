"""Profiles: how often each kind of input is drawn, by name.

A rate is a weight: a kind with rate 2 is drawn twice as often as one with rate 1, whenever it is
possible at all.  What fails must come back, so the rates of recoveries are above those of failures;
otherwise a run soon has nothing left to break (STS found the choice of rates to decide what is found).

| profile | what it is for |
| --- | --- |
| `usual` | the default: whatever a controller has to cope with, seldom enough that the network mostly works |
| `everything` | also switches whose tables are full, or lose rules without a word |
| `traffic` | packets only, ordinary and odd: does the controller handle what hosts may send? |
| `links` | links and switches come and go under traffic: loops and black holes after a change |
| `control` | controllers crash, sessions break, control messages are late: races and recovery |
| `wires` | the data plane loses, doubles, reorders and delays frames |
| `mobility` | hosts move between switches under traffic |
| `tables` | flow tables fill up, forget entries and ignore flow-mods; sessions begin anew, so that rules do |

`rates` in the scenario changes single ones; a rate of 0 leaves a kind out.  `class_packet` and `policy`
have to be asked for, because they need a controller that runs in process and a function of the user's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock._base.suggesting import hint
from penstock.errors import PenstockError

KINDS: Final[Mapping[str, str]] = {
    "link_failure": "a link is cut",
    "link_recovery": "a cut link is mended",
    "switch_failure": "a switch loses its power, and its tables",
    "switch_recovery": "a switch has power again",
    "controller_crash": "a controller ends without warning",
    "controller_restart": "a controller begins anew",
    "disconnect": "a switch loses its session with a controller",
    "reconnect": "a lost session is opened again",
    "partition": "a controller loses all its sessions",
    "heal": "a partitioned controller has its sessions back",
    "packet": "a host sends a ping, an ARP request, a datagram or opens a connection",
    "broadcast": "a host sends something to everybody",
    "odd_packet": "a frame with odd headers appears",
    "class_packet": "a packet of a class that the controller tells apart appears",
    "packet_drop": "a frame on its way is lost",
    "packet_duplicate": "a frame on its way is doubled",
    "packet_reorder": "a frame on its way overtakes another",
    "packet_delay": "a data channel stands still for a time",
    "control_delay": "a control channel stands still for a time",
    "control_block": "a control channel stands still",
    "control_unblock": "a channel that stands still goes on",
    "migration": "a host is plugged into another switch",
    "table_limit": "a switch's flow tables are limited",
    "table_unlimit": "the limit is lifted",
    "entry_loss": "a flow entry vanishes",
    "flow_mod_loss": "flow-mods have no effect",
    "policy": "the user's function changes the policy",
    "check": "the invariants are looked at",
    "wait": "time passes",
}
"""The kinds of inputs, each with what it means."""

_TRAFFIC: Final = {"packet": 10.0, "broadcast": 1.0, "wait": 3.0, "check": 1.0}
_LINKS: Final = {"link_failure": 1.0, "link_recovery": 2.0, "switch_failure": 0.3, "switch_recovery": 1.0}
_WIRES: Final = {"packet_drop": 0.5, "packet_duplicate": 0.5, "packet_reorder": 0.5, "packet_delay": 0.5}
_CONTROL: Final = {
    "controller_crash": 0.2,
    "controller_restart": 1.0,
    "disconnect": 0.4,
    "reconnect": 1.0,
    "partition": 0.2,
    "heal": 1.0,
    "control_delay": 0.5,
    "control_block": 0.4,
    "control_unblock": 1.0,
}
_MOBILITY: Final = {"migration": 1.0}
_TABLES: Final = {"table_limit": 0.3, "table_unlimit": 0.5, "entry_loss": 0.4, "flow_mod_loss": 0.3}

_USUAL: Final = {
    **_TRAFFIC,
    "odd_packet": 1.0,
    **_LINKS,
    **_WIRES,
    **_CONTROL,
    **_MOBILITY,
}

PROFILES: Final[Mapping[str, Mapping[str, float]]] = {
    "usual": _USUAL,
    "everything": {**_TRAFFIC, "odd_packet": 1.0, **_LINKS, **_WIRES, **_CONTROL, **_MOBILITY, **_TABLES},
    "traffic": {**_TRAFFIC, "odd_packet": 4.0},
    "links": {**_TRAFFIC, **_LINKS},
    "control": {**_TRAFFIC, **_CONTROL},
    "wires": {**_TRAFFIC, **_WIRES},
    "mobility": {**_TRAFFIC, **_MOBILITY},
    "tables": {**_TRAFFIC, **_TABLES, "disconnect": 0.3, "reconnect": 1.0},
}


def rates_of(profile: str, changes: Mapping[str, float]) -> dict[str, float]:
    """Return the rates of a profile with changes; kinds that never happen are left out."""
    if profile not in PROFILES:
        raise PenstockError(f"There is no profile {profile!r}: {hint(profile, PROFILES)}")
    for kind in changes:
        if kind not in KINDS:
            raise PenstockError(f"The rate {kind!r} in [fuzz] is of no kind: {hint(kind, KINDS)}")
    rates = {**PROFILES[profile], **changes}
    found = {kind: float(rates[kind]) for kind in KINDS if rates.get(kind)}
    if not found:
        raise PenstockError("All rates in [fuzz] are 0: give at least one kind of input a rate above 0.")
    return found
