"""What following a program has to know of its surroundings: whoever runs programs answers it here."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any


def _is_standard(stream: Any) -> bool:
    return any(stream is each for each in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__))


def _never(_logger: logging.Logger) -> bool:
    return False


is_shown: Callable[[Any], bool] = _is_standard
"""Tells whether what is written to a stream goes to the terminal, where no program reads it."""

reaches_program: Callable[[logging.Logger], bool] = _never
"""Tells whether the program has handlers or filters of its own where a logger's records go."""
