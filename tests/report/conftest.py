"""One run of each engine for all tests of reports; nobody changes them."""

from pathlib import Path

import pytest
from tests.report.report_lab import checked, fuzzed, fuzzed_live, lasso, minimised


@pytest.fixture(scope="session")
def search(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checked(tmp_path_factory.mktemp("search"))


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a fuzzing run, minimised."""
    folder = fuzzed(tmp_path_factory.mktemp("run"))
    minimised(folder)
    return folder


@pytest.fixture(scope="session")
def live_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fuzzed_live(tmp_path_factory.mktemp("live"))


@pytest.fixture(scope="session")
def proof(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lasso(tmp_path_factory.mktemp("proof"))
