"""All programs whose truth is known by construction, of every kind."""

from __future__ import annotations

from tests.soundness import (
    alarm_programs,
    answer_programs,
    hidden_programs,
    operand_programs,
    packet_programs,
    proactive_programs,
    state_places,
    state_tasks,
)
from tests.soundness.programs import Program


def corpus() -> list[Program]:
    """Return the programs, in the order of their tables."""
    tables = (
        packet_programs,
        operand_programs,
        hidden_programs,
        answer_programs,
        alarm_programs,
        proactive_programs,
        state_places,
        state_tasks,
    )
    return [program for table in tables for program in table.programs()]
