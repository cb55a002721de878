"""What was tried so far: kept in a file, so that a minimisation that is killed goes on where it was.

Minimising is a function of the answers that the replays give.  So no state of the search is saved, only
each answer, as a line of `progress.jsonl` that is written before the answer is used.  A second run asks the
same questions in the same order, finds most of them answered, and ends with the same result.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock._base.files import (
    UnwritableError,
    absolute,
    append,
    cut,
    make_folder,
    open_to_read,
    write_whole,
)
from penstock._base.reading import parse_object, read_lines
from penstock._replay.guided import Announce, Attempt
from penstock.errors import PenstockError

FORMAT: Final = "penstock-minimisation"
FILE: Final = "progress.jsonl"
_LONGEST_HEADER: Final = 10_000
_PROGRESS: Final = "The progress"
"""What is written here, in a sentence that says that it cannot be."""


@dataclass(frozen=True, slots=True)
class Step:
    """One replay of a minimisation: what was tried, and how far it is after it."""

    number: int
    phase: str
    inputs: int
    """How many inputs were tried."""
    reproduced: bool
    size: int
    """How many inputs the smallest reproducing sequence so far has."""
    seconds: float
    """How long all replays have taken so far."""


Watcher = Callable[[Step], None]


class UnkeptError(Exception):
    """An answer could not be written down.

    This is no `PenstockError`, which whoever asks a question takes for the answer no.
    """


class Progress:
    """The answers so far; with a folder, in a file of it."""

    def __init__(
        self,
        digest: str,
        folder: Path | None = None,
        watcher: Watcher | None = None,
        announce: Announce | None = None,
    ) -> None:
        self.steps: list[Step] = []
        self.phase = "all inputs"
        self.resumed = 0
        """How many answers came from a run before this one."""
        self._size = 0
        self._seconds = 0.0
        self._watcher = watcher
        self._announce = announce
        self._asked: dict[str, Attempt] = {}
        self._from_file: dict[str, Attempt] = {}
        self._path = None if folder is None else folder / FILE
        if self._path is not None:
            self._open(self._path, digest)

    def answer(self, key: str, inputs: int, ask: Callable[[], Attempt]) -> Attempt:
        """Return the answer to a question, from memory, from the file or by asking."""
        known = self._asked.get(key)
        if known is not None:
            return known
        found = self._from_file.get(key)
        if found is None:
            self.announce(f"{self.phase}: replaying {inputs:,} input{'' if inputs == 1 else 's'}")
            found = ask()
            self._write(key, found)
        else:
            self.resumed += 1
        self._asked[key] = found
        self._seconds += found.seconds
        if found.reproduced and (not self.steps or inputs < self._size):
            self._size = inputs
        step = Step(
            len(self.steps) + 1, self.phase, inputs, found.reproduced, self._size, round(self._seconds, 6)
        )
        self.steps.append(step)
        if self._watcher is not None:
            self._watcher(step)
        return found

    def announce(self, text: str) -> None:
        """Say what is about to be done."""
        if self._announce is not None:
            self._announce(text)

    @property
    def replays(self) -> int:
        """How many replays there were."""
        return len(self.steps)

    @property
    def seconds(self) -> float:
        """How long they took."""
        return self._seconds

    # The file.

    def _open(self, path: Path, digest: str) -> None:
        header = json.dumps({"format": FORMAT, "digest": digest}) + "\n"
        make_folder(path.parent, _PROGRESS)
        if _first_line(path) != header.encode():
            write_whole(path, header, _PROGRESS)
            return
        whole = [line for line in read_lines(path) if line.endswith("\n")]  # what has no end was cut short
        self._from_file = dict(_read(line) for line in whole[1:])
        cut(path, sum(len(line.encode()) for line in whole), _PROGRESS)

    def _write(self, key: str, found: Attempt) -> None:
        if self._path is None:
            return
        line: dict[str, object] = {
            "key": key,
            "reproduced": found.reproduced,
            "seconds": round(found.seconds, 6),
        }
        line |= {"message": found.message, "invariant": found.invariant, "skipped": list(found.skipped)}
        line |= {"needed": found.needed, "tries": found.tries, "hits": found.hits}
        whole = json.dumps(line).encode() + b"\n"
        try:
            append(self._path, whole, _PROGRESS)
        except UnwritableError as error:
            raise UnkeptError(str(error)) from None


def kept_under(folder: Path) -> str:
    """Return what the answers in a folder depend on; nothing, if there are none that can be read."""
    try:
        return str(parse_object(_first_line(folder / FILE).decode())["digest"])
    except (PenstockError, ValueError, KeyError):
        return ""


def _first_line(path: Path) -> bytes:
    """Return the header of a file of answers; nothing, if there is no file."""
    if not os.path.lexists(absolute(path)):
        return b""
    with open_to_read(path) as file:
        return file.readline(_LONGEST_HEADER)


def _read(line: str) -> tuple[str, Attempt]:
    """Return an answer that was written down."""
    try:
        found = parse_object(line)
        answer = Attempt(
            reproduced=bool(found["reproduced"]),
            message=str(found["message"]),
            invariant=str(found["invariant"]),
            skipped=tuple(map(int, found["skipped"])),
            needed=None if found["needed"] is None else int(found["needed"]),
            seconds=float(found["seconds"]),
            tries=int(found["tries"]),
            hits=int(found["hits"]),
        )
        return str(found["key"]), answer
    except (ValueError, KeyError, TypeError, OverflowError):
        raise PenstockError(f"{FILE} is damaged: delete it to begin anew.") from None
