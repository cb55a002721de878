"""What an attack is, and how one is made: a command is run, and whatever it leaves behind is looked for."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

LIMIT_S: Final = 240
"""How long a command may take on a machine that has other things to do; its own limits are far below."""
GONE_S: Final = 5.0
"""How many seconds after a command's end its processes have to be gone."""
_MARK: Final = "PENSTOCK_ATTACK"
OWN_FILES: Final = 4096
"""How many files a command may have open, so that none takes all that the machine has."""


class NotHeld(Exception):
    """An attack succeeded; the text says how."""


class NotTried(Exception):
    """An attack could not be made here; the text says why."""


@dataclass(frozen=True, slots=True)
class Attack:
    """Something that somebody tries, and what must come of it."""

    kind: str
    name: str
    expected: str
    attempt: Callable[[Path], str]
    """Makes the attack in an empty folder; returns what happened, or raises `NotHeld`."""


class Tried(NamedTuple):
    """What came of an attack."""

    attack: Attack
    held: bool | None
    """None if it could not be tried."""
    happened: str
    seconds: float


def attempt(attack: Attack, folder: Path) -> Tried:
    """Make an attack in a folder that is not there yet, and remove it again."""
    folder.mkdir()
    began = time.monotonic()
    try:
        held, happened = True, attack.attempt(folder)
    except NotHeld as error:
        held, happened = False, str(error)
    except NotTried as reason:
        return Tried(attack, None, str(reason), 0.0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Tried(attack, held, happened, round(time.monotonic() - began, 1))


def attempt_all(attacks: Sequence[Attack], jobs: int) -> Iterator[Tried]:
    """Make attacks, some at a time, and yield what came of each."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:

        def made(number: int) -> tuple[bool | None, str, float]:
            return attempt(attacks[number], Path(folder) / str(number))[1:]

        # What an attack does is no value that could be sent; processes that are forked have it.
        global _made
        _made = made
        with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=20) as pool:
            for number, outcome in enumerate(pool.imap(_make, range(len(attacks)))):
                yield Tried(attacks[number], *outcome)


_made: Callable[[int], tuple[bool | None, str, float]]


def _make(number: int) -> tuple[bool | None, str, float]:
    return _made(number)


def attempt_and_tell(attacks: Sequence[Attack], jobs: int, *, as_json: bool) -> list[Tried]:
    """Make attacks, and print what comes of each, and of all."""
    found = []
    for tried in attempt_all(attacks, jobs):
        found.append(tried)
        if not as_json or tried.held is False:
            word = {True: "held", False: "NOT HELD", None: "not tried"}[tried.held]
            print(
                f"{tried.attack.kind}: {tried.attack.name}: {word}: {tried.happened} ({tried.seconds} s)",
                file=sys.stderr if as_json else sys.stdout,
                flush=True,
            )
    counts = Counter({True: "held", False: "not_held", None: "not_tried"}[tried.held] for tried in found)
    if as_json:
        print(json.dumps({"attacks": len(found), **counts, "rows": [_row(tried) for tried in found]}))
    else:
        words = ("held", "not_held", "not_tried")
        told = ", ".join(f"{counts[word]} {word.replace('_', ' ')}" for word in words)
        print(f"{len(found)} attacks: {told}")
    return found


def _row(tried: Tried) -> dict[str, Any]:
    return {
        "kind": tried.attack.kind,
        "attack": tried.attack.name,
        "expected": tried.attack.expected,
        "happened": tried.happened,
        "held": tried.held,
        "seconds": tried.seconds,
    }


def demand(holds: object, otherwise: str) -> None:
    """Say that an attack succeeded unless something holds."""
    if not holds:
        raise NotHeld(otherwise)


class Done(NamedTuple):
    """A command that has ended."""

    status: int
    out: str
    err: str
    seconds: float

    @property
    def said(self) -> str:
        """All that it printed."""
        return self.out + self.err

    @property
    def last_line(self) -> str:
        """The last line that it printed, the errors' first."""
        return next(reversed((self.err.strip() or self.out.strip() or "nothing").splitlines()))


def penstock(
    folder: Path,
    *words: str,
    typed: str = "",
    environment: Mapping[str, str] = {},
    limits: Mapping[int, int] = {},
    act: Callable[[subprocess.Popen[bytes]], None] | None = None,
) -> Done:
    """Run a command; it has to end, with clean words, and to leave no process and no unfinished file."""
    return run(
        [sys.executable, "-m", "penstock", *words],
        folder,
        typed=typed,
        environment=environment,
        limits=limits,
        act=act,
    )


def run(
    command: list[str],
    folder: Path,
    *,
    typed: str = "",
    environment: Mapping[str, str] = {},
    limits: Mapping[int, int] = {},
    act: Callable[[subprocess.Popen[bytes]], None] | None = None,
) -> Done:
    """Run any command as one of Penstock's; `act` does something to it while it runs."""
    mark = uuid.uuid4().hex
    scratch = folder / f"scratch-{mark[:8]}"
    scratch.mkdir()
    kept = {"TMPDIR": str(scratch), "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder)}

    def limit() -> None:
        for what, value in {resource.RLIMIT_NOFILE: OWN_FILES, resource.RLIMIT_CORE: 0, **limits}.items():
            resource.setrlimit(what, (value, value))

    began = time.monotonic()
    with (scratch / ".out").open("w+b") as out, (scratch / ".err").open("w+b") as err:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **kept, _MARK: mark, **environment},
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            start_new_session=True,
            preexec_fn=limit,
        )
        try:
            if act is not None:
                act(process)
            process.communicate(typed.encode(), timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            raise NotHeld(f"it did not end within {LIMIT_S} s") from None
        finally:
            seconds = time.monotonic() - began
            left = _wait_until_gone(mark)
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
        said, complained = _text_in(out), _text_in(err)
    (scratch / ".out").unlink()
    (scratch / ".err").unlink()
    demand(not left, f"processes were left: {', '.join(left)}")
    demand(not (found := _unfinished(folder)), f"files were left: {', '.join(found)}")
    demand(not any(scratch.iterdir()), "temporary files were left")
    scratch.rmdir()
    done = Done(process.returncode, said, complained, round(seconds, 1))
    steering = {repr(c) for c in done.said if not (c.isprintable() or c in "\n\t\r")}
    demand(not steering, f"the terminal was sent {', '.join(sorted(steering)[:3])}")
    demand("Traceback (most recent call last)" not in done.err, f"a traceback: {done.last_line}")
    return done


def _text_in(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode(errors="surrogateescape")


def _unfinished(folder: Path) -> list[str]:
    return [str(each.relative_to(folder)) for each in folder.rglob("*.part") if not each.is_symlink()]


def _wait_until_gone(mark: str) -> list[str]:
    """Return the processes with a mark in their environment that are still there after a while; end them."""
    until = time.monotonic() + GONE_S
    while (left := marked(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    for process in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(process), signal.SIGKILL)
    return [_name_of(process) for process in left]


def marked(mark: str) -> list[str]:
    """Return the numbers of the processes that have a mark in their environment and are alive."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (place / "environ").read_bytes() and _is_alive(place):
                found.append(place.name)
    return found


def _is_alive(place: Path) -> bool:
    return (place / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"


def _name_of(process: str) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return process
