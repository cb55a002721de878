"""Seals: how Penstock knows again what it wrote itself, for this user on this machine.

Whoever writes a file can write digests into it, too; so that a trace was recorded here, with this code, is
sealed with a key that only this user can read.  The key is made when it is first needed.  Where that cannot
be, nothing is sealed, and nothing is taken for one's own.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import secrets
import stat
from functools import cache
from pathlib import Path
from typing import Any, Final

_BYTES: Final = 32


def seal(content: Any) -> str:
    """Return the seal on plain data; empty if there is no key."""
    key = _key(_key_file())
    text = json.dumps(content, sort_keys=True).encode()
    return "" if key is None else hmac.new(key, text, "sha256").hexdigest()


def is_sealed(content: Any, given: str) -> bool:
    """Tell whether that is our seal on plain data."""
    return bool(given) and given.isascii() and hmac.compare_digest(seal(content), given)


def _key_file() -> Path | None:
    # As the XDG Base Directory Specification has it: a relative path counts as unset.
    states = Path(os.environ.get("XDG_STATE_HOME", ""))
    try:
        return (states if states.is_absolute() else Path.home() / ".local" / "state") / "penstock" / "key"
    except RuntimeError:
        return None


@cache
def _key(file: Path | None) -> bytes | None:
    if file is None:
        return None
    try:
        return _read(file) or _create_key(file)
    except OSError:
        return None


def _read(file: Path) -> bytes | None:
    """Return a key that is there, and that nobody but this user can read or could have put there."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        now = os.fstat(descriptor)
        if not stat.S_ISREG(now.st_mode) or now.st_uid != os.geteuid() or now.st_mode & 0o077:
            raise PermissionError(file)
        key = stream.read(_BYTES)
    if len(key) != _BYTES:
        raise OSError(file)
    return key


def _create_key(file: Path) -> bytes | None:
    """Make a key; of two processes that do so at once, the second takes that of the first."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(secrets.token_bytes(_BYTES))
        with contextlib.suppress(FileExistsError):
            os.link(draft, file)
    finally:
        draft.unlink(missing_ok=True)
    return _read(file)
