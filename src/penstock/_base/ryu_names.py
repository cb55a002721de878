"""What Ryu is called, where its sources are, and where Penstock keeps what it fetches.

In a checkout that is beside Penstock's sources, else among the user's caches.
"""

from __future__ import annotations

import os
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final


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


RYU: Final = "ryu"
OS_KEN: Final = "os_ken"
VERSION: Final = "4.34"


def source_folders() -> tuple[Path, ...]:
    """Return the folders that hold parts of the package `ryu`, the best first."""
    folders = [cache_folder() / f"ryu-{VERSION}" / RYU]
    installed = PathFinder.find_spec(RYU)
    if installed is not None:
        folders += map(Path, installed.submodule_search_locations or ())
    return tuple(folder for folder in folders if folder.is_dir())


def missing(app: str) -> str:
    """Return what to tell the user when an app needs Ryu's sources and they are not here."""
    return f"{app} needs the sources of Ryu {VERSION}, not found here: run penstock fetch-ryu to fetch them."


def is_ryu(name: str) -> bool:
    """Tell whether a module is one of Ryu's."""
    return name == RYU or name.startswith(f"{RYU}.")
