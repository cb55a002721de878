"""The server of `penstock report --serve`, asked by strangers."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tests.malicious_traces import steering, write_hostile

from bench.hostile.attack import Attack, demand
from penstock._report.serving import serving

KIND: Final = "servers"
_WAIT_S: Final = 20.0


def _answer(port: int, request: bytes, host: str = "127.0.0.1") -> bytes:
    found = b""
    with socket.create_connection((host, port), timeout=_WAIT_S) as caller:
        # It may hang up before it has heard all.
        with contextlib.suppress(TimeoutError, ConnectionError):
            caller.sendall(request)
            caller.shutdown(socket.SHUT_WR)
        with contextlib.suppress(TimeoutError, ConnectionError):
            while data := caller.recv(65536):
                found += data
    return found


def _get(path: str, host: str, method: str = "GET", more: str = "") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n".encode()


def _status(answer: bytes) -> int:
    words = answer.split(None, 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def _served(ask: Callable[[int, Path], str], folder: Path) -> str:
    run = folder / "run"
    run.mkdir()
    (folder / "secret.txt").write_text("secret")
    write_hostile(run / "trace.jsonl", steering(), engine="fuzz")
    with serving(run) as (address, _):
        port = urlsplit(address).port
        assert port is not None
        told = ask(port, run)
        # It still serves whoever may ask.
        demand(_status(_answer(port, _get("/", f"127.0.0.1:{port}"))) == 200, "it serves nobody any more")
    return told


def _refused(path: str, host: str, method: str, port: int, _run: Path) -> str:
    answer = _answer(port, _get(path, host.format(port=port), method))
    status = _status(answer)
    demand(status >= 400, f"answered with {status}")
    demand(b"secret" not in answer, "it gave the file away")
    return f"answered with {status}"


def _garbage(request: bytes, port: int, _run: Path) -> str:
    status = _status(_answer(port, request))
    demand(status == 0 or status >= 400, f"answered with {status}")
    return f"answered with {status}" if status else "hung up"


def _elsewhere(port: int, _run: Path) -> str:
    # Where the machine has no other interface, the loopback's other addresses will do.
    own = socket.gethostbyname(socket.gethostname())
    own = "127.0.0.2" if own == "127.0.0.1" else own
    try:
        _answer(port, b"GET / HTTP/1.0\r\n\r\n", own)
    except OSError:
        return "refused"
    demand(False, "it listens on all addresses")
    return ""


def _many(port: int, _run: Path) -> str:
    waiting = [socket.create_connection(("127.0.0.1", port), timeout=_WAIT_S) for _ in range(100)]
    status = _status(_answer(port, _get("/", f"127.0.0.1:{port}")))
    for each in waiting:
        each.close()
    demand(status == 200, "callers who say nothing keep others from being served")
    return "others are served"


def _policy(port: int, _run: Path) -> str:
    answer = _answer(port, _get("/", f"127.0.0.1:{port}")).lower()
    page = answer.partition(b"\r\n\r\n")[2]
    demand(b"content-security-policy" in answer, "the page has no content security policy")
    demand(b"<b>&lt;" not in page, "a trace's text is markup")
    demand(b"access-control-allow-origin" not in answer, "other pages may read it")
    return "a policy, no markup of the trace's"


OWN: Final = "127.0.0.1:{port}"

ASKED: Final[tuple[tuple[str, str, Callable[[int, Path], str]], ...]] = (
    ("a name that leads to this machine (rebinding)", "refused", partial(_refused, "/", "evil.example", "GET")),
    ("the document under another name", "refused", partial(_refused, "/document.json", "evil.example:80", "GET")),
    ("a way out of the folder", "refused", partial(_refused, "/../secret.txt", OWN, "GET")),
    ("a way out of the folder, encoded", "refused", partial(_refused, "/%2e%2e/secret.txt", OWN, "GET")),
    ("a file by its absolute path", "refused", partial(_refused, "//etc/passwd", OWN, "GET")),
    ("POST", "refused", partial(_refused, "/", OWN, "POST")),
    ("PUT", "refused", partial(_refused, "/document.json", OWN, "PUT")),
    ("a request that is no HTTP", "refused", partial(_garbage, b"\x00\xff" * 5000 + b"\r\n\r\n")),
    ("a header of 10 MB", "refused", partial(_garbage, b"GET / HTTP/1.1\r\nX: " + b"x" * 10_000_000 + b"\r\n\r\n")),
    ("another address of the machine", "refused", _elsewhere),
    ("100 callers who say nothing", "others are served", _many),
    ("markup in a trace", "text, and a content security policy", _policy),
)  # fmt: skip


def attacks() -> Iterator[Attack]:
    """Yield the attacks of this kind."""
    for name, expected, ask in ASKED:
        yield Attack(KIND, name, expected, partial(_served, ask))
