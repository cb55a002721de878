"""The example of a host of one's own runs and finds what is there."""

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "port_scanner.py"


def test_the_scanner_finds_the_open_port_and_no_other() -> None:
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, check=True)
    assert done.stdout == "open ports of h3: 80\n"
