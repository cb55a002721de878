"""A trace of a run that breaks a property of a lifted network, run again and compared step by step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from penstock._properties.watch import Watch
from penstock._scenario.verify_options import VerifyOptions
from penstock._trace.consent import Consent, runnable
from penstock._trace.trace import Trace
from penstock._verify.lifting import Model
from penstock._verify.proof import Proving
from penstock._verify.temporal import breaks
from penstock._world.frame import Frame
from penstock._world.transition import Record
from penstock._world.world import World, states_of
from penstock.errors import PenstockError


class Lifted(NamedTuple):
    """The lifted network of a trace, and what was to be proved of it."""

    proving: Proving
    model: Model
    loop: int
    """How many steps at the end of the trace repeat for ever."""


def lifted_again(trace: Trace, base: Path, consent: Consent) -> Lifted:
    """Return the network that a trace of a proof is a run of; `base` is the folder that the trace is in."""
    given = _details(trace)
    options = VerifyOptions(tuple(given["properties"]), given["mode"], timeouts=given["timeouts"])
    proving = Proving(runnable(trace, base, consent), options)
    traffic = {source: tuple(map(_frame, texts)) for source, texts in given["traffic"].items()}
    return Lifted(proving, proving.lifted(traffic), given["loop"])


def replay_proof(trace: Trace, base: Path, consent: Consent) -> dict[str, Any]:
    """Run a trace again; return how that went, by the names of the fields of `Replay`."""
    proving, model, loop = lifted_again(trace, base, consent)
    claims = proving.claims(model)
    found: dict[str, Any] = {}
    if trace.verdict is not None:
        found = {"property": trace.verdict.property, "message": trace.verdict.message}
    world = World(model.network)
    world.restore(model.start)
    watch = Watch(model.network, claims.invariants)
    watch.begin(states_of(world))
    records: list[Record] = []
    for line in trace.lines:
        try:
            record = world.take(line.transition)
        except PenstockError as error:
            return {
                **found,
                "records": tuple(records),
                "diverged": line.number,
                "difference": str(error)[:-1],
            }
        records.append(record)
        watch.observe(record, states_of(world))
        if line.differs_from(record):
            difference = f"it was recorded as {line.transition} and is now {record}"
            return {**found, "records": tuple(records), "diverged": line.number, "difference": difference}
    if claims.temporal:
        path = [line.transition for line in trace.lines]
        _, broken = breaks(model, claims.temporal[0], claims.vocabulary, path, loop)
    else:
        broken = watch.broken.get(found.get("property", "")) == found.get("message")
    return {**found, "records": tuple(records), "reproduced": bool(found) and broken}


def _details(trace: Trace) -> Mapping[str, Any]:
    """Return what a trace says of its proof, whoever it came from."""
    given = trace.details["verify"]
    kinds = {"properties": list, "mode": str, "timeouts": bool, "traffic": dict, "loop": int}
    if not isinstance(given, Mapping) or not all(
        isinstance(given.get(name), kind) for name, kind in kinds.items()
    ):
        raise PenstockError("The trace does not say what was to be proved: it is damaged.")
    if not all(isinstance(texts, list) for texts in given["traffic"].values()):
        raise PenstockError("The trace does not say which packets hosts may send: it is damaged.")
    if not 0 <= given["loop"] <= len(trace.lines):
        raise PenstockError("The trace says that more steps repeat than there are: it is damaged.")
    return given


def _frame(text: object) -> Frame:
    try:
        return Frame(bytes.fromhex(str(text)))
    except ValueError:
        raise PenstockError("The trace has a packet that is not written as hex: it is damaged.") from None
