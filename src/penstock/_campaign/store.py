"""The file in which a campaign keeps its runs, verdicts and bugs: `campaign.sqlite`.

What came of a job is written in one transaction before anybody is told of it, so whatever kills a campaign
loses nothing that was told, and the next one goes on from there.  Runs belong to the key of their job, not to
one campaign: a campaign of code that has not changed takes them over.

The file may come from a stranger.  It is no database of ours unless it says so, nothing in its schema is run,
and what is read from it is data.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from penstock._base.files import UnwritableError, absolute, make_folder, nearest, open_appended
from penstock._base.reading import parse_json
from penstock._base.text import json_text
from penstock._base.version import VERSION
from penstock._campaign.job import FAILED, Found, Outcome
from penstock._campaign.plan import Job, Plan
from penstock._campaign.sources import FILE
from penstock.errors import PenstockError

_WHAT: Final = "The campaign"
_OURS: Final = 0x50454E43
"""What the file says in its header to be known as ours."""
_FORMAT: Final = 2
_WATCHED: Final = """
CREATE TABLE watched (run INTEGER NOT NULL REFERENCES runs, property TEXT NOT NULL);
"""
"""What files of the first format lack."""
_FIRST_SCHEMA: Final = """
CREATE TABLE campaigns (
    id INTEGER PRIMARY KEY, what TEXT NOT NULL, plan TEXT NOT NULL, version TEXT NOT NULL,
    begun TEXT NOT NULL, ended TEXT);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, ended TEXT NOT NULL, result TEXT NOT NULL,
    reasons TEXT NOT NULL, judged INTEGER NOT NULL, properties INTEGER NOT NULL, work TEXT NOT NULL,
    seconds REAL NOT NULL);
CREATE TABLE jobs (
    campaign INTEGER NOT NULL REFERENCES campaigns, number INTEGER NOT NULL, name TEXT NOT NULL,
    key TEXT NOT NULL, program TEXT NOT NULL, run INTEGER REFERENCES runs, PRIMARY KEY (campaign, number));
CREATE TABLE bugs (
    id INTEGER PRIMARY KEY, program TEXT NOT NULL, name TEXT NOT NULL, property TEXT NOT NULL,
    message TEXT NOT NULL, sequence TEXT NOT NULL, minimised INTEGER NOT NULL, trace TEXT NOT NULL,
    first INTEGER NOT NULL REFERENCES campaigns, UNIQUE (program, name));
CREATE TABLE findings (
    run INTEGER NOT NULL REFERENCES runs, bug INTEGER NOT NULL REFERENCES bugs, message TEXT NOT NULL,
    trace TEXT NOT NULL);
CREATE TABLE standings (
    campaign INTEGER NOT NULL REFERENCES campaigns, bug INTEGER NOT NULL REFERENCES bugs,
    standing TEXT NOT NULL, why TEXT NOT NULL, PRIMARY KEY (campaign, bug));
CREATE INDEX runs_by_key ON runs (key);
CREATE INDEX findings_by_run ON findings (run);
"""
_SCHEMA: Final = _FIRST_SCHEMA + _WATCHED


@dataclass(frozen=True, slots=True)
class Bug:
    """A distinct bug: a program's, with what it breaks and the few inputs that it takes."""

    id: int
    program: str
    name: str
    property: str
    message: str
    sequence: tuple[str, ...]
    minimised: bool
    trace: Path | None
    """A run that shows it, the minimal one if there is one."""
    first: int
    """The campaign that found it."""


class Store:
    """A campaign's file, for one process at a time."""

    def __init__(self, folder: Path, lock: int, database: sqlite3.Connection) -> None:
        self.folder = folder
        self._lock = lock
        self._database = database

    # Campaigns.

    def begin(self, plan: Plan, *, fresh: bool) -> int:
        """Return the campaign that a plan is of: the last one if that has the same, else a new one.

        A new one takes over the runs whose keys it has, unless it is to begin afresh.  What has failed is
        done again: it may have been for want of something that is there now.
        """
        with self._transaction() as database:
            last = database.execute(
                "SELECT id, plan FROM campaigns WHERE what = ? ORDER BY id DESC LIMIT 1",
                (_storable(plan.where),),
            ).fetchone()
            if last is not None and last[1] == plan.digest and not fresh:
                again = database.execute(
                    "UPDATE jobs SET run = NULL "
                    "WHERE campaign = ? AND run IN (SELECT id FROM runs WHERE result = ?)",
                    (last[0], FAILED),
                )
                if again.rowcount:
                    database.execute("UPDATE campaigns SET ended = NULL WHERE id = ?", (last[0],))
                return int(last[0])
            made = database.execute(
                "INSERT INTO campaigns (what, plan, version, begun) VALUES (?, ?, ?, ?)",
                (_storable(plan.where), plan.digest, VERSION, _now()),
            )
            campaign = int(made.lastrowid or 0)
            for number, job in enumerate(plan.jobs):
                run = None if fresh else self._run_of(job.key)
                database.execute(
                    "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?)",
                    (campaign, number, job.name, job.key, job.program, run),
                )
            return campaign

    def _run_of(self, key: str) -> int | None:
        found = self._database.execute(
            "SELECT id FROM runs WHERE key = ? AND result <> ? ORDER BY id DESC LIMIT 1", (key, FAILED)
        ).fetchone()
        return None if found is None else int(found[0])

    def finish(self, campaign: int) -> None:
        """Note that all jobs of a campaign are done, and its bugs compared."""
        with self._transaction() as database:
            database.execute(
                "UPDATE campaigns SET ended = ? WHERE id = ? AND ended IS NULL", (_now(), campaign)
            )

    def is_finished(self, campaign: int) -> bool:
        """Tell whether all of a campaign is done."""
        found = self._database.execute("SELECT ended FROM campaigns WHERE id = ?", (campaign,)).fetchone()
        return found is not None and found[0] is not None

    def before(self, campaign: int) -> int | None:
        """Return the last campaign of the same folder or list before another, if it was finished."""
        found = self._database.execute(
            "SELECT id FROM campaigns WHERE id < ? AND ended IS NOT NULL "
            "AND what = (SELECT what FROM campaigns WHERE id = ?) ORDER BY id DESC LIMIT 1",
            (campaign, campaign),
        ).fetchone()
        return None if found is None else int(found[0])

    # Runs.

    def record(self, campaign: int, number: int, job: Job, outcome: Outcome) -> None:
        """Write down what came of a job: all of it, or nothing."""
        with self._transaction() as database:
            made = database.execute(
                "INSERT INTO runs (key, ended, result, reasons, judged, properties, work, seconds) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    job.key,
                    _now(),
                    outcome.result,
                    json_text(list(outcome.reasons)),
                    outcome.judged,
                    outcome.properties,
                    outcome.work,
                    outcome.seconds,
                ),
            )
            database.executemany(
                "INSERT INTO watched VALUES (?, ?)",
                [(made.lastrowid, _storable(name)) for name in outcome.watched],
            )
            for found in outcome.found:
                bug = self._bug(campaign, job.program, found)
                database.execute(
                    "INSERT INTO findings VALUES (?, ?, ?, ?)",
                    (made.lastrowid, bug, _storable(found.message), self._placed(found.trace)),
                )
            database.execute(
                "UPDATE jobs SET run = ? WHERE campaign = ? AND number = ?",
                (made.lastrowid, campaign, number),
            )

    def _bug(self, campaign: int, program: str, found: Found) -> int:
        """Return the number of a bug, which is new if nobody has found it before."""
        self._database.execute(
            "INSERT INTO bugs (program, name, property, message, sequence, minimised, trace, first) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (program, name) DO UPDATE SET trace = excluded.trace",
            (
                program,
                _storable(found.bug),
                _storable(found.property),
                _storable(found.message),
                json_text(list(found.sequence)),
                found.minimised,
                self._placed(found.trace),
                campaign,
            ),
        )
        (number,) = self._database.execute(
            "SELECT id FROM bugs WHERE program = ? AND name = ?", (program, _storable(found.bug))
        ).fetchone()
        return int(number)

    def _placed(self, trace: str) -> str:
        """Return where a trace is, seen from our folder, so that this can be moved as a whole."""
        return os.path.relpath(absolute(Path(trace)), absolute(self.folder)) if trace else ""

    def outcomes(self, campaign: int) -> dict[int, Outcome]:
        """Return what came of the jobs that are done, by their numbers."""
        rows = self._database.execute(
            "SELECT jobs.number, runs.id, result, reasons, judged, properties, work, seconds "
            "FROM jobs JOIN runs ON jobs.run = runs.id WHERE campaign = ? ORDER BY jobs.number",
            (campaign,),
        ).fetchall()
        with _data(self.folder):
            return {
                int(number): Outcome(
                    str(result),
                    _texts(reasons),
                    tuple(self._found(run)),
                    int(judged),
                    int(properties),
                    str(work),
                    float(seconds),
                    tuple(self._watched(run)),
                )
                for number, run, result, reasons, judged, properties, work, seconds in rows
            }

    def _found(self, run: int) -> Iterator[Found]:
        rows = self._database.execute(
            "SELECT property, findings.message, findings.trace, bugs.name, sequence, minimised "
            "FROM findings JOIN bugs ON findings.bug = bugs.id WHERE run = ? ORDER BY findings.rowid",
            (run,),
        )
        for broken, message, trace, name, sequence, minimised in rows:
            place = str(self._file(trace) or "")
            yield Found(str(broken), str(message), place, str(name), _texts(sequence), bool(minimised))

    def _watched(self, run: int) -> Iterator[str]:
        rows = self._database.execute("SELECT property FROM watched WHERE run = ? ORDER BY rowid", (run,))
        return (str(name) for (name,) in rows)

    def _file(self, trace: Any) -> Path | None:
        return self.folder / str(trace) if trace else None

    # Bugs.

    def bugs_of(self, campaign: int) -> dict[int, tuple[Bug, list[int]]]:
        """Return the bugs that jobs of a campaign found, each with the numbers of the jobs."""
        rows = self._database.execute(
            "SELECT findings.bug, jobs.number, message, trace FROM jobs "
            "JOIN findings ON findings.run = jobs.run WHERE campaign = ? "
            "ORDER BY jobs.number, findings.rowid",
            (campaign,),
        ).fetchall()
        found: dict[int, tuple[Bug, list[int]]] = {}
        for bug, number, message, trace in rows:
            if bug not in found:
                # Which job ended first is chance; that of the first one tells it.
                told = replace(self.bug(bug), message=str(message), trace=self._file(trace))
                found[bug] = (told, [])
            if number not in found[bug][1]:
                found[bug][1].append(int(number))
        return found

    def bug(self, number: int) -> Bug:
        """Return a bug."""
        row = self._database.execute(
            "SELECT id, program, name, property, message, sequence, minimised, trace, first "
            "FROM bugs WHERE id = ?",
            (number,),
        ).fetchone()
        with _data(self.folder):
            first, program, name, broken, message, sequence, minimised, trace, campaign = row
            texts = (str(program), str(name), str(broken), str(message), _texts(sequence))
            return Bug(int(first), *texts, bool(minimised), self._file(trace), int(campaign))

    def settle(self, campaign: int, standings: Iterable[tuple[int, str, str]]) -> None:
        """Write down how bugs stand in a campaign, each with the reason."""
        with self._transaction() as database:
            database.execute("DELETE FROM standings WHERE campaign = ?", (campaign,))
            database.executemany(
                "INSERT INTO standings VALUES (?, ?, ?, ?)",
                [(campaign, bug, standing, _storable(why)) for bug, standing, why in standings],
            )

    def standings(self, campaign: int) -> dict[int, tuple[str, str]]:
        """Return how bugs stand in a campaign, each with the reason, by their numbers."""
        rows = self._database.execute(
            "SELECT bug, standing, why FROM standings WHERE campaign = ? ORDER BY bug", (campaign,)
        )
        return {int(bug): (str(standing), str(why)) for bug, standing, why in rows}

    # The file.

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._database:
                self._database.execute("BEGIN IMMEDIATE")
                yield self._database
        except sqlite3.Error as error:
            raise _refused(self.folder, error) from None

    def close(self) -> None:
        """Close the file; all of it is in one again."""
        self._database.close()
        os.close(self._lock)


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    """Open the file of campaigns in a folder, which is made if it is not there."""
    make_folder(folder, _WHAT)
    lock = _locked(folder)
    try:
        # This refuses links and whatever else is no file of its own.
        open_appended(folder / FILE, _WHAT).close()
        try:
            database = _connected(absolute(folder) / FILE)
        except sqlite3.Error as error:
            raise _refused(folder, error) from None
        except (ValueError, TypeError):
            raise _foreign(folder) from None
    except BaseException:
        os.close(lock)
        raise
    store = Store(folder, lock, database)
    try:
        yield store
    except sqlite3.Error as error:
        raise _refused(folder, error) from None
    finally:
        with suppress(sqlite3.Error):
            store.close()


def _locked(folder: Path) -> int:
    """Have the folder for ourselves; the lock goes with us, however we go."""
    descriptor = os.open(absolute(folder), os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise PenstockError(
            f"Another campaign is going on in {nearest(folder)}: wait for it, or give another folder with -o."
        ) from None
    return descriptor


def _connected(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        database.execute("PRAGMA trusted_schema = OFF")
        (is_empty,) = database.execute("SELECT COUNT(*) = 0 FROM sqlite_master").fetchone()
        if is_empty:
            _execute(database, _SCHEMA)
        (ours,) = database.execute("PRAGMA application_id").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
        (damage,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if (ours, damage) != (_OURS, "ok"):
            raise ValueError(damage)
        if version == _FORMAT - 1 and _shape(database) == _shape_of(_FIRST_SCHEMA):
            _execute(database, _WATCHED)
        elif version != _FORMAT or _shape(database) != _shape_of(_SCHEMA):
            raise ValueError(version)
        # Only now: this is written into the file.
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
    except BaseException:
        database.close()
        raise
    return database


def _execute(database: sqlite3.Connection, schema: str) -> None:
    """Have what a schema says, and a file that says it is ours: all of it or nothing."""
    database.executescript(
        f"BEGIN IMMEDIATE; {schema} PRAGMA application_id = {_OURS}; PRAGMA user_version = {_FORMAT}; COMMIT;"
    )


def _shape(database: sqlite3.Connection) -> list[Any]:
    """Return all that a database is made of; triggers and views of a stranger's would be among it."""
    return database.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()


def _shape_of(schema: str) -> list[Any]:
    database = sqlite3.connect(":memory:")
    try:
        _execute(database, schema)
        return _shape(database)
    finally:
        database.close()


@contextmanager
def _data(folder: Path) -> Iterator[None]:
    """Refuse what no campaign has written."""
    try:
        yield
    except (ValueError, TypeError):
        raise _foreign(folder) from None


def _foreign(folder: Path) -> PenstockError:
    return PenstockError(
        f"{nearest(folder / FILE)} is no file of campaigns, or damaged: move it away, "
        "or give another folder with -o."
    )


def _refused(folder: Path, error: sqlite3.Error) -> PenstockError:
    """Return what to tell of a database that SQLite does not take."""
    if isinstance(error, sqlite3.OperationalError):
        return UnwritableError(_WHAT, folder / FILE, OSError(None, str(error)))
    return _foreign(folder)


def _texts(text: Any) -> tuple[str, ...]:
    found = parse_json(str(text))
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError("no list of texts")
    return tuple(found)


def _storable(text: str) -> str:
    """Return a text as a database takes it: halves of characters are spelt out."""
    return text.encode("utf-8", "backslashreplace").decode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
