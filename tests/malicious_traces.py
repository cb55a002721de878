"""Traces as somebody writes them who wants Penstock to hang, to fall over or to be fooled."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

HEADER = {
    "format": "penstock-trace",
    "version": 2,
    "scenario": {"topology": "linear,2"},
    "folder": ".",
}
STEERING = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eevil\u2066\u200b\ud800\r\x08\x7f[bold red]x[/] <b>&lt;"
"""What steers terminals, misleads readers, cannot be encoded, or is markup somewhere."""

Lines = list[dict[str, Any]]


def write_hostile(path: Path, lines: Iterable[Mapping[str, Any]], **header: Any) -> Path:
    """Write a trace that is well formed as far as its lines are."""
    whole = [{**HEADER, **header}, *lines]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in (*whole, {"end": len(whole)})))
    return path


def steering() -> Lines:
    """Return a run in which every text steers."""
    s = STEERING
    return [
        {
            "step": 1,
            "transition": f"{s} {s}",
            "node": s,
            "sends": [f"{s}:0 {s}#1 [{s}]"],
            "at": 1,
            "told": [s, s],
        },
        {"step": 2, "transition": f"deliver {s}:0", "node": f"n{s}", "message": f"{s}#1 [{s}]", "causes": [1]}
        | {"events": [f"crashed {s} {s} Traceback {s}", f"dropped {s} {s}"], "lost": [f"{s}:1 {s}"], "at": 2},
        {"step": 3, "input": s, "at": 3},
        {"step": 4, "log": s, "text": s, "at": 4},
        {
            "step": 5,
            "violated": s,
            "message": f"{s}\n0 violations found.",
            "at": 5,
            "persistent": True,
            "rules": [s],
        },
        {"violated": s, "message": f"{s}\n0 violations found.", "cause": [s], "code": [s]},
    ]


def shapes(size: int) -> Iterator[tuple[str, Lines]]:
    """Yield runs of about so many bytes on which something could take the square of that."""
    count = size // 120
    for name, text in {
        "word": "a" * size,
        "names": "#1" * (size // 2),
        "brackets": "a#1 [" * (size // 5),
        "dashes": "a-." * (size // 3),
        "blanks": " \n" * (size // 2),
        "folders": "/home/a." * (size // 8),
        "tracebacks": "x Traceback " * (size // 12),
    }.items():
        step = {
            "step": 1,
            "transition": f"h1 {text}",
            "node": "h1",
            "sends": [f"h1:0 {text}"],
            "events": [f"crashed {text}"],
        }
        yield name, [step, {"violated": "P", "message": text}]
    numbers = range(1, count)
    yield (
        "nodes",
        [
            {
                "step": n,
                "transition": f"deliver n{n - 1}:1",
                "node": f"n{n}",
                "message": f"h{n}#1 [UDP]",
                "causes": [n - 1],
            }
            | {
                "sends": [f"n{n}:1 h{n + 1}#1 [UDP]"],
                "events": ["matched h1#1 0 any -> 1", "rule-added 0 any -> 1"],
            }
            for n in numbers
        ],
    )
    yield (
        "orders",
        [
            {"step": n, "transition": f"c0 say FlowMod({n})", "node": "c0", "sends": [f"x:c0 FlowMod({n})"]}
            for n in numbers
        ],
    )
    sends = [f"h1:0 h1#{n} [UDP]" for n in range(size // 25)]
    again = {
        "step": 2,
        "transition": "deliver h1:0",
        "node": "s1",
        "message": f"h1#{size // 25 - 1} [UDP]",
        "causes": [1],
    }
    yield (
        "one step",
        [{"step": 1, "transition": "h1 send", "node": "h1", "sends": sends}, *[again] * (size // 500)],
    )
    yield (
        "long channel",
        [
            *(
                {"step": n, "transition": "h1 send", "node": "h1", "sends": ["h1:0 h1#1 [UDP]"]}
                for n in numbers
            ),
            *({"step": count + n, "transition": "reorder h1:0", "node": "h1"} for n in numbers),
        ],
    )
    steps = [
        {"step": n, "transition": "time n1:5", "node": f"n{n}", "at": 1, "events": ["rule-added 0 any -> 1"]}
        for n in numbers
    ]
    finding = {"step": count + 1, "violated": "Loops", "at": 5, "persistent": True}
    named = " ".join(f"n{n}" for n in numbers)
    rules = [f"n{n} 0 any -> 1" for n in numbers]
    yield "named nodes", [*steps, {**finding, "message": named, "rules": rules}]
    yield "findings", [*steps, *({**finding, "step": count + n, "message": f"n{n} x"} for n in numbers)]
    yield (
        "moves",
        [{"step": n, "transition": f"fabric move h1 to s1:{n}", "node": "fabric", "at": n} for n in numbers],
    )
