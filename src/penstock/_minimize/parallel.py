"""Minimising with several workers, which ends as it would with one.

A minimisation is a function of the answers that replays give.  So while a worker tries what is asked now,
what would be asked next can be found out by dreaming: the same minimisation is gone through once more, with
the answers there are and with an answer assumed to the question that is open.  Where it then asks something
that nobody knows, that is what a free worker is given, and so on, from the likelier dreams to the less
likely.

The minimisation itself never sees a dream.  It asks its questions in its own order and is given their true
answers, some sooner than they would have been; what was tried in vain is not counted among its replays.
Where replays are exact the result is therefore the same as with one worker, step by step.  With real
processes it is the same as far as two minimisations by one worker are.

A dream begins at the beginning, which costs milliseconds for each hundred replays: little beside a replay
that waits for processes, but not beside a short one in process.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol, Self

from penstock._base.files import copy
from penstock._minimize.ddmin import Minimal, minimise
from penstock._minimize.progress import FILE, Watcher
from penstock._minimize.workers import Answer, Task, WorkerPool, play, refuse_fixed_ports
from penstock._replay.guided import Announce, Attempt, Reproducer
from penstock._replay.live import LiveReproducer
from penstock._replay.recording import RecordedInput, Recording
from penstock._replay.replaying import Origin
from penstock.errors import PenstockError

_MOST_DREAMS: Final = 4
"""How many dreams there are for each worker before what they lead to is too unlikely."""
_PAIR: Final = 2
_WITHOUT_HALF: Final = 0.2
"""How likely one of two inputs is enough that are needed together."""
_LATELY: Final = 4
"""How many answers tell how the present ones go."""
_UNLIKELY: Final = 0.05
"""How likely an answer is another than those so far suggest."""
_IDLE: Final = ("wait", "check")
"""How inputs begin that do nothing to the network."""
_WITHOUT_LAST: Final = 0.2
"""How likely a sequence does without the last input of a larger one."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of workers: a script, some inputs, how many tries, and the how many-th time it is."""

    script: str
    inputs: frozenset[tuple[int, str]]
    tries: int
    time: int


@dataclass(frozen=True, slots=True)
class Work:
    """What speculation did: the replays that were begun on a guess, and those of them that were asked for."""

    replays: int
    guessed: int
    used: int
    path: int
    """How many replays came one after the other: with workers enough and equal replays, the time it takes."""


def minimise_in_parallel(
    origin: Origin,
    crew: WorkerPool,
    *,
    progress: Watcher | None = None,
    announce: Announce | None = None,
    folder: Path | None = None,
    tries: int = 1,
    simplify: bool = True,
    report: Callable[[Work], None] | None = None,
) -> Minimal:
    """Return what `minimise` returns for the script of a trace, with the replays made by a crew."""
    script = origin.script()
    refuse_fixed_ports(script)
    with TemporaryDirectory() as dreams:
        memory = Path(dreams)
        known = None if folder is None or not (folder / FILE).is_file() else memory / "known.jsonl"
        if known is not None and folder is not None:
            copy(folder / FILE, known)

        def dream(reproducer: Reproducer) -> None:
            """Minimise with the answers of earlier runs, and keep none."""
            if known is not None:
                copy(known, memory / FILE)
            minimise(
                script,
                reproducer,
                folder=memory if known else None,
                tries=tries,
                simplify=simplify,
                terms=origin.terms,
            )

        speculation = _Speculation(origin, script, crew, dream)
        found = minimise(
            script,
            _Told(script, speculation, speculation),
            progress=progress,
            announce=announce,
            folder=folder,
            tries=tries,
            simplify=simplify,
            terms=origin.terms,
        )
        speculation.end()
    if report is not None:
        report(speculation.work())
    return found


# Questions.


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question, with what a worker has to know to answer it."""

    question: Question
    task: Task


class _Source(Protocol):
    """Where answers come from."""

    def answer(self, asked: _Asked) -> Attempt:
        """Return the answer to a question."""
        ...

    def own_script(
        self, variant: str, script: Recording, inputs: tuple[RecordedInput, ...]
    ) -> Recording | None:
        """Return a replay as a script of its own."""
        ...


class _Told:
    """A reproducer that replays nothing itself: its answers are told."""

    def __init__(
        self, script: Recording, shared: _Speculation, source: _Source, times: Counter[Question] | None = None
    ) -> None:
        self.script = script
        self.is_exact = shared.local.is_exact
        self._shared = shared
        self._source = source
        self._times: Counter[Question] = Counter() if times is None else times
        self._variant, self._changes = shared.variant(script)

    def with_script(self, script: Recording) -> Self:
        """Return a reproducer for another script that is told by the same source."""
        return type(self)(script, self._shared, self._source, self._times)

    def run(self, inputs: Sequence[RecordedInput], *, tries: int = 1) -> Attempt:
        """Return how a replay of some inputs goes."""
        what = frozenset((cue.line, str(cue)) for cue in inputs)
        first = Question(self._variant, what, tries, 0)
        self._times[first] += 1
        question = Question(self._variant, what, tries, self._times[first])
        shared = self._shared
        task = Task(
            shared.origin, shared.digest, self._variant, self._changes, tuple(inputs), tries, shared.lessons
        )
        return self._source.answer(_Asked(question, task))

    def record(self, inputs: Sequence[RecordedInput], path: Path, *, home: Path | None = None) -> Attempt:
        """Replay some inputs here, and write what happens as a trace."""
        return self._shared.local.with_script(self.script).record(inputs, path, home=home)

    def rewritten(self, inputs: Sequence[RecordedInput]) -> Recording | None:
        """Return a replay of some inputs as a script of its own."""
        return self._source.own_script(self._variant, self.script, tuple(inputs))


class _Unknown(Exception):
    """A dream came to a question that nobody has answered, or to something that only a replay can tell."""

    def __init__(self, asked: _Asked | None) -> None:
        super().__init__("nobody knows")
        self.asked = asked


class _Woken(Exception):
    """There is news, so that the dream is of the past."""


_Assumed = tuple[tuple[Question, bool], ...]


class _Dream:
    """Tells what is known, and what is assumed."""

    def __init__(self, speculation: _Speculation, assumed: _Assumed) -> None:
        self._speculation = speculation
        self._assumed = dict(assumed)

    def answer(self, asked: _Asked) -> Attempt:
        """Return the answer, if it is known or assumed."""
        known = self._speculation.answers.get(asked.question)
        if known is not None:
            return known.unwrap()
        if self._speculation.crew.has_news():
            raise _Woken
        if asked.question not in self._assumed:
            raise _Unknown(asked)
        return Attempt(reproduced=self._assumed[asked.question])

    def own_script(
        self,
        variant: str,
        script: Recording,  # noqa: ARG002
        inputs: tuple[RecordedInput, ...],
    ) -> Recording | None:
        """Return a replay as a script of its own, if it was made before."""
        try:
            return self._speculation.own_scripts[variant, inputs]
        except KeyError:
            raise _Unknown(None) from None


# Speculation.


class _Speculation:
    """Keeps a crew busy: with the question that is open, and with those that may follow."""

    def __init__(
        self, origin: Origin, script: Recording, crew: WorkerPool, dream: Callable[[Reproducer], None]
    ) -> None:
        self.origin = origin
        self.crew = crew
        self.digest = script.digest()
        self.local = origin.reproducer(script)
        self.lessons = self.local.lessons if isinstance(self.local, LiveReproducer) else None
        """What replays have taught so far."""
        self.answers: dict[Question, Answer] = {}
        self.own_scripts: dict[tuple[str, tuple[RecordedInput, ...]], Recording | None] = {}
        self._script = script
        self._dream = dream
        self._odds = _Odds(self.digest, len(script.inputs))
        self._running: dict[int, Question] = {}
        self._called_off: set[int] = set()
        self._begun: dict[int, int] = {}
        self._path = 1
        """How many replays came one after the other so far, the first of which is made before all others."""
        self._numbers = count()
        self._guessed: set[Question] = set()
        self._asked: set[Question] = set()
        self._dreamt: dict[_Assumed, _Asked | None] = {}

    def work(self) -> Work:
        """Return what was done so far."""
        return Work(len(self._asked), len(self._guessed), len(self._guessed & self._asked), self._path)

    def variant(self, script: Recording) -> tuple[str, dict[str, object]]:
        """Return the digest of a script, and the fields in which it differs from that of the trace."""
        first = self._script
        if script is first:
            return self.digest, {}
        names = [each.name for each in fields(Recording)]
        changes = {
            name: getattr(script, name) for name in names if getattr(script, name) != getattr(first, name)
        }
        return script.digest(), changes

    def answer(self, asked: _Asked) -> Attempt:
        """Return the true answer, and have others found out while it takes."""
        self._asked.add(asked.question)
        if not self.local.is_exact and not self.answers:
            # Workers take a while to start.  And whether time can be saved is found out here, for all.
            self._speculate(asked)
            self._know(asked.question, play(asked.task, self.local))
        while asked.question not in self.answers:
            if asked.question not in self._running.values():
                self._begin(asked)
            self._speculate(asked)
            for number, answer in self.crew.news():
                question, begun = self._running.pop(number), self._begun.pop(number)
                self._called_off.discard(number)
                if answer.called_off:
                    continue
                self._know(question, answer)
                self._path = max(self._path, begun + 1)
        return self.answers[asked.question].unwrap()

    def end(self) -> None:
        """Call off what nobody asks for any more, and wait until the crew is free for others."""
        if not self.local.is_exact:
            for number in self._running.keys() - self._called_off:
                self.crew.call_off(number)
        while self._running:
            for number, _ in self.crew.news():
                del self._running[number]

    def _know(self, question: Question, answer: Answer) -> None:
        self.answers[question] = answer
        self._odds.learn(question, answer)
        self._dreamt.clear()
        if self.lessons is not None and answer.lessons is not None:
            self.lessons.learn(answer.lessons)

    def own_script(
        self, variant: str, script: Recording, inputs: tuple[RecordedInput, ...]
    ) -> Recording | None:
        """Return a replay as a script of its own; that is made here, and once."""
        key = variant, inputs
        if key not in self.own_scripts:
            self.own_scripts[key] = self.local.with_script(script).rewritten(inputs)
        return self.own_scripts[key]

    def _begin(self, asked: _Asked) -> None:
        number = next(self._numbers)
        self._running[number], self._begun[number] = asked.question, self._path
        self.crew.begin(number, asked.task)

    def _speculate(self, asked: _Asked) -> None:
        """Begin what is likely to be asked next, and call off what no longer is."""
        wanted = {asked.question}
        guesses = self._guesses(asked)
        try:
            # A replay in process is short, and to break it off would take the process along.
            while not self.local.is_exact or len(self._running) < self.crew.size:
                guess = next(guesses, None)
                if guess is None:
                    break
                wanted.add(guess.question)
                if guess.question not in self._running.values() and len(self._running) < self.crew.size:
                    self._guessed.add(guess.question)
                    self._begin(guess)
        except _Woken:
            return
        if self.local.is_exact:
            return
        for number, question in self._running.items():
            if question not in wanted and number not in self._called_off:
                self._called_off.add(number)
                self.crew.call_off(number)

    def _guesses(self, asked: _Asked) -> Iterator[_Asked]:
        """Yield what may be asked after a question, the likeliest first."""
        order = count()
        dreams: list[tuple[float, int, _Assumed]] = []

        def branch(question: Question, assumed: _Assumed, chance: float) -> None:
            yes = self._odds.of(question)
            for answer, share in ((True, yes), (False, 1 - yes)):
                heappush(dreams, (-chance * share, next(order), (*assumed, (question, answer))))

        branch(asked.question, (), 1.0)
        for _ in range(_MOST_DREAMS * self.crew.size):
            if not dreams:
                return
            chance, _, assumed = heappop(dreams)
            found = self._next(assumed)
            if found is not None:
                yield found
                branch(found.question, assumed, -chance)

    def _next(self, assumed: _Assumed) -> _Asked | None:
        """Return what would be asked next under some assumptions, if they leave anything to ask."""
        if assumed not in self._dreamt:
            try:
                self._dream(_Told(self._script, self, _Dream(self, assumed)))
                self._dreamt[assumed] = None
            except _Unknown as unknown:
                self._dreamt[assumed] = unknown.asked
            except PenstockError:
                self._dreamt[assumed] = None
        return self._dreamt[assumed]


class _Odds:
    """How likely some inputs lead to the violation, judging by those that were tried.

    - All inputs do; none does not.
    - Most often what is part of a sequence that does not, does not either, and what has one in it that
      does, does.
    - Otherwise take the smallest that does and has the inputs in it, and see what is left out of that.  What
      was left out in vain before has something in it that is needed, which is as likely in a part of it as
      the part is large; and so has, say, all the rest together.
    - A run ends with its violation, so its last input is mostly needed.
    - Near the end nearly everything is needed, and in the middle of much noise hardly anything: where these
      do not decide, the answer is as likely yes as the last few of that kind were.
    """

    def __init__(self, script: str, inputs: int) -> None:
        self._first = script, inputs
        self._passed: list[Question] = []
        self._failed: list[Question] = []
        self._lately: deque[bool] = deque(maxlen=_LATELY)
        """How questions were answered lately that could have been answered either way."""

    def learn(self, question: Question, answer: Answer) -> None:
        """Take note of an answer."""
        passed = answer.attempt is not None and answer.attempt.reproduced
        if _UNLIKELY < self._by_what_is_left_out(question) < 1 - _UNLIKELY:
            self._lately.append(passed)
        (self._passed if passed else self._failed).append(question)

    def of(self, question: Question) -> float:
        """Return how likely the answer to a question is yes."""
        chance = self._by_what_is_left_out(question)
        if not _UNLIKELY < chance < 1 - _UNLIKELY:
            return chance
        yes, no = sum(self._lately) + 1, len(self._lately) - sum(self._lately) + 1
        odds = chance / (1 - chance) * yes / no
        return min(max(odds / (1 + odds), _UNLIKELY), 1 - _UNLIKELY)

    def _by_what_is_left_out(self, question: Question) -> float:
        asked = question.inputs
        if not asked or any(each.script == question.script and asked <= each.inputs for each in self._failed):
            return _UNLIKELY
        if (question.script, len(asked)) == self._first or any(asked >= each.inputs for each in self._passed):
            return 1 - _UNLIKELY
        known = [each.inputs for each in self._passed if asked < each.inputs]
        if not known:
            return 0.5
        smallest = min(known, key=len)
        left_out = smallest - asked
        last = max((each for each in smallest if not each[1].startswith(_IDLE)), default=None)
        chance = _WITHOUT_LAST if last in left_out else 1.0
        rest = smallest - {last} if last is not None else smallest
        for needed in sorted(self._necessary_parts(question.script, smallest), key=len):
            if needed <= rest:
                share = len(left_out & needed) / len(needed)
                # A failure that is needed mostly needs its recovery, too.
                chance *= 1 - share if len(needed) > _PAIR or share in (0, 1) else _WITHOUT_HALF
                rest -= needed
        if rest:
            chance *= 1 - len(left_out & rest) / (len(rest) + 1)
        return min(max(chance, _UNLIKELY), 1 - _UNLIKELY)

    def _necessary_parts(
        self, script: str, inputs: frozenset[tuple[int, str]]
    ) -> set[frozenset[tuple[int, str]]]:
        """Return the parts of some inputs that were left out in vain."""
        return {inputs - each.inputs for each in self._failed if each.script == script}
