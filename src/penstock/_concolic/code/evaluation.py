"""`eval` and `exec`: text that a program runs as code is rewritten like its own.

Text that depends on the inputs is not followed, nor is code that was compiled before.
"""

from __future__ import annotations

from typing import Any

from penstock._concolic.code import rewrite
from penstock._concolic.run import Run, lose
from penstock._concolic.values.parts import concrete, holds, is_symbolic


def code(source: Any, mode: str, alone: bool) -> Any:
    """Return what a program is to run instead of a text; `alone` if it runs in the program's own names."""
    if Run.current is None:
        return source
    if is_symbolic(source):
        lose(mode)
        return concrete(source)
    if isinstance(source, str) and alone:
        try:
            return rewrite.followed_text(source.lstrip() if mode == "eval" else source, mode)
        except (SyntaxError, ValueError):
            # Python says what is wrong with it.
            return source
    if alone:
        lose(mode)
    return source


def scope(names: Any) -> Any:
    """Return the names that such a text is run with; in names of its own, it is not followed."""
    if Run.current is not None and holds(names):
        lose("eval")
    return names
