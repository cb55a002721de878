"""A report served to a browser on the same machine, which follows a run or a minimisation while it goes on.

The server listens on 127.0.0.1 only, answers GET only, and only what is asked under its own name, so that no
page of another site can read a report by way of a name that leads here.

    /                the page, with the document as it is now
    /document.json   the document as it is now
    /events          server-sent events: steps and texts as they come, then `ended`

A run's trace is read as it grows, each line once.  States are not made while it grows, since for them the
run has to be taken again; when it is over the whole document is made once and the page loads it.  A fuzzing
run is over when its summary is there, a minimisation when its result is newer than its progress.  One that
was killed is followed until the server is stopped.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final, TypedDict
from urllib.parse import SplitResult, parse_qs, urlsplit

from penstock._base.files import open_to_read
from penstock._base.reading import LONGEST_LINE, read_line
from penstock._base.text import visible, visible_within
from penstock._minimize.progress import FILE
from penstock._minimize.writing import FOLDER
from penstock._report.document import document_of, minimised_part, open_document, report_on, verdict_of
from penstock._report.gathering import SUMMARY, Gathered, gather, minimising_folder
from penstock._report.page import render
from penstock._report.steps import ReportStep, StepWriter
from penstock._report.unfolding import Unfolded
from penstock._trace.consent import Consent
from penstock._trace.trace import End, FuzzTrace, TraceReader, Verdict, trace_file
from penstock.errors import PenstockError

ADDRESS: Final = "127.0.0.1"
PAUSE: Final = 0.5
"""How many seconds there are between two looks at a growing file."""
_QUIET_LOOKS: Final = 10
"""After how many looks without news a page is told that the server is still there."""
_MOST_PAGES: Final = 32
"""How many pages may follow at once."""
_MOST_READ: Final = 8 * LONGEST_LINE
"""How many bytes of a growing file are read at one look."""
_MOST_AT_ONCE: Final = 5_000
"""How many steps one event has at most."""


_MAKING: Final = "from penstock._cli.reporting import report_command; report_command()"
_MOST_SECONDS: Final = 600.0
"""How long a document may take to be made."""


class News(TypedDict, total=False):
    """What a page is told that follows a run."""

    ended: bool
    steps: list[ReportStep]
    verdict: object
    minimised: object
    strings: list[str]


class Followed:
    """What is reported on, as far as it is; one for all pages."""

    def __init__(self, path: Path, consent: Consent | None = None) -> None:
        self._path = path
        self._consent = consent
        self._lock = threading.RLock()
        self._file = trace_file(path)
        self._maker = _Maker()
        self._whole: tuple[object, dict[str, object]] | None = None
        """The document of a run that is over, and what the files looked like then."""
        self._growing = None if self.is_over() else _Growing(self._file, consent)

    def is_over(self) -> bool:
        """Tell whether nothing is to be expected any more."""
        return _has_ended(self._file)

    def document(self) -> dict[str, object]:
        """Return the document as it is now."""
        with self._lock:
            if self._growing is not None and not self.is_over():
                self._growing.look()
                return self._growing.document.as_json()
            looks = _looks(self._file)
            if self._whole is None or self._whole[0] != looks:
                found = self._maker.made(self._path, run=self._consent is not None)
                self._whole = (looks, {**found, "served": True})
            return self._whole[1]

    def news(self, after: int, texts: int) -> News:
        """Return what a page does not have yet that has steps up to one, and so many texts."""
        with self._lock:
            if self._growing is None or self.is_over():
                self.document()
                return {"ended": True}
            self._growing.look()
            return self._growing.since(after, texts)

    def close(self) -> None:
        """Stop what is still being made."""
        self._maker.stop()


class _Maker:
    """Makes documents in a process of its own.

    A controller that does not come to an end can be interrupted only in a process's main thread, and what
    pages ask for is answered in others.
    """

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None

    def made(self, path: Path, *, run: bool) -> dict[str, object]:
        """Return the document on a path; without states, if those cannot be had."""
        command = [sys.executable, "-c", _MAKING, "--json", *(["--run"] if run else []), "--", str(path)]
        try:
            with subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            ) as self._child:
                try:
                    text, _ = self._child.communicate(timeout=_MOST_SECONDS)
                finally:
                    self._child.kill()
            found: dict[str, object] = json.loads(text)  # a report of our own, whatever it is about
        except (OSError, subprocess.TimeoutExpired, ValueError):
            document = report_on(path, states=False)
            document.remarks.append("Replaying the run did not end.")
            return document.as_json()
        return found

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._child is not None:
            self._child.kill()


def _has_ended(file: Path) -> bool:
    return _run_is_over(file) and _minimising_is_over(file)


def _run_is_over(file: Path) -> bool:
    """Tell whether a trace grows no more: a search's is written in one go, and so is that of a replay."""
    if file.parent.name == FOLDER or (file.parent / SUMMARY).is_file():
        return True
    with open_to_read(file) as growing:
        return not isinstance(TraceReader(file.name, read_line(growing, file.name, 1)).trace(), FuzzTrace)


def _minimising_is_over(file: Path) -> bool:
    folder = minimising_folder(file)
    if folder is None:
        return True
    made = folder / FOLDER / SUMMARY
    return made.is_file() and made.stat().st_mtime >= (folder / FILE).stat().st_mtime


def _looks(file: Path) -> object:
    """Return what tells whether the files of a report have changed."""
    folder = minimising_folder(file) or file.parent
    files = (file, file.parent / SUMMARY, folder / FILE, folder / FOLDER / SUMMARY)
    return tuple(map(_look, files))


def _look(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


class _Growing:
    """What goes on: a run of which lines were read so far, or the minimisation of one that is whole."""

    def __init__(self, path: Path, consent: Consent | None) -> None:
        self._path = path
        self._file = open_to_read(path)
        self._rest = b""
        self._reader = TraceReader(path.name, read_line(self._file, path.name, 1))
        self._numbers: list[int] = []
        self._progress: object = None
        self._is_whole = _run_is_over(path)
        if self._is_whole:
            self.document = document_of(gather(path), consent)
            self._numbers = [step["n"] for step in self.document.steps]
        else:
            trace = self._reader.trace()
            gathered = Gathered(path, trace)
            self.document = open_document(gathered, Unfolded(), growing=True)
        self.document.live = self.document.served = True
        self._writer = StepWriter(self.document.drawing, self.document.lanes, self.document.strings)

    def look(self) -> None:
        """Read what has come since the last look."""
        if not self._is_whole:
            self._read_on()
        folder = minimising_folder(self._path)
        if folder is not None and self._progress != (looks := _look(folder / FILE)):
            self._progress = looks
            self.document.minimised = minimised_part(gather(self._path).minimised, self.document)

    def _read_on(self) -> None:
        *lines, self._rest = (self._rest + self._file.read(_MOST_READ)).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            raise PenstockError(f"{self._path.name} has a line longer than any that Penstock writes.")
        for line in lines:
            found = self._reader.add(line.decode("utf-8", "replace"))
            if not isinstance(found, Verdict | End):
                self.document.steps.append(self._writer.step(found, relevant=True))
                self._numbers.append(found.number)
        if lines and self.document.verdict is None:
            self.document.verdict = verdict_of(self._reader.trace())

    def since(self, after: int, texts: int) -> News:
        """Return what is new after a step and a number of texts."""
        document = self.document
        first = bisect_right(self._numbers, after)
        steps = document.steps[first : first + _MOST_AT_ONCE]
        found: News = {}
        if steps:
            found["steps"] = steps
            found["verdict"] = document.verdict
        if document.minimised is not None:
            found["minimised"] = visible_within(document.minimised)
        if texts < len(document.strings.texts) and (steps or "minimised" in found):
            found["strings"] = document.strings.texts[texts:]
        return found


class LocalServer(ThreadingHTTPServer):
    """Serves something on this machine, by a kind of answers."""

    daemon_threads = True

    def __init__(self, answer: type[Answer], port: int) -> None:
        self.ending = threading.Event()
        try:
            super().__init__((ADDRESS, port), answer)
        except OSError as error:
            raise PenstockError(
                f"Cannot serve on port {port}: {error.strerror}; give another with --port."
            ) from None

    @contextmanager
    def listening(self) -> Iterator[str]:
        """Answer until the end; give the address."""
        thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        thread.start()
        try:
            yield f"http://{ADDRESS}:{self.server_address[1]}/"
        finally:
            self.ending.set()
            self.shutdown()
            self.server_close()
            thread.join()

    def names(self) -> set[str]:
        """Return under which names the server may be asked."""
        port = self.server_address[1]
        return {f"{ADDRESS}:{port}", f"localhost:{port}"}


class Answer(BaseHTTPRequestHandler):
    """Answers one request, if it is asked under the server's own name."""

    server: LocalServer
    server_version = "Penstock"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        """Answer what is asked."""
        if self.headers.get("Host") not in self.server.names():
            self._send(HTTPStatus.FORBIDDEN, "text/plain", "This is not served under that name.\n")
            return
        try:
            self.answer(urlsplit(self.path))
        except PenstockError as error:
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain", f"{visible(str(error))}\n")
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True

    def answer(self, asked: SplitResult) -> None:  # noqa: ARG002 - nothing of it is given back
        """Answer what is asked for; here there is nothing."""
        self._send(HTTPStatus.NOT_FOUND, "text/plain", "There is nothing here.\n")

    def _head(self, status: HTTPStatus, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        data = text.encode("utf-8", "replace")
        self._head(status, kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing: the terminal belongs to the user."""


class _ReportServer(LocalServer):
    """Serves one report."""

    def __init__(self, followed: Followed, port: int) -> None:
        self.followed = followed
        self.pages = threading.BoundedSemaphore(_MOST_PAGES)
        super().__init__(_ReportAnswer, port)


class _ReportAnswer(Answer):
    """Answers what is asked of a report."""

    server: _ReportServer

    def answer(self, asked: SplitResult) -> None:
        """Answer what is asked for: the page, the document, or what is new."""
        match asked.path:
            case "/":
                self._send(HTTPStatus.OK, "text/html", render(self.server.followed.document()))
            case "/document.json":
                text = json.dumps(self.server.followed.document(), separators=(",", ":"))
                self._send(HTTPStatus.OK, "application/json", text)
            case "/events":
                self._follow(parse_qs(asked.query))
            case _:
                super().answer(asked)

    def _follow(self, query: dict[str, list[str]]) -> None:
        """Send what is new until there is no more."""
        after, texts = (_number(query.get(name, ["0"])[0]) for name in ("after", "strings"))
        if not self.server.pages.acquire(blocking=False):
            self._send(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", "Too many pages follow this run.\n")
            return
        try:
            self._head(HTTPStatus.OK, "text/event-stream")
            self.end_headers()
            self.close_connection = True
            self._events(after, texts)
        finally:
            self.server.pages.release()

    def _events(self, after: int, texts: int) -> None:
        last: Mapping[str, object] = {}
        looks = 0
        while True:
            news = self.server.followed.news(after, texts)
            if news and news != last:
                self.wfile.write(f"data: {json.dumps(news, separators=(',', ':'))}\n\n".encode())
                if news.get("ended"):
                    return
                after = max([after, *(step["n"] for step in news.get("steps", ()))])
                texts += len(news.get("strings", ()))
                last, looks = {key: each for key, each in news.items() if key not in ("steps", "strings")}, 0
                if news.get("steps"):
                    continue
            looks += 1
            if looks % _QUIET_LOOKS == 0:
                self.wfile.write(b": wait\n\n")
            self.wfile.flush()
            if self.server.ending.wait(PAUSE):
                return


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 0


@contextmanager
def serving(
    path: Path, consent: Consent | None = None, *, port: int = 0
) -> Iterator[tuple[str, threading.Event]]:
    """Serve the report on a path; give its address, and what is set when the server has ended by itself."""
    followed = Followed(path, consent)
    server = _ReportServer(followed, port)
    with server.listening() as address:
        try:
            yield address, server.ending
        finally:
            server.ending.set()
            followed.close()


@contextmanager
def serving_page(page: Callable[[], str], *, port: int = 0) -> Iterator[str]:
    """Serve a page as it is whenever it is asked for; give its address."""

    class PageAnswer(Answer):
        """Answers with the page."""

        def answer(self, asked: SplitResult) -> None:
            """Answer what is asked for, if that is the page."""
            if asked.path == "/":
                self._send(HTTPStatus.OK, "text/html", page())
            else:
                super().answer(asked)

    with LocalServer(PageAnswer, port).listening() as address:
        yield address
