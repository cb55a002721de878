"""Where suspended tasks stand, as part of a program's state.

The stack of a task is written as its frames: which function, which instruction, what is in its
local variables.  One thing cannot be seen: how far a `for` loop has come, because the iterator is
on Python's own stack.  A task suspended inside one is told apart by its history since it began to
loop, which may tell apart more than differs, but never less.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock._controllers.osken.hub import Stack
from penstock._controllers.snapshot import Snapshot, Treatment, Walk


class Mark(NamedTuple):
    """A stack, and how often it had been resumed when it was seen."""

    stack: Stack
    resumes: int


def marks(snapshot: Snapshot) -> list[Mark]:
    """Return the stacks that a state needs, where they must be."""
    return [note for note in snapshot.notes if isinstance(note, Mark)]


def can_be_entered(snapshot: Snapshot) -> bool:
    """Tell whether every stack that a state needs is still where it was."""
    return all(note.stack.resumes == note.resumes for note in snapshot.notes if isinstance(note, Mark))


def _write_stack(walk: Walk, stack: Stack) -> None:
    if not walk.is_new(stack):
        return
    walk.notes.append(Mark(stack, stack.resumes))
    for frame in stack.frames():
        walk.out.append(f"\n{frame.f_code.co_qualname}@{frame.f_lasti}")
        variables = frame.f_locals
        for name in sorted(variables):
            walk.out.append(f" {name}=")
            walk.emit(variables[name])
    if stack.is_looping():
        walk.out.append(f" trail {stack.trail}")


TREATMENTS: Final[Mapping[type, Treatment]] = {Stack: _write_stack}
"""How stacks are written, for a `Heap`."""
