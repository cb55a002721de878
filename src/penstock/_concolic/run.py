"""One concolic run: which way it went wherever an input decided, and what could not be followed.

A run happens on concrete values; those that depend on the inputs carry a term beside the value (see
`values`).  Where one decides which way the program goes, the run is asked to `decide` and notes the
condition.  Where a value slips away - into a library written in C, say - the program goes on with
the concrete value, and the run notes the loss: paths may then be missed.

`Run.current` is the run that is going on, if any.  Outside of runs, values that depend on inputs
behave like any other.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import ClassVar, Final, NamedTuple

from penstock._concolic.terms import Term, negation

HOOK: Final = "__penstock_"
"""How the names begin by which code that is followed finds Penstock."""

MARK: Final = f"{HOOK}followed__"
"""The variable that every module has whose code was rewritten to be followed."""

_OURS: Final = ("penstock._concolic", "penstock._symbolic")
"""The packages that follow a program, and are not where it loses anything."""

MOST_DECISIONS: Final = 2_000
"""How often the inputs may decide in one run; then it is a loop over an input, and is cut short."""


_STATEMENT: Final = re.compile(r"(?:if|elif|while|assert)\s+(.*?):?")
"""A statement that decides: what is of interest is what it asks."""


class TooManyDecisions(BaseException):
    """A run that went on deciding: a program's own `except Exception` must not stop this."""


class Place(NamedTuple):
    """Where in a program something happened; worked out only when somebody asks."""

    code: CodeType
    instruction: int

    @property
    def file(self) -> str:
        """The source file."""
        return self.code.co_filename

    @property
    def line(self) -> int:
        """The line in it."""
        return self._span[0]

    @property
    def function(self) -> str:
        """The function, with its class."""
        return self.code.co_qualname

    @property
    def expression(self) -> str:
        """The expression, as it stands in the source."""
        first, last, start, end = self._span
        line = linecache.getline(self.file, first)
        # Columns count bytes, not letters.
        text = line if first != last else line.encode()[start:end].decode(errors="replace")
        text = text.strip()
        statement = _STATEMENT.fullmatch(text)
        return statement.group(1) if statement else text

    @property
    def _span(self) -> tuple[int, int, int, int]:
        for index, (first, last, start, end) in enumerate(self.code.co_positions()):
            if index == self.instruction // 2:
                line = first or self.code.co_firstlineno
                return line, last or line, start or 0, end or 0
        return self.code.co_firstlineno, self.code.co_firstlineno, 0, 0


class Decision(NamedTuple):
    """A condition on the inputs that decided something, and which way.

    `taken` is whether what stands in the source was true: of `x != 5`, the condition is that x is 5.
    """

    condition: Term
    outcome: bool
    place: Place
    taken: bool

    @property
    def holds(self) -> Term:
        """The condition that held."""
        return self.condition if self.outcome else negation(self.condition)


class Loss(NamedTuple):
    """A value that could not be followed any further: what was done with it, and where."""

    what: str
    place: Place


class Run:
    """What one run decided and lost; `with Run() as run:` makes it the current one."""

    current: ClassVar[Run | None] = None

    ports: ClassVar[tuple[int, ...]] = ()
    """The ports that switches have in the network that runs are about."""

    def __init__(self, inputs: Mapping[str, int] | None = None) -> None:
        self.inputs = dict(inputs or {})
        """What the inputs are in this run, as far as that is known."""
        self.decisions: list[Decision] = []
        self.losses: Counter[Loss] = Counter()
        self.holders: dict[int, tuple[object, list[object]]] = {}
        """The containers that got keys which depend on the inputs, by identity, with these keys in order."""
        self.asks = False
        """Whether rules were made that ask packets for what depends on the inputs."""
        self._known: dict[Term, bool] = {}

    def __enter__(self) -> Run:
        assert Run.current is None
        Run.current = self
        return self

    def __exit__(self, *_: object) -> None:
        Run.current = None

    def decide(self, condition: Term, outcome: bool) -> bool:
        """Note which way a condition went, and return that."""
        if condition.value is not None:
            return outcome
        known, went = condition, outcome
        if known.op == "not":
            known, went = known.operands[0], not went
        if known not in self._known:
            if len(self.decisions) >= MOST_DECISIONS:
                raise TooManyDecisions
            self._known[known] = went
            self.decisions.append(Decision(known, went, _here(), outcome))
        return outcome

    def age(self, naming: Callable[[Term], Term]) -> None:
        """Call the inputs that decided so far by other names."""
        self.decisions = [made._replace(condition=naming(made.condition)) for made in self.decisions]
        self._known = {naming(condition): outcome for condition, outcome in self._known.items()}

    def lose(self, what: str) -> None:
        """Note that a value slips away here."""
        self.losses[Loss(what, _here())] += 1


def lose(what: str) -> None:
    """Note a loss in the current run, if there is one."""
    if Run.current is not None:
        Run.current.lose(what)


@contextmanager
def unnoticed() -> Iterator[None]:
    """Do something that the current run is not to notice."""
    run, Run.current = Run.current, None
    try:
        yield
    finally:
        Run.current = run


def _here() -> Place:
    """Return where the program is: in the nearest code that is followed, else in the nearest not ours."""
    frame: FrameType | None = sys._getframe(2)
    outside: FrameType | None = None
    while frame is not None:
        if MARK in frame.f_globals:
            return Place(frame.f_code, frame.f_lasti)
        if outside is None and not str(frame.f_globals.get("__name__")).startswith(_OURS):
            outside = frame
        frame = frame.f_back
    found = outside or sys._getframe(2)
    return Place(found.f_code, found.f_lasti)
