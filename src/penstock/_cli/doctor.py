"""`penstock doctor`: what is there, what is missing, and how to get it; `penstock fetch-ryu`.

Nothing is imported here that needs another package than click: what is broken must not keep the command from
saying so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from platform import python_version
from typing import Final

import click

from penstock._base.ryu_names import checkout
from penstock._base.terminal import say, say_lines
from penstock._base.text import json_text
from penstock._base.version import VERSION
from penstock._cli.options import json_option
from penstock._doctor import PARTS, Need, Part, Probe, how_to_get, probe_all

_TITLES: Final[dict[Need, str]] = {
    "required": "Required",
    "optional": "Optional",
    "development": "To work on Penstock itself: tests, benchmarks, pages",
}
_MARKS: Final = {"working": "✓", "missing": "-", "broken": "✗"}
_NOT_READY: Final = 1


@click.command()
@click.option("--all", "every", is_flag=True, help="Include what is needed only to work on Penstock itself.")
@json_option
def doctor(every: bool, as_json: bool) -> int:
    """List what Penstock finds on this machine, what is missing, what that would give, and how to get it.

    Every part is tried, not only looked for.  Exit status 0: all that is required works; 1: it does not.
    """
    parts = [part for part in PARTS if every or _is_for_everybody(part)]
    with click.progressbar(length=len(parts), label="Trying the parts", file=sys.stderr) as bar:
        probes = probe_all(parts, lambda _: bar.update(1))
    say_lines([_as_json(probes)] if as_json else _lines(probes))
    return 0 if _is_ready(probes) else _NOT_READY


def _is_for_everybody(part: Part) -> bool:
    return part.need != "development" or checkout() is not None


def _is_ready(probes: Sequence[Probe]) -> bool:
    return all(probe.state == "working" for probe in probes if probe.part.need == "required")


def _lines(probes: Sequence[Probe]) -> Iterator[str]:
    yield f"Penstock {VERSION} on Python {python_version()}, {sys.executable}"
    for need, title in _TITLES.items():
        chosen = [probe for probe in probes if probe.part.need == need]
        if chosen:
            yield f"\n{title}"
        for probe in chosen:
            yield from _part_lines(probe)
    yield ""
    wanting = sum(probe.state != "working" for probe in probes if probe.part.need != "required")
    if not _is_ready(probes):
        yield "Penstock cannot run here: install the required parts that are marked ✗ or -."
    elif wanting:
        yield f"Penstock is ready; {wanting} optional part{'s are' if wanting > 1 else ' is'} not there."
    else:
        yield "Penstock is ready, and nothing is missing."


def _part_lines(probe: Probe) -> Iterator[str]:
    part = probe.part
    where = ", ".join(filter(None, [probe.version, probe.place]))
    found = {"working": where, "missing": "missing", "broken": f"broken: {probe.reason}"}
    yield f"  {_MARKS[probe.state]} {part.name:18} {found[probe.state]}"
    if probe.state != "working":
        yield f"      for {part.gives}"
        yield f"      install it: {how_to_get(part)}"


def _as_json(probes: Sequence[Probe]) -> str:
    root = checkout()
    return json_text(
        {
            "ready": _is_ready(probes),
            "penstock": VERSION,
            "python": python_version(),
            "executable": sys.executable,
            "checkout": None if root is None else str(root),
            "parts": [
                {
                    "name": probe.part.name,
                    "need": probe.part.need,
                    "state": probe.state,
                    "version": probe.version or None,
                    "place": probe.place or None,
                    "reason": probe.reason or None,
                    "gives": probe.part.gives,
                    "get": how_to_get(probe.part),
                }
                for probe in probes
            ],
        }
    )


@click.command(name="fetch-ryu")
def fetch_ryu() -> int:
    """Fetch Ryu's sources with pip, to run its own apps (ryu.app.*) on os-ken."""
    from penstock._controllers.osken import ryu_sources

    say(f"The sources of Ryu are in {ryu_sources.fetch()}")
    return 0
