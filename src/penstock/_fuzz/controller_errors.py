"""The invariant that no controller logs errors: what it prints, and the files it logs to, are read meanwhile.

An error is told once, when it first comes; later ones that are the same (`log_errors`) are counted.  When the
run is over, `repeated` says how often each came, when first and when last.

Some controllers log lines at the level of errors whenever a switch joins, as Faucet does.  What a controller
logs before anything was done to the network, and nothing but its level makes an error, is usual for it: it is
told in a remark, and is no violation.  Tracebacks and what a scenario's patterns name always are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock._fuzz.harness import Harness
from penstock._fuzz.judging import REPEATED, Finding
from penstock._fuzz.log_errors import LoggedError, LogReader
from penstock._world.transition import Record

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

    def repeated(self) -> Iterator[Finding]:
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
