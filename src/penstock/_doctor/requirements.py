"""Which Python packages Penstock asks for: as its pyproject.toml says, or its installed metadata."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from itertools import chain
from typing import Final, NamedTuple

from penstock._base.checkout import checkout

_REQUIREMENT: Final = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*(?:>=\s*([^\s;,]+))?")


class Requirement(NamedTuple):
    """A Python package that Penstock asks for, and the oldest version that will do."""

    name: str
    oldest: str

    def __str__(self) -> str:
        return f"{self.name}>={self.oldest}" if self.oldest else self.name


def requirements() -> dict[str, Requirement]:
    """Return all that Penstock asks for by name, whether always or for one of its extras."""
    matches = filter(None, map(_REQUIREMENT.match, _written()))
    found = [Requirement(match[1].lower(), match[2] or "") for match in matches]
    return {each.name: each for each in found if each.name != "penstock"}


def _written() -> list[str]:
    root = checkout()
    if root is None:
        return metadata.requires("penstock") or []
    # What was installed from a checkout may be older than what is in it now.
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]


def is_too_old(version: str, oldest: str) -> bool:
    """Tell whether a version comes before another; what is not a number in them does not count."""
    return _numbers(version) < _numbers(oldest)


def _numbers(version: str) -> list[int]:
    numbers = [int(each) for each in re.findall(r"\d+", version.partition("+")[0])]
    while numbers and not numbers[-1]:
        numbers.pop()  # 4.0 is no newer than 4
    return numbers
