"""Where Penstock keeps what it fetches: beside its sources in a checkout, else among the user's caches."""

from __future__ import annotations

import os
from pathlib import Path


def checkout() -> Path | None:
    """Return the root of the source tree that this Penstock runs from; None if it is installed apart."""
    root = Path(__file__).resolve().parents[3]
    return root if (root / "tools" / "setup.sh").is_file() and (root / "pyproject.toml").is_file() else None


def cache_folder() -> Path:
    """Return the folder for what is fetched; it need not exist."""
    root = checkout()
    if root is not None:
        return root / ".cache"
    # As the XDG Base Directory Specification has it: a relative path counts as unset.
    caches = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (caches if caches.is_absolute() else Path.home() / ".cache") / "penstock"
