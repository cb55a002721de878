"""The invariant that no controller logs errors, and how errors are told in its log.

Errors in a controller's log: tracebacks, lines of the levels error and above, what a dying program prints.

A traceback is one error, told by its last line, the exception; of a chain of exceptions it is the last one's.
A line logged right before a traceback (`logger.exception`) belongs to it.  Where threads print tracebacks at
the same time, each exception line ends one of them, and the frames, which may be anybody's, are not told.

Two errors are *the same* if they differ in numbers, addresses and quoted texts only; tracebacks, if the same
line of code raised the same exception.

A log may be hostile.  Lines come here cut short (`_controllers.tcp.log_lines`), every pattern below takes
time linear in the line's length, and patterns of a scenario are texts in which `*` stands for anything: these
can be looked for without going back.

The invariant that no controller logs errors: what it prints, and the files it logs to, are read meanwhile.

An error is told once, when it first comes; later ones that are the same (`log_errors`) are counted.  When the
run is over, `repeated` says how often each came, when first and when last.

Some controllers log lines at the level of errors whenever a switch joins, as Faucet does.  What a controller
logs before anything was done to the network, and nothing but its level makes an error, is usual for it: it is
told in a remark, and is no violation.  Tracebacks and what a scenario's patterns name always are.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from penstock._base.text import visible
from penstock._fuzz.harness import Harness
from penstock._fuzz.judging import REPEATED, Finding
from penstock._world.transition import Record

_TRACEBACK: Final = "Traceback (most recent call last):"
_CHAINED: Final = ("During handling of the above exception", "The above exception was the direct cause")
_STRAY: Final = 200
"""How many lines that are no part of it may come before a traceback is given up."""
_MOST_OPEN: Final = 50
"""How many tracebacks may be begun at once; of more, the oldest is given up."""
_HEAD: Final = 200
"""Where in a line its level is looked for."""
_STATEMENT: Final = 120
"""How much of a line tells it from others."""

_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_GROUP: Final = re.compile(r"(?<! ) *[+|](?:-\+-*)? ?")
"""What stands before the lines of an exception group."""
_FRAME: Final = re.compile(r'\s+File "([^"]*)", line (\d+)(?:, in (.*))?')
_EXCEPTION: Final = re.compile(r"([A-Za-z_][\w.]*)(?::(?: .*)?)?$")
_LIKE_EXCEPTIONS: Final = ("error", "exception", "timeout", "exit", "interrupt")

_LEVEL: Final = re.compile(
    r"(?<![\w'\"=])(?:(TRACE|DEBUG|DBG|FINE|CONFIG|INFO|NOTICE|WARNING|WARN)"
    r"|(ERROR|ERR|CRITICAL|CRIT|FATAL|SEVERE|EMERG|EMER|ALERT|PANIC))(?![\w'\"=])"
)
"""The levels of Python's, Java's, syslog's and Open vSwitch's logs; the first that a line names counts."""
_LEVELS: Final = frozenset(
    {"TRACE", "DEBUG", "INFO", "NOTICE", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL"}
)
_LOWER_LEVEL: Final = re.compile(r"\blevel=\"?(?:error|fatal|panic|critical)\b|\[(?:error|fatal|critical)\]")
_GLOG: Final = re.compile(r"[EF]\d{4} \d\d:\d\d:\d\d")
_THROWN: Final = re.compile(
    r"(?:Exception in thread |(?:Uncaught )?(?:(?:[a-z_$][\w$]*\.)+)?[A-Z][\w$]*(?:Exception|Error)(?::|$))"
)
"""How a stack trace begins in Java, JavaScript and others."""
_CONTEXT: Final = re.compile(r"(?:future|task|handle|transport|protocol|server|socket|asyncgen): <")
"""What asyncio puts between an error and its traceback."""
_JAVA_FRAME: Final = re.compile(r"\s+at ([^\s(]+)")
_FAILURES: Final = (
    "Segmentation fault",
    "SIGSEGV",
    "AddressSanitizer",
    "ThreadSanitizer",
    "MemorySanitizer",
    "LeakSanitizer",
    "runtime error:",
    "stack smashing detected",
    "double free or corruption",
    "corrupted size vs. prev_size",
    "malloc(): ",
    "free(): invalid",
    "terminate called",
    "core dumped",
    "Fatal Python error",
    "panic: ",
    "' panicked at ",
    "OutOfMemoryError",
)
"""What programs in C, C++, Go, Rust and Python print when they die."""
_ASSERTION: Final = re.compile(r"\b[Aa]ssertion\b.{0,300}\bfailed\b")
_FATAL: Final = re.compile(r"(?:[\w./-]+: )?(?:fatal |internal )?error: ")
_RUBY: Final = re.compile(r"(?<!\S)[^\s:]+\.rb:\d+:in .{0,400}\((?:\w+::)*\w*(?:Error|Exception)\)")

_NUMBERS: Final = re.compile(
    r"\b[0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){5,7}\b|0x[0-9a-fA-F]+|\b[0-9a-f]{8,}\b|\d+"
)
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
_DOTS: Final = re.compile(r"…(?:[-.,:/T+]*…)+Z?")


@dataclass(frozen=True, slots=True)
class LoggedError:
    """An error of a log: what tells it from others, without colons, and the line that tells it."""

    what: str
    text: str
    place: str = ""
    """The line of code that raised it, where a traceback says so."""
    is_thrown: bool = False
    """Whether it is an exception with its trace, rather than a line that somebody logged."""
    by_level: bool = False
    """Whether nothing but the level that it was logged at makes it an error."""

    @property
    def sentence(self) -> str:
        """What it is, up to a colon that separates this from how it is told this time."""
        where = f" at {self.place}" if self.place else ""
        kind = "raised" if self.is_thrown else "logged an error,"
        return f"{kind} {self.what}{where}: {self.text}"


@dataclass(slots=True)
class _Traceback:
    """A traceback that is being read."""

    prefix: str
    """What a logging formatter puts before each of its lines."""
    place: str = ""
    alone: bool = True
    """Whether no other traceback came in between."""
    strays: int = 0


class LogReader:
    """Reads one controller's log line by line, and finds the errors in it.

    `patterns` are further lines that are errors, `ignored` are errors that do not count; in both, `*` stands
    for any text.
    """

    def __init__(self, patterns: Sequence[str] = (), ignored: Sequence[str] = ()) -> None:
        self._patterns = [_pieces(pattern) for pattern in patterns]
        self._ignored = [_pieces(pattern) for pattern in ignored]
        self._open: deque[_Traceback] = deque()
        self._held: LoggedError | None = None
        """The last error: what comes next may show that it is part of another one."""

    @property
    def held(self) -> LoggedError | None:
        """The last error, if what comes next may show that it is part of another one."""
        return self._held

    @property
    def is_amid(self) -> bool:
        """Whether an error is begun, or may yet turn out to be part of another."""
        return self._held is not None or bool(self._open)

    def read(self, line: str) -> Iterator[LoggedError]:
        """Take in a line; yield the errors that are complete with it."""
        text = plain(line)
        if _TRACEBACK in text:
            yield from self._begin(text)
        elif self._open and self._continues(text):
            yield from self._end_traceback(text)
        elif self._held is not None and text.startswith(_CHAINED):
            self._held = None
        elif self._held is not None and self._belongs(text):
            return
        else:
            yield from self._judge(text)

    def settle(self) -> Iterator[LoggedError]:
        """Yield what is held back, when nothing more is coming that could belong to it."""
        yield from self._release_held()
        while self._open:
            yield from self._give_up()

    # Tracebacks of Python.

    def _begin(self, text: str) -> Iterator[LoggedError]:
        if self._held is not None and self._held.is_thrown:
            yield from self._release_held()
        self._held = None
        alone = not self._open
        for other in self._open:
            other.alone = False
        head = _GROUP.sub("", text, count=1) if text.lstrip().startswith(("+", "|")) else text
        self._open.append(_Traceback(head.partition(_TRACEBACK)[0], alone=alone))
        if len(self._open) > _MOST_OPEN:
            yield from self._give_up()

    def _continues(self, text: str) -> bool:
        """Tell whether a line is part of an open traceback; note where in the code it is."""
        first = self._open[0]
        line = _without_prefix(text, first.prefix)
        if not line or line[0] in " \t":
            if found := _FRAME.match(line):
                file, number, function = found.groups()
                name = re.split(r"[/\\]", file)[-1].replace(":", " ")
                first.place = f"{name} line {number}" + (f" in {function}" if function else "")
            return True
        if _is_exception(line):
            return True
        first.strays += 1
        return first.strays > _STRAY

    def _end_traceback(self, text: str) -> Iterator[LoggedError]:
        """End a traceback, if this line is the exception, or none is to be expected any more."""
        first = self._open[0]
        if first.strays > _STRAY:
            yield from self._give_up()
            return
        line = _without_prefix(text, first.prefix)
        if line and line[0] not in " \t":
            self._open.popleft()
            name = line.partition(":")[0]
            place = first.place if first.alone else ""
            yield from self._release_held()
            self._held = LoggedError(name, line, place, is_thrown=True)

    def _give_up(self) -> Iterator[LoggedError]:
        cut = self._open.popleft()
        what = "an exception with an incomplete traceback"
        yield from self._if_counted(LoggedError(what, _TRACEBACK, cut.place, is_thrown=True))

    # Other lines.

    def _belongs(self, text: str) -> bool:
        """Tell whether a line is part of the error that is held; a trace's first frame says where."""
        held = self._held
        assert held is not None
        if not held.is_thrown:
            return _CONTEXT.match(text) is not None
        if found := _JAVA_FRAME.match(text):
            if not held.place:
                self._held = replace(held, place=found[1].replace(":", " "))
            return True
        return text.startswith("Caused by: ")

    def _judge(self, text: str) -> Iterator[LoggedError]:
        """Find out whether a line is an error by itself."""
        is_thrown = _THROWN.match(text) is not None
        if is_thrown and self._held is not None and not self._held.is_thrown:
            self._held = None
        yield from self._release_held()
        if is_thrown:
            name = text if text.startswith("Exception in thread ") else text.partition(":")[0]
            self._held = LoggedError(statement_of(name), text, is_thrown=True)
        elif any(_matches(text, pieces) for pieces in self._patterns) or _is_failure(text):
            self._held = LoggedError(statement_of(text), text)
        elif _has_error_level(text):
            self._held = LoggedError(statement_of(text), text, by_level=True)

    def _release_held(self) -> Iterator[LoggedError]:
        held, self._held = self._held, None
        if held is not None:
            yield from self._if_counted(held)

    def _if_counted(self, error: LoggedError) -> Iterator[LoggedError]:
        if not any(_matches(error.text, pieces) for pieces in self._ignored):
            yield error


def plain(line: str) -> str:
    """Return a line without what steers terminals."""
    if "\x1b" in line:
        line = _ESCAPES.sub("", line)
    return visible(line, keep="\t")


def statement_of(text: str) -> str:
    """Return a line without its parameters and without colons: what is the same whenever it is logged."""
    found = _NUMBERS.sub("…", _QUOTED.sub("…", text))
    found = " ".join(_DOTS.sub("…", found).replace(":", " ").split())
    return found if len(found) <= _STATEMENT else f"{found[:_STATEMENT].rstrip()} …"


def _has_error_level(text: str) -> bool:
    head = text[:_HEAD]
    if found := _LEVEL.search(head):
        return found[2] is not None
    return bool(_LOWER_LEVEL.search(head) or _GLOG.match(head) or _FATAL.match(head))


def _is_failure(text: str) -> bool:
    """Tell whether a line is what a program prints that dies, unless it was logged as something lesser."""
    if not (
        any(sign in text for sign in _FAILURES)
        or ("ssertion" in text and _ASSERTION.search(text))
        or (".rb:" in text and _RUBY.match(text))
    ):
        return False
    level = _LEVEL.search(text[:_HEAD])
    return level is None or level[2] is not None


def _is_exception(line: str) -> bool:
    """Tell whether a line is the exception that a traceback ends with."""
    found = _EXCEPTION.match(line)
    if found is None or found[1] in _LEVELS:
        return False
    last = found[1].rpartition(".")[2]
    return last[:1].isupper() or last.lower().endswith(_LIKE_EXCEPTIONS)


def _without_prefix(text: str, prefix: str) -> str:
    """Return a line of a traceback without what a logging formatter or an exception group put before it."""
    if prefix.strip():
        head = text[: len(prefix)]
        if statement_of(head) == statement_of(prefix):
            return text[len(prefix) :]
    if text.lstrip(" ").startswith(("| ", "+-")):
        return _GROUP.sub("", text, count=1)
    return text


def _pieces(pattern: str) -> list[str]:
    return [piece for piece in pattern.split("*") if piece]


def _matches(text: str, pieces: list[str]) -> bool:
    """Tell whether a text has some pieces in their order."""
    place = 0
    for piece in pieces:
        place = text.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return True


_MOST_KINDS: Final = 100
"""How many different errors of one controller are told; all others are one more."""
_OTHERS: Final = "further errors"
SETTLING_MS: Final = 100
"""How long a controller that prints an error has for the rest of it."""


@dataclass(slots=True)
class _Tally:
    """How often an error came, when first and when last."""

    message: str
    first: int
    last: int
    times: int = 1


class ControllerErrors:
    """No controller logs an error, or a traceback."""

    name: Final = "ControllerErrors"

    def __init__(self, stage: Harness) -> None:
        self._stage = stage
        self._readers: dict[str, LogReader] = {}
        self._heard: dict[str, int] = {}
        """When each controller last said something."""
        self._tallies: dict[tuple[str, str, str], _Tally] = {}
        self._kinds: Counter[str] = Counter()
        self._news: list[_Tally] = []
        self._early: dict[str, bool] = {}
        """Whether what each controller last said came before anything was done to the network."""
        self._usual: dict[tuple[str, str, str], _Tally] = {}
        stage.log_observers.append(self.hear)

    def observe(self, record: Record) -> None:
        """Read what a controller in this process logged; it says all of it at once."""
        for event in record.events:
            if event.kind == "log":
                controller, text = map(str, event.detail)
                for line in text.split("\n"):
                    self.hear(controller, line)
                self._settle(controller)

    def hear(self, controller: str, line: str) -> None:
        """Read a line of a controller's log."""
        now = self._stage.now()
        # An error is known with the line after it, and belongs to the time before that.
        for error in self._reader(controller).read(line):
            self._count(controller, error, self._heard.get(controller, now))
        self._heard[controller], self._early[controller] = now, not self._stage.has_begun

    def _reader(self, controller: str) -> LogReader:
        known = self._readers.get(controller)
        if known is None:
            options = self._stage.setting.options
            known = self._readers[controller] = LogReader(options.error_patterns, options.ignored_errors)
        return known

    def _count(self, controller: str, error: LoggedError, now: int) -> None:
        key = (controller, error.what, error.place)
        if key in self._usual or (error.by_level and self._early.get(controller, False)):
            usual = self._usual.setdefault(key, _Tally(error.text, now, now, times=0))
            usual.times, usual.last = usual.times + 1, now
            return
        known = self._tallies.get(key)
        if known is None and self._kinds[controller] >= _MOST_KINDS:
            key, error = (controller, _OTHERS, ""), LoggedError(_OTHERS, error.text)
            known = self._tallies.get(key)
        if known is None:
            self._kinds[controller] += 1
            known = self._tallies[key] = _Tally(f"{controller} {error.sentence}", now, now)
            self._news.append(known)
        else:
            known.times, known.last = known.times + 1, now

    def _settle(self, controller: str) -> None:
        for error in self._readers[controller].settle():
            self._count(controller, error, self._heard[controller])

    @property
    def is_undecided(self) -> bool:
        """Whether a controller is in the middle of telling an error that is not known yet."""
        now = self._stage.now()
        return any(
            reader.is_amid and now - heard < SETTLING_MS and not self._is_known(controller, reader.held)
            for controller, reader, heard in self._all()
        )

    def _all(self) -> list[tuple[str, LogReader, int]]:
        return [(name, reader, self._heard[name]) for name, reader in self._readers.items()]

    def _is_known(self, controller: str, error: LoggedError | None) -> bool:
        if error is None:
            return False
        key = (controller, error.what, error.place)
        return key in self._tallies or key in self._usual

    def remarks(self) -> tuple[str, ...]:
        """Return what controllers log at the level of errors even when nothing was done to the network."""
        return tuple(
            f"{controller} logs errors already when switches join, which do not count ({tally.times:,} "
            f"time{'' if tally.times == 1 else 's'}): {tally.message}"
            for (controller, *_), tally in self._usual.items()
        )

    def check(self, now: int, *, at_rest: bool = False) -> list[Finding]:  # noqa: ARG002 - the protocol's
        """Return the errors that came for the first time since the last time."""
        for controller, reader, heard in self._all():
            if reader.is_amid and now - heard >= SETTLING_MS:
                self._settle(controller)
        news, self._news = self._news, []
        return [Finding(self.name, tally.message, persistent=True) for tally in news]

    def repetitions(self) -> Iterator[Finding]:
        """Yield the errors that came more than once, with how often, and when first; all is heard by now."""
        for controller in self._readers:
            self._settle(controller)
        for tally in self._tallies.values():
            if tally.times > 1:
                yield Finding(
                    self.name,
                    tally.message,
                    persistent=True,
                    verdict=REPEATED,
                    since=tally.first,
                    last=tally.last,
                    times=tally.times,
                )
