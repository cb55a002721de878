"""The version of Penstock."""

from typing import Final

VERSION: Final = "0.1.0"
