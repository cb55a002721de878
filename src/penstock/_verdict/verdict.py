"""The one verdict of all engines, the bounds and reservations behind it, and the exit status.

The one verdict of all engines: what a run of one came to, every reason why it is no more, the exit status.

    violated    a property was broken, and broken again when the run was repeated      exit status 1
    proved      nothing can break the properties, whatever hosts send                  0
    exhausted   nothing can, in the scenario as it is given                            0
    bounded     nothing was found, but something that could matter was left out        3

A result is conclusive only if nothing was left out *and* every property had something to judge.  Whatever
an engine left out is a reason (`stopping.Bound`): a limit, packets that were not found, a property that was
never put to the test, a violation that did not come again, state that cannot be seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol, assert_never, runtime_checkable


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
    LIMITS = "limits"
    """The program used up the processes, open files or bytes in a file that there are for it."""
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
        Why.LIMITS,
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
FIRST_THAT_LASTS = Bound("the first persistent violation", Why.FIRST_VIOLATION)


class Reservation(NamedTuple):
    """A sentence that says what was left out, one that says what to do about it, and the kind of reason."""

    sentence: str
    remedy: str = ""
    why: Why = Why.UNSEEN_STATE

    def bound(self) -> Bound:
        """Return it as a reason of a verdict."""
        texts = [text.removesuffix(".") for text in (self.sentence, self.remedy) if text]
        return Bound(": ".join(f"{text[0].lower()}{text[1:]}" for text in texts), self.why)

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}".rstrip()


@runtime_checkable
class Reserved(Protocol):
    """A component that knows what a search has left out of it."""

    def reservations(self) -> tuple[Reservation, ...]:
        """Return what was left out so far."""
        ...


class Result(StrEnum):
    """What an engine came to."""

    VIOLATED = "violated"
    PROVED = "proved"
    EXHAUSTED = "exhausted"
    BOUNDED = "bounded"


STATUS: Final[Mapping[Result, int]] = {
    Result.VIOLATED: 1,
    Result.PROVED: 0,
    Result.EXHAUSTED: 0,
    Result.BOUNDED: 3,
}

UNSEEN_STATE: Final = "the program keeps state that Penstock does not see"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an engine came to, and each reason why that is not conclusive."""

    result: Result
    reasons: tuple[Bound, ...] = ()
    judged: bool = True
    """Whether any property had something to judge."""

    @property
    def status(self) -> int:
        """The exit status that says so."""
        return STATUS[self.result]

    @property
    def is_conclusive(self) -> bool:
        """Whether the absence of violations means that there are none."""
        return self.result in (Result.PROVED, Result.EXHAUSTED)

    @property
    def told(self) -> str:
        """What it came to, in one sentence or two."""
        return told(self.result, [sentence(reason) for reason in self.reasons])

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "result": str(self.result),
            "judged": self.judged,
            "told": self.told,
            "reasons": [{"reason": str(reason), "why": str(reason.why)} for reason in self.reasons],
        }


def sentence(reason: Bound) -> str:
    """Return a reason so that it can follow "but"."""
    if reason.is_sentence:
        return str(reason)
    if reason.why in (Why.EVENTS, Why.INPUTS, Why.TRACE_SIZE, Why.CRASH):
        return f"the run was ended by {reason}: another may find more"
    return f"the search stopped at {reason}: there is more to search"


def told(result: Result, reasons: Sequence[str]) -> str:
    """Return what an engine came to, in one sentence or two."""
    match result:
        case Result.VIOLATED:
            return "A violation was found."
        case Result.PROVED:
            return "Proved, for any number of packets."
        case Result.EXHAUSTED:
            return "No property can be violated in this scenario: every ordering was searched."
        case Result.BOUNDED:
            why = "; ".join(reasons) or "something that could matter was left out"
            return f"No violation found, but {why}."
        case _:
            assert_never(result)


VIOLATED: Final = Verdict(Result.VIOLATED)
"""What is broken from the start needs no search."""


def judge(
    conclusive: Result, *, violated: bool, reasons: Iterable[Bound], exercised: Mapping[str, int]
) -> Verdict:
    """Return the verdict of an engine that calls its work `conclusive` where nothing was left out.

    `exercised` says how often each property had something to judge.
    """
    judged = any(exercised.values())
    if violated:
        return Verdict(Result.VIOLATED, judged=judged)
    found = tuple(dict.fromkeys(reasons))
    return Verdict(Result.BOUNDED if found else conclusive, found, judged)


def unjudged(exercised: Mapping[str, int], needs: Mapping[str, str]) -> list[Bound]:
    """Return a reason for each property that never had anything to judge, or that none was given."""
    if not exercised:
        return [Bound("no property was given, so nothing was judged", Why.UNJUDGED)]
    return [
        Bound(f"{name} was never exercised{f': it needs {need}' if need else ''}", Why.UNJUDGED)
        for name, need in ((name, needs.get(name, "")) for name, times in exercised.items() if not times)
    ]


def replayed(*, violated: bool, exact: bool, unjudged: str = "") -> Verdict:
    """Return the verdict of a replay; one that could not keep to its trace says little.

    `unjudged` is what the trace breaks, if nothing judges that any more.
    """
    if violated:
        return VIOLATED
    if unjudged:
        why = "no property or invariant of the trace's scenario has that name"
        return Verdict(
            Result.BOUNDED, (Bound(f"{unjudged} is not judged any more: {why}", Why.UNJUDGED),), judged=False
        )
    inexact = Bound("the replay did not go as the trace does", Why.DIVERGED)
    return Verdict(Result.EXHAUSTED) if exact else Verdict(Result.BOUNDED, (inexact,))


def deprived(name: str, why: Why) -> Bound:
    """Return the reason that a violation leaves behind which may be due to something that is missing."""
    did = "asked for the network" if why is Why.NETWORK else "used up what there is for it"
    return Bound(f"a violation of {name} came after the program had {did}", why)


def unconfirmed(name: str, where: str = "") -> Bound:
    """Return the reason that a violation leaves behind which did not come again."""
    return Bound(
        f"a violation of {name} did not come again when its run was repeated: {UNSEEN_STATE}"
        f"{f', in {where}' if where else ''}",
        Why.UNSEEN_STATE,
    )
