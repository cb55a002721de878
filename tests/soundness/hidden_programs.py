"""Small os-ken programs that meet a packet's value with one that stands nowhere (`hidden_values.toml`).

Whoever tries the constants of a program on it does not have this one.  Most meet it in C code: in a
dictionary, by an order, as a part of something else.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.soundness.packet_programs import kept_program, packet_program
from tests.soundness.programs import Program, table_of

KIND: Final = "hidden"

_WORKED_OUT: Final = "import logging, queue\ndef n(): return int(''.join(map(chr, [49, 50, 51, 52, 53])))\n"


def programs() -> Iterator[Program]:
    """Yield all programs."""
    for row in table_of(Path(__file__).with_name("hidden_values.toml")):
        before = _WORKED_OUT + row.get("before", "")
        if "store" in row:
            yield kept_program(row["name"], KIND, before, row["initial"], row["test"], row["store"])
        else:
            yield packet_program(row["name"], KIND, before, row["test"])
