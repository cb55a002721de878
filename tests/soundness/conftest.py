"""Programs are judged without the log handlers of pytest and of other tests, which hold files of theirs."""

from __future__ import annotations

import logging
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Take all handlers away from all loggers while a program is judged, as in a process of its own.

    Pytest puts its own there just before a test is called, so a fixture would come too early; libraries that
    other tests import leave theirs.
    """
    root = logging.getLogger()
    loggers = [root, *(each for each in root.manager.loggerDict.values() if isinstance(each, logging.Logger))]
    before = [(logger, logger.handlers[:]) for logger in loggers]
    for logger in loggers:
        logger.handlers.clear()
    try:
        return (yield)
    finally:
        for logger, handlers in before:
            logger.handlers[:] = handlers
