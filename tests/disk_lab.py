"""A disk that is soon full, for tests that must not need a real one."""

import contextlib
import resource
from collections.abc import Iterator


@contextlib.contextmanager
def file_limit(length: int) -> Iterator[None]:
    """Let no file grow beyond a number of bytes; writing further fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (length, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
