"""Calls that take a frame, followed: os-ken's parser, and what reads a frame's bytes as they are."""

from __future__ import annotations

from typing import Any, Final

from penstock._concolic.code.summaries import PLAIN, UNFOLLOWED, Functions
from penstock._concolic.packets.frames import SymBuffer, SymFrame, buffer
from penstock._concolic.packets.headers import digit
from penstock._concolic.terms import Term, const, join
from penstock._concolic.values.integers import integer
from penstock._concolic.values.sym_str import SymStr


def _packet(data: Any = None, protocols: Any = None, parse_cls: Any = None) -> Any:
    if protocols is not None:
        return PLAIN
    if isinstance(data, SymBuffer):
        data = data.frame
    # os-ken's headers take a quarter of a second to load, and only programs that call this need them.
    from penstock._concolic.packets.osken_headers import KINDS, parse_osken

    if isinstance(data, SymFrame) and not data.start and parse_cls in (None, KINDS["ethernet"].made):
        return parse_osken(data)
    return UNFOLLOWED


def _array(typecode: str, *data: Any) -> Any:
    """Return an array of a frame's bytes: the frame itself, since who asks only wants to read it."""
    if typecode == "B" and len(data) == 1 and isinstance(data[0], SymFrame):
        return data[0]
    return UNFOLLOWED


def _bytearray(*data: Any) -> Any:
    return buffer(data[0]) if len(data) == 1 and isinstance(data[0], SymFrame) else UNFOLLOWED


def _len(data: Any) -> Any:
    return data.length if isinstance(data, SymFrame) else PLAIN


def _str_to_dpid(text: str) -> Any:
    """Return the number of a datapath that LLDP names."""
    if not isinstance(text, SymStr):
        return UNFOLLOWED
    nibbles = [_nibble(piece) for piece in text.pieces]
    found = [(nibble, 4) for nibble in nibbles if nibble is not None]
    if len(found) != 16 or len(nibbles) != 16:
        return UNFOLLOWED
    return integer(int(text.plain, 16), join(found))


def _nibble(piece: Any) -> Term | None:
    """Return the four bits that a character writes as a digit."""
    if isinstance(piece, str):
        return const(int(piece, 16)) if len(piece) == 1 else None
    term: Term = piece.term
    candidates = (part for outer in (term, *term.operands) for part in outer.operands)
    return next((part for part in candidates if part.high < 16 and digit(part) == term), None)


FUNCTIONS: Final[Functions] = {
    ("os_ken.lib.packet.packet", "Packet"): _packet,
    ("array", "array"): _array,
    ("builtins", "bytearray"): _bytearray,
    ("builtins", "len"): _len,
    ("os_ken.lib.dpid", "str_to_dpid"): _str_to_dpid,
}
"""What to call in place of a function where an argument is followed."""
