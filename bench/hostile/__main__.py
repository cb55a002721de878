"""Attacks on Penstock, what must come of each, and what came of it.

    python -m bench.hostile [--only TEXT] [--jobs N] [--page FILE] [--json]

Apps that run in Penstock's own processes, controllers over TCP, traces, folders of runs, disks, the report
server, and whatever takes time or memory.  Each is made in a folder of its own; afterwards no process, no
temporary file and no unfinished file of it may be left, and nothing printed may steer a terminal.  The
command fails if one attack is not held.  `--page` writes the table that the guide shows.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.hostile import apps, controllers, files, resources, servers, surroundings
from bench.hostile.attack import Attack, Tried, attempt_and_tell


def all_attacks() -> list[Attack]:
    """Return every attack, by kind."""
    modules = (apps, controllers, files, surroundings, servers, resources)
    return [attack for module in modules for attack in module.attacks()]


_HEAD = """\
<!-- Made by python -m bench.hostile --page: do not edit. -->
# Attacks, and what comes of them

What `python -m bench.hostile` tries, and what must happen. After each attack it looks for processes,
temporary files and unfinished files that are left, and for anything printed that would steer a terminal.
All of them are part of `make test`; `SECURITY.md` says what is trusted and what is not.
"""
_HELD = {True: "yes", False: "**no**", None: "not tried"}


def page(found: Sequence[Tried]) -> str:
    """Return the page of the guide that lists the attacks."""
    lines = [_HEAD]
    for kind, count in Counter(tried.attack.kind for tried in found).items():
        lines += [f"## {kind[0].upper()}{kind[1:]} ({count})", ""]
        lines += ["| attack | expected | what happened | held |", "| --- | --- | --- | --- |"]
        lines += [_line(tried) for tried in found if tried.attack.kind == kind]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _line(tried: Tried) -> str:
    # Where it was tried is nobody's business.
    happened = re.sub(r"/\S*hostile-\w+/\d+/", "", tried.happened)
    happened = re.sub(r"\bport \d{4,5}\b", "its port", happened)
    cells = (tried.attack.name, tried.attack.expected, happened, _HELD[tried.held])
    return f"| {' | '.join(cell.replace('|', '/').replace('<', '&lt;') for cell in cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a text in the attack's kind or name")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--page", type=Path, help="where to write the guide's table")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    attacks = [each for each in all_attacks() if options.only in f"{each.kind}: {each.name}"]
    found = attempt_and_tell(attacks, options.jobs, as_json=options.json)
    if options.page is not None:
        options.page.write_text(page(found))
    return 0 if all(tried.held is not False for tried in found) else 1


if __name__ == "__main__":
    sys.exit(main())
