"""How a minimisation went, as a picture: the length of the shortest sequence so far, over the replays.

Everything comes from `progress.jsonl`, so a minimisation that still runs, or was killed, can be looked at
too.  That file says of each replay that led to the violation how many inputs it needed; of the others,
only that they did not.  The first shows all inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock._base.reading import parse_object, read_lines
from penstock._minimize.progress import FILE, FORMAT
from penstock.errors import PenstockError

MOST_SIZE: Final = 10**9
MOST_SECONDS: Final = 10**9
_EIGHTHS: Final = " ▏▎▍▌▋▊▉"
_MARGIN: Final = 56
_TICKS: Final = 5


@dataclass(frozen=True, slots=True)
class Point:
    """One replay: whether it led to the violation, and the shortest sequence that did so far."""

    replay: int
    reproduced: bool
    size: int
    seconds: float
    """How long all replays took so far."""


def progress_file(path: Path) -> Path:
    """Return the file that a path names: itself, or the one in the folder of a minimisation."""
    if not path.is_dir():
        return path
    for found in (path / FILE, path.parent / FILE):
        if found.is_file():
            return found
    raise PenstockError(f"There is no {FILE} in {path}: give the folder of a minimisation.")


def read_points(path: Path) -> list[Point]:
    """Return the replays of a minimisation, whoever wrote the file."""
    texts = read_lines(path)
    header = _object(path.name, 1, next(texts, ""))
    if header.get("format") != FORMAT:
        raise PenstockError(f"{path.name} does not tell of a minimisation: give its {FILE}.")
    return list(_points(path.name, texts))


def _points(name: str, texts: Iterator[str]) -> Iterator[Point]:
    answers = list(_answers(name, texts))
    # Before the first success nothing is known but that one.
    size = next((needed for needed, _ in answers if needed is not None), 0)
    seconds = 0.0
    for replay, (needed, took) in enumerate(answers, 1):
        seconds += took
        size = size if needed is None else min(size, needed)
        yield Point(replay, needed is not None, size, seconds)


def _answers(name: str, texts: Iterator[str]) -> Iterator[tuple[int | None, float]]:
    """Yield how many inputs each replay needed, if it led to the violation, and how long it took."""
    for number, text in enumerate(texts, 2):
        if not text.endswith("\n"):
            return  # it is being written, or its writer was killed
        found = _object(name, number, text)
        took, reproduced, needed = found.get("seconds"), found.get("reproduced"), found.get("needed")
        if not isinstance(took, int | float) or not 0 <= took <= MOST_SECONDS:
            raise _damage(name, number)
        if not isinstance(reproduced, bool):
            raise _damage(name, number)
        if not reproduced:
            yield None, float(took)
        elif isinstance(needed, bool) or not isinstance(needed, int) or not 0 <= needed <= MOST_SIZE:
            raise _damage(name, number)
        else:
            yield needed, float(took)


def _object(name: str, number: int, text: str) -> dict[str, object]:
    try:
        return parse_object(text)
    except ValueError:
        raise _damage(name, number) from None


def _damage(name: str, number: int) -> PenstockError:
    return PenstockError(f"Line {number} of {name} is damaged: delete the file and minimise again.")


def turning_points(points: Sequence[Point]) -> list[Point]:
    """Return the replays after which the sequence was shorter, with the first and the last."""
    found = [point for place, point in enumerate(points) if place == 0 or point.size < points[place - 1].size]
    if points and points[-1] is not found[-1]:
        found.append(points[-1])
    return found


def as_text(points: Sequence[Point], width: int = 60) -> Iterator[str]:
    """Yield a bar for each replay that made the sequence shorter."""
    if not points:
        yield "No replay was made yet."
        return
    longest = max(1, max(point.size for point in points))
    for point in turning_points(points):
        yield f"{point.replay:>6}  {_bar(point.size / longest, width):<{width}}  {point.size:,}"
    last = points[-1]
    yield (
        f"{points[0].size:,} inputs became {last.size:,} in {last.replay:,} replays "
        f"and {last.seconds:.1f} s of replaying."
    )


def _bar(share: float, width: int) -> str:
    eighths = max(1, round(share * width * 8)) if share else 0
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (_EIGHTHS[rest] if rest else "")


def as_svg(points: Sequence[Point], width: int = 720, height: int = 400) -> str:
    """Return the picture as SVG: steps for the size, a dot for each replay that led to the violation."""
    longest = max([1, *(point.size for point in points)])
    most = max(1, len(points))
    inner, depth = width - 2 * _MARGIN, height - 2 * _MARGIN

    def across(replay: float) -> float:
        return _MARGIN + inner * replay / most

    def down(size: float) -> float:
        return height - _MARGIN - depth * size / longest

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
        "<title>Size of the shortest sequence over replays</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *_grid(width, height, most, longest),
    ]
    if points:
        moves = [f"M{across(0):.1f} {down(points[0].size):.1f}"]
        moves += [f"H{across(point.replay):.1f}V{down(point.size):.1f}" for point in points]
        parts.append(f'<path d="{"".join(moves)}" fill="none" stroke="#1f5fa8" stroke-width="2"/>')
    for point in points:
        if point.reproduced:
            x, y = across(point.replay), down(point.size)
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="#b3261e"/>')
    return "\n".join([*parts, "</svg>", ""])


def _grid(width: int, height: int, most: int, longest: int) -> Iterator[str]:
    """Yield the axes with their numbers and names."""
    bottom, right = height - _MARGIN, width - _MARGIN
    for tick in sorted({round(longest * part / _TICKS) for part in range(_TICKS + 1)}):
        y = bottom - (bottom - _MARGIN) * tick / longest
        yield f'<path d="M{_MARGIN} {y:.1f}H{right}" stroke="#dddddd"/>'
        yield f'<text x="{_MARGIN - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:,}</text>'
    for tick in sorted({round(most * part / _TICKS) for part in range(_TICKS + 1)}):
        x = _MARGIN + (right - _MARGIN) * tick / most
        yield f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{tick:,}</text>'
    yield f'<path d="M{_MARGIN} {_MARGIN}V{bottom}H{right}" fill="none" stroke="#444444"/>'
    yield f'<text x="{width / 2:.1f}" y="{height - 12}" text-anchor="middle">replays</text>'
    yield f'<text x="{_MARGIN}" y="{_MARGIN - 14}">inputs in the shortest sequence</text>'
