"""Names for the members of a set, so that what is done to one of them can be said in a trace.

A name is what the member says of itself.  Members that say the same are numbered in the order of their
contents, so that names do not depend on how a set came about.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


@lru_cache(maxsize=1 << 14)
def _said(text: Callable[[T], str], member: T) -> tuple[str, str]:
    """Return what a member says of itself, and all of it."""
    return text(member), repr(member)


def named(members: Iterable[T], text: Callable[[T], str] = str) -> dict[str, T]:
    """Return the members by name, in the order of their names."""
    found: dict[str, T] = {}
    before, alike = "", 0
    for (name, _), member in sorted(
        ((_said(text, member), member) for member in members), key=lambda item: item[0]
    ):
        alike = alike + 1 if name == before else 1
        before = name
        found[f"{name} #{alike}" if alike > 1 else name] = member
    return found
