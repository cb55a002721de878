"""What was perhaps meant by a name that is unknown: the end of every such sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def meant_instead(word: object, known: Iterable[object]) -> str | None:
    """Return the known name that a word is nearest to, whatever its case; None if none is near."""
    by_folded = {str(name).casefold(): str(name) for name in known}
    near = difflib.get_close_matches(str(word).casefold(), by_folded, 1)
    return by_folded[near[0]] if near else None


def hint(word: object, known: Iterable[object], otherwise: str = "") -> str:
    """Return how a sentence about an unknown word ends: with the name that was meant, or with all there are.

    `otherwise` takes the place of the list of names.
    """
    names = [str(name) for name in known]
    near = meant_instead(word, names)
    if near is not None:
        return f"did you mean {near!r}?"
    return otherwise or (f"choose {', '.join(names)}." if names else "there are none.")
