"""How long one message takes to encode and to decode, beside python-openflow and os-ken.

    python -m bench.codec [--all] [--json]

The messages a network lives on have limits: 20 µs for packet-ins, packet-outs and barriers, 60 µs for
a flow-mod with four match fields and two actions.  The other libraries do the same messages in the
same run; a dash stands where one cannot (os-ken writes only what controllers send and reads only what
switches send and flow-mods).  An other library's time is that of its own objects, already built.
`--all` adds one message of every kind, full of everything it can hold; without os-ken, which never
returns from reading a greeting whose version bitmap needs padding.

Each time is the best of several rounds.  Exit status 1 if a limit is broken.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from timeit import Timer
from types import SimpleNamespace
from typing import Any, NamedTuple

from os_ken.ofproto import ofproto_parser as osken
from os_ken.ofproto import ofproto_v1_0_parser as osken10
from os_ken.ofproto import ofproto_v1_3_parser as osken13
from os_ken.ofproto.ofproto_protocol import ProtocolDesc, _versions
from pyof.utils import unpack

from bench.codec_fuzz import kind_of
from bench.codec_samples import SAMPLES
from penstock.openflow.actions import ApplyActions, Output, SetField
from penstock.openflow.match import Match
from penstock.openflow.messages import (
    NO_BUFFER,
    V10,
    V13,
    BarrierReply,
    BarrierRequest,
    FlowCommand,
    FlowMod,
    OpenFlowMessage,
    PacketIn,
    PacketOut,
    PortNo,
)
from penstock.openflow.wire import decode, encode

QUICK_US, FLOW_MOD_US = 20.0, 60.0
NAMES = {V10: "1.0", V13: "1.3"}

_ROUNDS = 5
_ROUND_SECONDS = 0.01
_FRAME = bytes(range(64))
_MAC = 0x0200000000A1
_MATCH = Match.of(in_port=3, eth_src=_MAC, eth_dst=_MAC + 1, eth_type=0x0800)

_ACTIONS = (SetField("eth_dst", _MAC), Output(2))

TYPICAL: tuple[tuple[OpenFlowMessage, float], ...] = (
    (PacketIn(NO_BUFFER, 64, 0, Match.of(in_port=3), _FRAME), QUICK_US),
    (PacketOut(NO_BUFFER, 3, (Output(PortNo.FLOOD),), _FRAME), QUICK_US),
    (BarrierRequest(xid=7), QUICK_US),
    (BarrierReply(xid=7), QUICK_US),
    (FlowMod(FlowCommand.ADD, _MATCH, (ApplyActions(_ACTIONS),), 5, idle_timeout=10), FLOW_MOD_US),
)


class Row(NamedTuple):
    """One message in one direction: our time and the others', in microseconds."""

    version: str
    message: str
    does: str
    microseconds: float
    limit: float | None
    python_openflow: float | None
    os_ken: float | None = None

    @property
    def passed(self) -> bool:
        """Whether the limit is kept."""
        return self.limit is None or self.microseconds <= self.limit


def best(call: Callable[[], Any]) -> float:
    """Return the time of a call in microseconds: the best of several rounds."""
    timer = Timer(call)
    once = max(timer.timeit(10) / 10, 1e-7)
    loops = max(10, int(_ROUND_SECONDS / once))
    return min(timer.repeat(_ROUNDS, loops)) / loops * 1e6


def best_of_other(call: Callable[[], Any]) -> float | None:
    """Return the time of another library's call, or None if it cannot do it."""
    try:
        call()
    except Exception:
        return None
    return best(call)


def _described(version: int) -> Any:
    """Return a version for os-ken, whatever versions its apps agreed on if some ran in this process."""
    described = ProtocolDesc()
    described.ofproto, described.ofproto_parser = _versions[version]
    return described


def _osken_built(version: int) -> dict[type[OpenFlowMessage], Any]:
    """Return os-ken's own objects for the typical messages that it can write."""
    datapath, p = _described(version), osken10 if version == V10 else osken13
    flood = PortNo.FLOOD & 0xFFFF if version == V10 else PortNo.FLOOD
    mac, other = "02:00:00:00:00:a1", "02:00:00:00:00:a2"
    if version == V10:
        match = p.OFPMatch(in_port=3, dl_src=mac, dl_dst=other, dl_type=0x0800)
        actions = [p.OFPActionSetDlDst(mac), p.OFPActionOutput(2)]
        flow_mod = p.OFPFlowMod(datapath, match, 0, 0, 10, 0, 5, actions=actions)
    else:
        match = p.OFPMatch(in_port=3, eth_src=mac, eth_dst=other, eth_type=0x0800)
        actions = [p.OFPActionSetField(eth_dst=mac), p.OFPActionOutput(2)]
        apply = [p.OFPInstructionActions(4, actions)]
        flow_mod = p.OFPFlowMod(datapath, idle_timeout=10, priority=5, match=match, instructions=apply)
    out = [p.OFPActionOutput(flood)]
    return {
        PacketOut: p.OFPPacketOut(datapath, NO_BUFFER, 3, out, _FRAME),
        BarrierRequest: p.OFPBarrierRequest(datapath),
        FlowMod: flow_mod,
    }


def _osken_reads(data: bytes, version: int) -> Callable[[], Any]:
    described = _described(version)
    datapath = SimpleNamespace(ofproto=described.ofproto, ofproto_parser=described.ofproto_parser)

    def read() -> Any:
        message = osken.msg(datapath, version, data[1], len(data), 0, data)
        if message is None:
            raise ValueError("os-ken cannot read this message")
        return message

    return read


def rows(every: bool) -> Iterator[Row]:
    """Measure the typical messages and, if asked, one of every kind."""
    for version in NAMES:
        built = _osken_built(version)
        for message, limit in TYPICAL:
            writes, reads = built.get(type(message)), _osken_reads(encode(message, version), version)
            ours = _measured(message, version, kind_of(message), limit)
            theirs = (None if writes is None else best_of_other(writes.serialize), best_of_other(reads))
            yield from (row._replace(os_ken=time) for row, time in zip(ours, theirs, strict=True))
        for message in SAMPLES[version] if every else ():
            yield from _measured(message, version, f"{kind_of(message)} in full", None)


def _measured(message: OpenFlowMessage, version: int, name: str, limit: float | None) -> tuple[Row, Row]:
    """Measure a message both ways with our codec and python-openflow's."""
    data = encode(message, version)
    try:
        other = unpack(data)
    except Exception:
        other = None
    writes = None if other is None else best_of_other(other.pack)
    reads = best_of_other(lambda: unpack(data))
    return (
        Row(NAMES[version], name, "encode", best(lambda: encode(message, version)), limit, writes),
        Row(NAMES[version], name, "decode", best(lambda: decode(data)), limit, reads),
    )


def _beside(ours: float, theirs: float | None) -> str:
    if theirs is None:
        return f"{'-':>9}        "
    ratio = theirs / ours
    return f"{theirs:9.1f} ({ratio:{'4.1f' if ratio < 10 else '4.0f'}}x)"


def _line(row: Row) -> str:
    judged = "" if row.limit is None else f"  {'pass' if row.passed else 'FAIL'} (limit {row.limit:g})"
    return (
        f"{row.version}  {row.message:34} {row.does}  {row.microseconds:7.1f}"
        f"  {_beside(row.microseconds, row.python_openflow)}  {_beside(row.microseconds, row.os_ken)}{judged}"
    )


def _as_json(row: Row) -> dict[str, Any]:
    others = {"python_openflow": row.python_openflow, "os_ken": row.os_ken}
    return {
        "version": row.version,
        "message": row.message,
        "does": row.does,
        "us": round(row.microseconds, 2),
        "limit_us": row.limit,
        "passed": row.passed,
        **{f"{name}_us": None if us is None else round(us, 2) for name, us in others.items()},
        **{
            f"{name}_ratio": None if us is None else round(us / row.microseconds, 1)
            for name, us in others.items()
        },
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.codec", description=__doc__.split("\n")[0])
    parser.add_argument("--all", action="store_true", help="measure one message of every kind too")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(arguments)
    logging.getLogger("os_ken").setLevel(logging.CRITICAL + 1)  # it logs what it cannot read
    measured = []
    if not given.json:
        print(f"{'microseconds':>54}    python-openflow             os-ken")
    for row in rows(given.all):
        measured.append(row)
        if not given.json:
            print(_line(row), flush=True)
    broken = [row for row in measured if not row.passed]
    if given.json:
        print(json.dumps({"rows": [_as_json(row) for row in measured], "passed": not broken}))
    else:
        print(f"{len(measured)} measured, {len(broken)} over the limit")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
