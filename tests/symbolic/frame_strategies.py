"""Inputs of frames for tests: valid ones of every shape, and others that take the same decisions."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from hypothesis import assume
from hypothesis import strategies as st

from penstock._concolic.packets.domain import Addresses
from penstock._concolic.packets.frames import FrameSpace
from penstock._concolic.packets.layouts import PRESENT
from penstock._concolic.run import Run
from penstock._concolic.space import Inputs
from penstock._concolic.terms import evaluate
from penstock._concolic.values.segments import written
from penstock._concolic.values.sym_str import SymStr
from penstock.addresses import ipv4

HOSTS = Addresses(
    macs=(1, 2, 3), ipv4s=(ipv4("10.0.0.1"), ipv4("10.0.0.2"), ipv4("10.0.0.3")), switch_macs=(0x101,)
)
FRAMES = FrameSpace(HOSTS)
SHAPE = frozenset().union(*(condition.variables for condition in PRESENT.values()))
"""The inputs that decide which headers there are."""


def inputs(fixed: Inputs | None = None) -> st.SearchStrategy[dict[str, int]]:
    """Draw inputs that make a frame, half of them usual ones; some may be fixed."""
    # Drawing sixty numbers one by one would take longer than the tests do.
    return st.integers(0, 1 << 32).map(lambda seed: settled(_drawn(Random(seed)), fixed or {}))


def _drawn(chance: Random) -> dict[str, int]:
    return {
        variable.name: chance.choice(variable.preferred)
        if chance.random() < (0.9 if variable.name in SHAPE else 0.5)
        else chance.getrandbits(variable.width)
        for variable in FRAMES.space.variables
    }


def settled(found: dict[str, int], fixed: Inputs) -> dict[str, int]:
    """Return inputs that are nudged until they make a frame; the fixed ones as they are."""
    found["eth_src"] = found["eth_src"] & ~(1 << 40) | 2
    if found["eth_type"] < 0x0600:
        found["eth_type"] |= 0x0800
    found["payload_length"] = min(found["payload_length"], 1400)
    if not found["vlan_vid"] & 0x1000:
        found["vlan_vid"] = 0
    found |= fixed
    if "payload" not in fixed:
        kept = min(found["payload_length"], 8)
        found["payload"] &= -1 << 8 * (8 - kept)
    if "icmpv6_code" not in fixed and found["icmpv6_type"] in (135, 136):
        found["icmpv6_code"] = 0
    assume(valid(found))
    return found


def valid(found: Inputs) -> bool:
    """Tell whether inputs make a frame."""
    return all(evaluate(condition, found) for condition in FRAMES.space.constraints)


def usual(**changes: int) -> dict[str, int]:
    """Return the usual inputs with some changed."""
    return {**FRAMES.usual, **changes}


def decisions(run: Run) -> list[str]:
    """Return what a run has decided, in words."""
    return [str(decision.holds) for decision in run.decisions]


def decided_by(run: Run) -> frozenset[str]:
    """Return the inputs that a run has decided by."""
    return frozenset().union(*(decision.condition.variables for decision in run.decisions))


def taken(run: Run, others: Inputs) -> bool:
    """Tell whether other inputs would have decided alike."""
    return all(evaluate(decision.holds, others) for decision in run.decisions)


def alike(run: Run, one: Inputs, names: Iterable[str] = ()) -> dict[str, int]:
    """Return the inputs that others must share to decide alike."""
    return {name: one[name] for name in (*decided_by(run), *names)}


def text_for(value: str, values: Inputs) -> str:
    """Return what a text that is followed would be for other inputs."""
    pieces = value.pieces if isinstance(value, SymStr) else (value,)
    return "".join(
        piece if isinstance(piece, str) else written(evaluate(piece.term, values), piece.form)
        for piece in pieces
    )
