"""Meters: which packets exceed a rate, and what becomes of them (specification 1.3 §5.7).

Each band of a meter is a token bucket on the switch's clock, counted as the userspace datapath of Open
vSwitch counts:

- A bucket begins full.  It holds `burst_size` thousand tokens; a band without a burst size is given that
  of its rate when the meter is made.
- Each millisecond adds `rate` tokens.  A wait longer than any bucket of the meter takes to fill adds no
  more than that many whole milliseconds do.
- A packet takes from every bucket a thousand tokens where the meter counts packets, else one for each
  bit; from a bucket that holds too few it takes none, and exceeds that band.
- Of the bands that a packet exceeds, the one with the highest rate acts, and counts the packet.

What `SwitchOptions.meters` says decides whether that is done.  In a search no time passes, and levels of
buckets would make every packet a new state, so a search has every packet stay within its rates (`pass`)
unless it is told otherwise.  With `overruns` it may also have the next packet of a meter exceed its highest
rate, whoever else's packets have taken the tokens: so it sees both without counting any.  Without, a
packet that was not measured is noted as `unmetered`, and the result is no proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from penstock._world.switch.drops import exceeds
from penstock._world.switch.rewriting import Packet
from penstock._world.switch.state import BucketLevels, MeterEntry, Usage
from penstock._world.switch.turn import Turn
from penstock.openflow.messages import Band

KBPS: Final = 1
PKTPS: Final = 2
UNMETERED: Final = "unmetered"
"""The kind of the event that a packet went through a meter which limits nothing."""

_TOKENS: Final = 1000
"""How many tokens a packet, or a kilobit, is worth."""

_BITS: Final = 8
_HIGHEST_PRECEDENCE: Final = 3
_ASSURED_CLASSES: Final = range(1, 5)


class BandType(IntEnum):
    """What a band does with the packets that exceed its rate."""

    DROP = 1
    DSCP_REMARK = 2


@dataclass(frozen=True, slots=True)
class Exceeded:
    """A band that acts on a packet: the meter's number, the band and its place in the meter."""

    meter: int
    place: int
    band: Band

    def __str__(self) -> str:
        return exceeds(self.band.rate, self.meter)


def measure(turn: Turn, number: int, packet: Packet, size: int) -> Exceeded | None:
    """Count a packet of a size that goes through a meter; return the band that acts on it, if one does."""
    meter = turn.state.meters.get(number)
    if meter is None:
        return None
    if turn.options.counters:
        before = turn.state.meter_usage.get(number) or Usage()
        turn.change(meter_usage=turn.state.meter_usage.set(number, before.plus(size, turn.state.now)))
    if number in turn.state.overrun:
        turn.change(overrun=turn.state.overrun - {number})
        found: Exceeded | None = _highest(number, meter, range(len(meter.bands)))
    elif turn.options.meters == "pass":
        if not turn.options.overruns:
            turn.note(UNMETERED, packet.tag, packet.in_port, number)
        return None
    else:
        found = _drain(turn, number, meter, size)
    if found is not None and turn.options.counters:
        key = (number, found.place)
        counted = turn.state.band_usage.get(key) or Usage()
        turn.change(band_usage=turn.state.band_usage.set(key, counted.plus(size, turn.state.now)))
    return found


def _drain(turn: Turn, number: int, meter: MeterEntry, size: int) -> Exceeded | None:
    """Take a packet's tokens out of a meter's buckets; return the highest band that had too few."""
    volume = _TOKENS if meter.flags & PKTPS else size * _BITS
    before = _levels(turn, number, meter)
    after = tuple(level - volume if level >= volume else level for level in before)
    levels = BucketLevels(turn.state.now, after)
    turn.change(bucket_levels=turn.state.bucket_levels.set(number, levels))
    exceeded = [place for place, level in enumerate(before) if level < volume]
    return _highest(number, meter, exceeded) if exceeded else None


def _highest(number: int, meter: MeterEntry, exceeded: Sequence[int]) -> Exceeded:
    """Return the band that acts, of those in these places."""
    place = max(exceeded, key=lambda place: meter.bands[place].rate)
    return Exceeded(number, place, meter.bands[place])


def _levels(turn: Turn, number: int, meter: MeterEntry) -> tuple[int, ...]:
    """Return how full a meter's buckets are now."""
    last = turn.state.bucket_levels.get(number)
    if last is None:
        return tuple(_capacity(band) for band in meter.bands)
    longest = max(_capacity(band) // band.rate for band in meter.bands)
    passed = min(turn.state.now - last.at, longest)
    return tuple(
        min(level + passed * band.rate, _capacity(band))
        for level, band in zip(last.levels, meter.bands, strict=True)
    )


def _capacity(band: Band) -> int:
    return band.burst_size * _TOKENS


def remark(packet: Packet, band: Band) -> None:
    """Raise the drop precedence of an IP packet by as many levels as a band says."""
    if packet.is_ip:
        packet.set("ip_dscp", remarked(packet.fields.get("ip_dscp", 0), band.body[0]))


def remarked(dscp: int, levels: int) -> int:
    """Return a DSCP whose packets are dropped sooner by so many levels.

    The specification leaves open what the drop precedence of a DSCP is.  Assured forwarding has three of
    them in each class (RFC 2597); the class selectors have theirs in the class, the higher the better
    (RFC 2474 §4.2.2), which is what Ryu's switch tests expect.  Any other DSCP has none, and stays.
    """
    kind, precedence = dscp >> 3, dscp & 0b111
    if not precedence:
        return max(kind - levels, 0) << 3
    if kind in _ASSURED_CLASSES and not precedence & 1:
        return kind << 3 | min((precedence >> 1) + levels, _HIGHEST_PRECEDENCE) << 1
    return dscp
