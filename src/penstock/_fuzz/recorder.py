"""The recorder: writes a run down as it happens.

It numbers all lines of a trace, inputs and steps alike, and finds the causes of each: the step that
sent what is delivered, the component's own last step, and the input that did it.  An input that only
changed how a channel is treated (`hold`, `delay`, `release`) is a cause of the next delivery there.

Steps in which nothing happened but that the clock went on are not written.
"""

from __future__ import annotations

from penstock._fuzz.inputs import Input
from penstock._fuzz.judging import Finding
from penstock._trace.trace import Causality, FindingLine, TraceWriter
from penstock._world.component import Endpoint
from penstock._world.frame import Frame
from penstock._world.transition import INJECT, TIME, Record
from penstock.openflow.messages import OpenFlowMessage
from penstock.openflow.wire import encode


class Recorder:
    """Writes the lines of a run, each with its number, moment and causes."""

    def __init__(self, writer: TraceWriter, version: int) -> None:
        self.writer = writer
        self.version = version
        self.step = 0
        """The number of the last line."""
        self.inputs = 0
        self.internal = 0
        """How many steps followed by themselves or were part of an input."""
        self.wire: bytes | None = None
        """The bytes of the message that is put in from outside next."""
        self._cause: int | None = None
        self._causality = Causality()
        self._affected: dict[tuple[str, object], int] = {}
        """The channels that an input changed the treatment of, since their last delivery."""

    # Inputs.

    def begin(self, what: Input, now: int) -> int:
        """Write an input; what is recorded until `end` is its doing."""
        self.step += 1
        self.inputs += 1
        self._cause = self.step
        self.writer.input(self.step, str(what), now)
        return self.step

    def withdraw(self) -> None:
        """Take an input back that could not be performed, unless something came of it."""
        if self._cause == self.step:
            self.writer.take_back()
            self.step -= 1
            self.inputs -= 1

    def end(self) -> None:
        """What is recorded from now on follows by itself."""
        self._cause = None

    def affects(self, channel: Endpoint) -> None:
        """Have the present input among the causes of the next delivery on a channel."""
        if self._cause is not None:
            self._affected[channel] = self._cause

    # What happens.

    def observe(self, record: Record, now: int) -> None:
        """Write a step."""
        verb, node, what = record.transition
        if verb == TIME and not (record.sends or record.events):
            return
        number = self.step = self.step + 1
        self.internal += 1
        causes = self._causality.causes(number, record)
        if self._cause is not None:
            causes.append(self._cause)
        if self._affected and record.message is not None:
            affected = self._affected.pop((node, what), None)
            if affected is not None:
                causes.append(affected)
        wire, version = self._wire_of(record) if verb == INJECT else (None, 0)
        self.writer.step(number, record, causes, now, wire, version)

    def _wire_of(self, record: Record) -> tuple[bytes | None, int]:
        """Return the bytes of what was put in from outside, if it has any, and their version (0: a frame)."""
        flights = record.sends or record.lost
        message = flights[0].message if flights else None
        if isinstance(message, Frame):
            return message.data, 0
        if not isinstance(message, OpenFlowMessage):
            return None, 0
        return self.wire if self.wire is not None else encode(message, self.version), self.version

    def log(self, source: str, text: str, now: int) -> None:
        """Write what a controller logged."""
        self.step += 1
        self.writer.log(self.step, source, text, now)

    def finding(self, found: Finding, now: int) -> int:
        """Write what an invariant has to say; return the line's number."""
        self.step += 1
        line = FindingLine(
            self.step,
            found.verdict,
            found.invariant,
            found.message,
            now if found.last is None else found.last,
            found.persistent,
            found.rules,
            found.since,
            found.times,
        )
        self.writer.finding(line)
        return self.step

    def flush(self, least: int = 1) -> None:
        """Have everything in the file that was written so far, if that is at least so many lines."""
        self.writer.flush(least)

    def close(self) -> None:
        """Finish the file."""
        self.writer.close()
