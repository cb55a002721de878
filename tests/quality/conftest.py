"""Runs of the case studies of STS, each once for a module."""

from __future__ import annotations

from functools import cache

import pytest
from bench.sts_cases import fuzzed, scenario_of
from tests.quality.sts_lab import STORIES, Runs, told

from penstock._fuzz.fuzzing import Report


@pytest.fixture(scope="module")
def run_of(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Return what runs a case, each once."""

    def run(case: str) -> Report:
        folder, scenario = tmp_path_factory.mktemp(case), scenario_of(case)
        return told(scenario, folder, STORIES[case]) if case in STORIES else fuzzed(scenario, folder)

    return cache(run)
