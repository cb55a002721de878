"""Why an engine stopped before it had seen everything: a text that also says which bound it was."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Why(StrEnum):
    """The bounds that there are, of all engines."""

    STATES = "states"
    SECONDS = "seconds"
    MEMORY = "memory"
    DEPTH = "depth"
    DELAYS = "delays"
    WALKS = "walks"
    NARROWED = "narrowed"
    """A strategy left transitions out."""
    UNFOUND = "unfound"
    """Packets that make a difference could not all be found."""
    FULL = "full"
    """There were more values than can be numbered."""
    INTERRUPTED = "interrupted"
    """The user stopped it."""
    FAULT = "fault"
    """A property or a component raised."""
    EVENTS = "events"
    TRACE_SIZE = "trace size"
    INPUTS = "inputs"
    """A run whose inputs are given came to the last of them."""
    CRASH = "crash"
    WORKER = "worker"
    """The process that searched came to an end by itself."""
    PROGRAM_STATES = "program states"
    """A program has more states than packets can be told apart in."""
    TIMERS = "timers"
    """A program has timers, which a proof does not let go off."""
    METERS = "meters"
    """Packets went through meters, which limit nothing where no time passes."""
    CHOSEN = "chosen"
    """Packets met several rules of one priority, of which one was tried."""
    SPREAD = "spread"
    """Groups had switches choose among buckets, of which their own choices were tried."""
    SCOPE = "scope"
    """What was found takes more than the scenario allows."""
    UNFOLLOWED = "unfollowed"
    """A proof met something that it does not follow."""
    UNTOLD = "untold"
    """What became of a packet cannot be told."""
    UNJUDGED = "unjudged"
    """A property never had anything to judge."""
    UNSEEN_STATE = "unseen state"
    """The program keeps state that cannot be seen, so that runs do not come again."""
    NETWORK = "network"
    """The program asked for the network, which it has none of here."""
    DIVERGED = "diverged"
    """A replay did something else than its trace."""
    UNSENT = "unsent"
    """No host of a run sent anything."""
    UNCONNECTED = "unconnected"
    """No switch of a run was ever connected to a controller."""
    NO_TABLE_MISS = "no table-miss"
    """Packets met no rule, and none handed them to the controller."""
    UNANSWERED = "unanswered"
    """A controller answered no packet_in."""
    EMPTY_PACKET_OUTS = "empty packet-outs"
    """A controller sent packet-outs without a packet, as if switches had buffers."""
    WITHOUT_ACTIONS = "without actions"
    """A controller sent packet-outs that do nothing."""
    REFUSED = "refused"
    """Switches refused what a controller told them."""
    HOLDING_DOWN = "holding down"
    """A controller may not have forwarded yet: a spanning tree or discovery takes its time."""
    LOST = "lost"
    """All packets of a run were lost."""
    FIRST_VIOLATION = "first violation"


_SENTENCES: Final = frozenset(
    {
        Why.UNTOLD,
        Why.WORKER,
        Why.TIMERS,
        Why.SCOPE,
        Why.UNJUDGED,
        Why.UNSEEN_STATE,
        Why.NETWORK,
        Why.UNFOLLOWED,
        Why.DIVERGED,
        Why.UNSENT,
        Why.UNCONNECTED,
        Why.NO_TABLE_MISS,
        Why.UNANSWERED,
        Why.EMPTY_PACKET_OUTS,
        Why.WITHOUT_ACTIONS,
        Why.REFUSED,
        Why.HOLDING_DOWN,
        Why.LOST,
    }
)
"""The bounds whose texts say by themselves what was left out."""


class Bound(str):
    """What stopped an engine, as it is told; `why` is the kind of bound, `amount` how large it was."""

    why: Why
    amount: float | None

    @property
    def is_sentence(self) -> bool:
        """Whether the text says by itself what was left out, rather than name a limit."""
        return self.why in _SENTENCES

    def __new__(cls, text: str, why: Why = Why.FAULT, amount: float | None = None) -> Bound:
        """Return a text that knows what it is about."""
        made = super().__new__(cls, text)
        made.why, made.amount = why, amount
        return made


def states(number: int) -> Bound:
    """Return the bound on the number of states."""
    return Bound(f"{number} states", Why.STATES, number)


def seconds(number: float) -> Bound:
    """Return the bound on time."""
    return Bound(f"{number:g} second{'' if number == 1 else 's'}", Why.SECONDS, number)


def memory(megabytes: int) -> Bound:
    """Return the bound on memory."""
    return Bound(f"{megabytes} MB of memory", Why.MEMORY, megabytes)


def depth(steps: int) -> Bound:
    """Return the bound on how deep a search goes."""
    return Bound(f"depth {steps}", Why.DEPTH, steps)


FIRST_VIOLATION = Bound("the first violation", Why.FIRST_VIOLATION)
FIRST_THAT_LASTS = Bound("the first violation that lasts", Why.FIRST_VIOLATION)
