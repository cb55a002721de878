"""Does it matter in which order a controller gets to see things?  Decided by letting it see both orders.

MOCS's Definition 3 calls a program order-sensitive if two handlers that may both run come to different
results in different orders.  Here that is tried, for barrier replies: a reply may be handled at once,
before everything else, if in every state that the program can be in it makes no difference whether the
reply is handled before or after any other thing it may be given.  A reply that has the program send
something is not tried: queues being sets, a message sent earlier may coincide with one that is waiting.

Which states those are cannot be read off a search that handles replies at once, since others would only
come up if it did not.  So the states that were met are *closed* first: everything that was ever handled is
handled in each of them, and so on.  If there are too many, the answer is yes.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from penstock._verify.abstract_controller import AbstractController, Reply
from penstock._verify.observations import Experience
from penstock._world.component import Send, Step

MOST_STATES: Final = 2_000
"""How many states of a program are tried."""

MOST_TRIED: Final = 50_000
"""How often a program's code is run to find out, at most."""

Outcome = tuple[Hashable, tuple[Send, ...], list[str]]
"""A program's state, what it has sent, and the kinds of what happened to it, such as a crash."""


class _Tried(dict[tuple[Hashable, Any], Step]):
    """What a program does with something in one of its states, each tried once."""

    def __init__(self, controller: AbstractController) -> None:
        super().__init__()
        self._controller = controller

    def __missing__(self, key: tuple[Hashable, Any]) -> Step:
        step = self[key] = self._controller.handled(*key)
        return step


def _closed(steps: _Tried, experience: Experience) -> list[Hashable] | None:
    """Return the states of a program that were met and all to which what was handled leads from there.

    None stands for too many.
    """
    programs = list(experience.programs)
    known = set(programs)
    for program in programs:
        if len(known) * len(experience.subjects) > MOST_TRIED:
            return None
        for subject in experience.subjects:
            after = steps[program, subject].state
            if after not in known:
                if len(known) >= MOST_STATES:
                    return None
                known.add(after)
                programs.append(after)
    return programs


def all_programs(controller: AbstractController, experience: Experience) -> list[Hashable] | None:
    """Return the states that a program can be in, at least, whatever is handled when; None if too many."""
    return _closed(_Tried(controller), experience)


def is_order_sensitive(controller: AbstractController, experience: Experience) -> bool:
    """Tell whether it may matter when barrier replies are handled."""
    replies = [subject for subject in experience.subjects if isinstance(subject, Reply)]
    if not replies:
        return False
    steps = _Tried(controller)
    programs = _closed(steps, experience)
    if programs is None or len(programs) * len(replies) * len(experience.subjects) > MOST_TRIED:
        return True

    def handled(program: Hashable, subject: Any) -> Step:
        return steps[program, subject]

    def both(program: Hashable, first: Any, second: Any) -> Outcome:
        one = handled(program, first)
        two = handled(one.state, second)
        return (
            two.state,
            (*one.sends, *two.sends),
            sorted(event.kind for event in (*one.events, *two.events)),
        )

    return any(
        handled(program, reply).sends or both(program, reply, other) != both(program, other, reply)
        for program in programs
        for reply in replies
        for other in experience.subjects
        if other != reply
    )
