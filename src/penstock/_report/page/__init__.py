"""The report as one HTML file that needs nothing else: no network, no server, no other file.

The page is plain HTML, CSS and JavaScript, kept beside this module and put together here.  What a report
says comes from a trace, and traces come from strangers.  So the document is embedded as JSON with every `<`
escaped, the page sets texts only as text, and its Content-Security-Policy lets run and style nothing but
the very script and sheet that were put in, named by their hashes.  A page that is served, to follow
a growing run, may besides ask the server that it came from, and no other.

The scripts are not modules in the sense of the language, because a page opened from a disk may not import
any.  Each adds one part to the one global name, `Penstock`, in the order of `SCRIPTS`.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from typing import Final

from penstock._base.text import json_text, visible

SCRIPTS: Final = (
    "dom.js",
    "run.js",
    "states.js",
    "filtering.js",
    "store.js",
    "marks.js",
    "masthead.js",
    "wiring.js",
    "routing.js",
    "layers.js",
    "motion.js",
    "topology.js",
    "viewport.js",
    "spacetime.js",
    "gestures.js",
    "steps.js",
    "search.js",
    "filters.js",
    "panel.js",
    "playback.js",
    "theme.js",
    "plot.js",
    "minimised.js",
    "coverage.js",
    "summary.js",
    "tale.js",
    "keyboard.js",
    "live.js",
    "main.js",
)
"""The page's scripts, each after those that it is made from."""

_SLOT: Final = re.compile(r"\{\{(\w+)\}\}")


def render(document: Mapping[str, object]) -> str:
    """Return the page that shows a report; one that is served may ask its server for what is new."""
    style = _part("style.css")
    script = "\n".join(_part(name) for name in SCRIPTS)
    filled = {
        "policy": _policy(script, style, served=bool(document.get("served"))),
        "title": escaped(str(document["title"])),
        "style": style,
        "script": script,
        "document": _as_data(document),
    }
    # One pass, so that nothing in a document can be taken for a slot of the page.
    return _SLOT.sub(lambda slot: filled[slot.group(1)], _part("page.html"))


def render_plain(title: str, body: str, sheet: str, *, every_s: int = 0) -> str:
    """Return a page without scripts, in the colours of reports; `body` is markup with all texts escaped.

    With `every_s` a browser loads it again after so many seconds, from wherever it has it.
    """
    style = _part("style.css") + _part(sheet)
    again = f'<meta http-equiv="refresh" content="{every_s}">\n' if every_s else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy("", style, served=False)}">\n{again}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def escaped(text: str) -> str:
    """Return a text, whoever wrote it, as it can stand in a page."""
    return html.escape(visible(text))


def _part(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _as_data(document: Mapping[str, object]) -> str:
    """Return JSON that cannot end the element that it stands in."""
    return json_text(document, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _policy(script: str, style: str, *, served: bool) -> str:
    """Return what the page may do: run this script, use this sheet, and if it is served ask its server."""
    reachable = "'self'" if served else "'none'"
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            "img-src data:",
            f"connect-src {reachable}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(sha256(text.encode()).digest()).decode()
