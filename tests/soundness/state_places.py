"""Programs that keep something in an unusual place (`state_places.toml`).

Each place can hold a number.  The program with the bug keeps there by which port the last packet came
and crashes if port 1 comes right after port 2; the safe one counts packets there and crashes at the
sixth, of which at most four come (a proof has more come, and says that the scenario does not).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.soundness.programs import Lines, Program, app, scenario, table_of

_HELPER: Final = "N = [0]\nn = 0\nclass Box:\n    n = 0\ndef bump(): pass\nbump.n = 0\n"
_BUG: Final = "last = GET\nPUT\nif port == 1 and last == 2:\n    raise RuntimeError('the bug')"
_SAFE: Final = "port = GET + 1\nPUT\nif port >= 6:\n    raise RuntimeError('the bug')"


class Place(NamedTuple):
    """Where a number is kept; the fields are explained in the table."""

    name: str
    get: str
    put: str
    before: str = ""
    inside: str = ""
    setup: str = ""
    reason: str = ""
    only: str = ""
    helper: bool = False


PLACES: Final = tuple(Place(**row) for row in table_of(Path(__file__).with_suffix(".toml")))


def programs() -> Iterator[Program]:
    """Yield two programs for each place and each kind of controller: one with a bug, one without."""
    for place in PLACES:
        for kind in ("osken", "native"):
            if place.only in ("", kind):
                yield _program(place, kind, "bug")
                yield _program(place, kind, "safe")


def _program(place: Place, kind: str, truth: str) -> Program:
    name = f"{kind}_{place.name}_{truth}"
    body = (_BUG if truth == "bug" else _SAFE).replace("GET", place.get)
    body = body.replace("PUT", _with_number(place.put)).replace("'helper'", f"'{name}_helper'")
    before = place.before.replace("import helper", f"import {name}_helper as helper")
    lines = Lines(before, place.inside, place.setup, body)
    native = kind == "native"
    files = {f"{name}.py": app(lines, native=native)}
    if place.helper:
        files[f"{name}_helper.py"] = _HELPER
    table = scenario(f"{name}.py", native=native)
    return Program(name, f"state in {place.name}", files, table, truth, truth, place.reason)


def _with_number(text: str) -> str:
    """Return lines in which every N that stands alone is the number that is to be kept."""
    return re.sub(r"(?<![\w.\"'])N(?![\w\[])", "port", text)
