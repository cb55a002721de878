"""What Ryu is called, and where its sources are."""

from __future__ import annotations

from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from penstock._base.checkout import cache_folder

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
