"""The lifted network of a proof's trace, put together again so that the trace can be played in it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, get_args

from penstock._scenario.options import Method, VerifyOptions
from penstock._trace.consent import Consent, runnable
from penstock._trace.trace import ProofTrace
from penstock._verify.lifting import Model
from penstock._verify.proof import Claims, Proving
from penstock._verify.temporal import breaks
from penstock._world.frame import Frame
from penstock.errors import PenstockError


class Lifted(NamedTuple):
    """The lifted network of a trace, and what was to be proved of it."""

    proving: Proving
    model: Model
    loop: int
    """How many steps at the end of the trace repeat for ever."""

    def claims(self) -> Claims:
        """Return what was to be proved, in the terms of the network."""
        return self.proving.claims(self.model)

    def breaks(self, claims: Claims, trace: ProofTrace) -> bool:
        """Tell whether a run that was taken again breaks the formula that it was recorded for."""
        path = [line.transition for line in trace.lines]
        return breaks(self.model, claims.temporal[0], claims.vocabulary, path, self.loop)[1]


def lifted_again(trace: ProofTrace, base: Path, consent: Consent) -> Lifted:
    """Return the network that a trace of a proof is a run of; `base` is the folder that the trace is in."""
    setup = trace.setup
    if setup.loop > len(trace.lines):
        raise PenstockError("The trace says that more steps repeat than there are: it is damaged.")
    mode = next((known for known in get_args(Method) if known == setup.mode), None)
    if mode is None:
        raise PenstockError(f"The trace is of a proof in an unknown mode, {setup.mode!r}: it is damaged.")
    options = VerifyOptions(setup.properties, mode, timeouts=setup.timeouts)
    proving = Proving(runnable(trace, base, consent), options)
    traffic = {source: tuple(map(Frame, frames)) for source, frames in setup.traffic.items()}
    return Lifted(proving, proving.lifted(traffic), setup.loop)
