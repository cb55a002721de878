"""Lines of what a controller prints or writes to a file: long ones are cut, and take no more memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

LONGEST: Final = 1000
"""How many characters of a line are kept; what comes after them is read and dropped."""
_LONGEST_BYTES: Final = 4 * LONGEST
_AT_ONCE: Final = 1 << 16
_MOST_AT_ONCE: Final = 1 << 22
"""How many bytes of a file are read at a time: whoever writes more is followed at the next look."""


class LineSplitter:
    """Bytes to lines of text; a line's memory is bounded however long the line is."""

    def __init__(self) -> None:
        self._begun = b""

    def feed(self, data: bytes) -> Iterator[str]:
        """Yield the lines that are complete now, without empty ones."""
        first, *rest = data.split(b"\n")
        self._begun += first[: max(0, _LONGEST_BYTES - len(self._begun))]
        for part in rest:
            yield from self.end()
            self._begun = part[:_LONGEST_BYTES]

    def end(self) -> Iterator[str]:
        """Yield the line that is begun, if there is anything in it."""
        text = self._begun.decode(errors="replace").rstrip()[:LONGEST]
        self._begun = b""
        if text:
            yield text


class FollowedFile:
    """A log file that is read as it grows, from where it ended when it was first looked at.

    A file that is not there yet is read from its beginning once it is; so is one that became shorter, or was
    replaced by another of the same name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines = LineSplitter()
        self._file, self._offset = self._there()

    def _there(self) -> tuple[int, int]:
        """Return which file there is, and how long it is; zeros if there is none."""
        try:
            found = self.path.stat()
        except OSError:
            return 0, 0
        return found.st_ino, found.st_size

    def news(self) -> Iterator[str]:
        """Yield the lines that were written since the last look; a file that cannot be read has none."""
        file, size = self._there()
        if file != self._file or size < self._offset:
            yield from self._lines.end()
            self._file, self._offset = file, 0
        if size == self._offset or not self.path.is_file():
            return
        try:
            with self.path.open("rb") as opened:
                opened.seek(self._offset)
                for _ in range(_MOST_AT_ONCE // _AT_ONCE):
                    data = opened.read(_AT_ONCE)
                    self._offset += len(data)
                    yield from self._lines.feed(data)
                    if len(data) < _AT_ONCE:
                        return
        except OSError:
            return
