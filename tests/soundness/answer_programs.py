"""Programs that go by what a switch answers, refuses or tells (`switch_answers.toml`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.soundness.programs import Lines, Program, app, scenario, table_of

KIND: Final = "answers"

_NAMES: Final = "p, o = dp.ofproto_parser, dp.ofproto\n"


def programs() -> Iterator[Program]:
    """Yield all programs."""
    for row in table_of(Path(__file__).with_name("switch_answers.toml")):
        name, truth = f"answers_{row['name']}", row["check"]
        files = {f"{name}.py": app(Lines(inside=row.get("inside", ""), body=_NAMES + row["body"]))}
        verify, reason = row.get("verify", truth), row.get("reason", "")
        yield Program(name, KIND, files, scenario(f"{name}.py"), truth, verify, reason)
