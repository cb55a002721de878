"""The clocks of processes: libfaketime (Debian's `faketime`) has them show what we say.

A process that is started under a `FakeClock` sees a clock that shows a fixed moment when the replay begins.
The clock runs on by itself, and can be set forward to where it was in the recorded run; it never goes back,
since nothing would bear that.  All processes under one clock, and those started later, see the same time.
Pauses and timers follow it, as far as a program asks the C library for the time.
"""

from __future__ import annotations

import os
import time
from calendar import timegm
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from penstock._base.files import write_whole
from penstock.errors import PenstockError

MOMENT: Final = timegm((2024, 1, 1, 0, 0, 0))
"""What the clock shows when a replay begins, in seconds since 1970."""
_PLACES: Final = ("/usr/lib", "/usr/lib64", "/usr/local/lib")
_NAME: Final = "faketime/libfaketimeMT.so.1"


class FakeClock:
    """A clock for processes; it is kept in a file that they look at."""

    def __init__(self, folder: Path) -> None:
        self._library = _library()
        self._file = folder / "clock"
        self._ahead = MOMENT - time.time()
        self._write()

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return what a process's environment has to have, besides what it is given."""
        preloaded = given.get("LD_PRELOAD", os.environ.get("LD_PRELOAD", ""))
        return {
            **given,
            "LD_PRELOAD": " ".join(filter(None, (str(self._library), preloaded))),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
        }

    def show(self, milliseconds: int) -> None:
        """Set the clock forward so that so much has passed since the beginning, unless more has."""
        wanted = MOMENT + milliseconds / 1000
        behind = wanted - (time.time() + self._ahead)
        if behind > 0:
            self._ahead += behind
            self._write()

    def _write(self) -> None:
        write_whole(self._file, f"{self._ahead:+.6f}\n", "The clock")


def _library() -> Path:
    for place in _PLACES:
        for found in (Path(place) / _NAME, *sorted(Path(place).glob(f"*/{_NAME}"))):
            if found.is_file():
                return found
    raise PenstockError("A faked clock needs libfaketime: install Debian's package faketime.")
