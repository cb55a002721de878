"""The measurement of a full flow table, on a small one."""

from __future__ import annotations

import json
import sys

import pytest
from bench.flow_mods import main, measure, story


def test_a_full_table_refuses_one_more_and_all_else_is_measured() -> None:
    found = measure(300)
    assert (found["entries"], found["one_too_many"]) == (300, "flow-table-full")
    assert "300 flow-mods" in story(found)


def test_it_prints_one_json_object(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.flow_mods", "--entries", "50", "--json"])
    assert main() == 0
    assert json.loads(capsys.readouterr().out)["entries"] == 50
