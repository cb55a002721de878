"""Traces played again, whole or in part."""

from __future__ import annotations

from typing import Final

# Here, since the options of commands show it, which are there before anything is loaded that plays.
EPSILON_MS: Final = 100
"""How much later than recorded an event of a real process may come, by default."""
