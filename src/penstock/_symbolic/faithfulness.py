"""Whether a program does the same while its inputs are followed as it does otherwise.

Concolic execution runs a program on values that look like the plain ones.  Where a program, or a library in
C, sees through that, the paths that were found are not those that packets will take.  So every path is taken
once more with plain values, in the same state and with the same chance, and has to come out the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from penstock._concolic.packets.inputs import Question
from penstock._concolic.paths import Exploration
from penstock._concolic.run import unnoticed
from penstock._controllers.probing import Probeable, Reaction
from penstock.errors import PenstockError
from penstock.openflow.messages import OpenFlowMessage
from penstock.openflow.wire import encode


def departures(
    controller: Probeable, state: Any, switch: str, question: Question, found: Exploration[Reaction]
) -> Iterator[str]:
    """Yield, in sentences, where a program did something else because it was followed."""
    for path in found.paths:
        if path.result is None:
            continue
        plain = controller.probe(state, switch, question, path.inputs, followed=False)
        with unnoticed():
            if _shown(controller, path.result) != _shown(controller, plain):
                yield (
                    f"While it was followed the program did not do with {question.describe(path.inputs)} "
                    "what it does otherwise; paths may be missing."
                )


def _shown(controller: Probeable, reaction: Reaction) -> tuple[Any, ...]:
    """Return what others see of a reaction: the messages, and whether the program survived."""
    sent = [
        (str(send.port), _written(cast(OpenFlowMessage, send.message), controller.version))
        for send in reaction.sends
    ]
    ends = [event.kind for event in reaction.events if event.kind in ("crashed", "hung")]
    return sent, ends


def _written(message: OpenFlowMessage, version: int) -> bytes | str:
    try:
        return encode(message, version)
    except PenstockError:
        # It cannot be sent, which is for others to say.
        return str(message)
