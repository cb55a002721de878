"""The pictures of a trace, by what they show and the language that they are in."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from penstock._report.export.graphs import (
    MOST_STEPS,
    dot_network,
    dot_run,
    happenings_of,
    mermaid_network,
    mermaid_run,
    network_of,
)
from penstock._report.export.violations import source_of, violations_of


def write_picture(path: Path, file: TextIO, language: str, what: str) -> str:
    """Write a picture, of the `network` or of the `run`, in a language: `dot` or `mermaid`."""
    source = source_of(path)
    broken = violations_of(source.trace)
    violated = broken[0] if broken else None
    verdict = f"{violated.property}: {violated.message}" if violated is not None else "no violation"
    if what == "network":
        nodes, edges = network_of(source, violated)
        lines = (dot_network if language == "dot" else mermaid_network)(nodes, edges, verdict)
    else:
        happenings = happenings_of(source.trace, violated)
        lines = (dot_run if language == "dot" else mermaid_run)(happenings, verdict)
    for text in lines:
        file.write(text + "\n")
    steps = len(source.trace.lines)
    if what == "run" and violated is None and steps > MOST_STEPS:
        return f"Only the last {MOST_STEPS} of {steps:,} steps are drawn."
    return ""
