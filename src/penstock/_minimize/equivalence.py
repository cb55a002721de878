"""When two internal events are the same for our purposes, though they were not written alike.

Without some of its inputs a run numbers its packets and transactions otherwise.  A *mask* takes such
numbers out of a text; two events with the same masked text are functionally equivalent (STS §4.0.2 and
Table 4.1: transaction ids, cookies, buffer ids, statistics; of log lines the parameters).  What a mask
hides, no replay can insist on, so bugs that lie in masked values alone are beyond it.

The texts of a trace leave most of these values out already.  A scenario may name more: `[fuzz] masks`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

Mask = tuple[re.Pattern[str], str]

MASKS: Final[list[Mask]] = [
    (re.compile(r"(?<![\w.-])[\w.-]+[#~]\d+ (?=\[)"), ""),  # the name of a packet, where it is told
    (re.compile(r"(?<![\w.-])([\w.-]+)[#~]\d+\b"), r"\1#"),  # and where it is only called by it
    (re.compile(r"\b(xid|cookie|buffer|buffer_id|timestamp)([ =:])(0x[0-9a-f]+|\d+)"), r"\1\2…"),
    (re.compile(r"\b(packets|bytes|duration)=\d+"), r"\1=…"),
    (re.compile(r"^(time [\w.-]+):\d+$"), r"\1"),
]
"""What is taken out of a text, and what is put there instead."""

_PARAMETERS: Final = re.compile(r"0x[0-9a-fA-F]+|\d+|'[^']*'|\"[^\"]*\"")


_OF_THE_SCENARIO: Final[list[Mask]] = []


def mask_values_of(names: Sequence[str]) -> None:
    """Have the values of some names masked as well (`role` in `role=slave`), and no longer others' before.

    They are names and not patterns, since a trace may come from a stranger and some patterns never end.
    """
    _OF_THE_SCENARIO[:] = [
        (re.compile(rf"\b({re.escape(name)})([ =:])[^\s,;()\[\]]+"), r"\1\2…") for name in names
    ]
    masked.cache_clear()


@lru_cache(maxsize=50_000)
def masked(text: str) -> str:
    """Return a text of a transition or message without what may differ between equivalent ones."""
    for pattern, instead in (*MASKS, *_OF_THE_SCENARIO):
        text = pattern.sub(instead, text)
    return text


def masked_log(text: str) -> str:
    """Return a log line without its parameters, which leaves the statement that printed it."""
    return _PARAMETERS.sub("…", text)
