"""One process at a time."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep all other processes out that name the same file."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
