"""What crosses from a worker: values come out as they went in, all else as text, and nothing is called."""

from __future__ import annotations

import os
import pickle
from enum import Enum
from pathlib import Path

import pytest

from penstock._verdict.verdict import Bound, Result, Verdict, Why
from penstock._worker.crossing import Frames, Garbled, Text, packed, unpacked
from penstock.openflow.messages import V13, FlowCommand, FlowMod, PortNo

VALUES = [
    None,
    {"a": [1, 2.5, b"x", ("y", True)], "b": {frozenset({1}), frozenset()}},
    Result.VIOLATED,
    FlowCommand.DELETE_STRICT,
    PortNo.CONTROLLER,
    V13,
    FlowMod(FlowCommand.ADD),
    Bound("5 seconds", Why.SECONDS, 5),
    Verdict(Result.BOUNDED, (Bound("x", Why.STATES),), judged=True),
    Path("a/b"),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_come_out_as_they_went_in(value: object) -> None:
    (found,) = Frames().add(packed(value))
    assert found == value and type(found) is type(value)


def test_enumerations_cross_as_their_values() -> None:
    # Old Pythons have them made by `getattr`, which strangers could have called with anything.
    assert b"getattr" not in packed([*Result, *FlowCommand])


class Mine(Enum):
    ONE = 1


@pytest.mark.parametrize("stranger", [Mine.ONE, test_values_come_out_as_they_went_in, os.system, object()])
def test_strangers_cross_as_text(stranger: object) -> None:
    (found,) = Frames().add(packed([stranger]))
    assert found == [Text(str(stranger))]


class _Calls:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("true",)


@pytest.mark.parametrize("value", [_Calls(), os.system, Mine.ONE, Path.home])
def test_nothing_else_is_made_of_what_a_worker_says(value: object) -> None:
    with pytest.raises(Garbled):
        unpacked(pickle.dumps(value))
