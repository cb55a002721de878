"""Running the command line as a person or a script does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def penstock(folder: Path, *arguments: str, status: int, typed: str = "") -> str:
    """Run a command in a folder and return what it printed, errors included."""
    done = subprocess.run(
        [sys.executable, "-m", "penstock", *arguments],
        cwd=folder,
        input=typed,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr
