"""Programs are judged without the handlers of pytest, which hold files of its own."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def no_handlers_of_pytest() -> Iterator[None]:
    """Take pytest's handlers away from the root of all loggers while a program is judged."""
    root = logging.getLogger()
    before = root.handlers[:]
    root.handlers.clear()
    yield
    root.handlers[:] = before
