"""Controllers that are processes of their own and say, print or do what no controller should."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from bench.hostile.attack import Attack, demand, penstock
from penstock._controllers.tcp.ports import free_port

KIND: Final = "controllers over TCP"

_PROGRAM: Final = """\
import os, signal, socket, struct, subprocess, sys, threading, time

HELLO = struct.pack("!BBHI", 4, 0, 8, 1)
FEATURES = struct.pack("!BBHI", 4, 5, 8, 2)

def listen():
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", int(sys.argv[1])))
    server.listen()
    return server

def sessions(then):
    server = listen()
    while True:
        session, _ = server.accept()
        threading.Thread(target=guarded, args=(then, session), daemon=True).start()

def guarded(then, session):
    try:
        then(session)
    except OSError:
        pass

def serve(*messages, pause=0.0, rounds=1):
    def then(session):
        session.sendall(HELLO + FEATURES)
        for _ in range(rounds):
            for message in messages:
                session.sendall(message)
                time.sleep(pause)
        while session.recv(65536):
            pass
    sessions(then)

"""


class Process(NamedTuple):
    """A controller: what it does, and what must come of it."""

    name: str
    code: str
    expected: str
    statuses: tuple[int, ...] = (0, 1, 2, 3)
    tells: str = ""


_STEERING: Final = r"b'\x1b[2J\x1b]0;x\x07 \xff\xfe \xe2\x80\xae\n'"

PROCESSES: Final = (
    Process("it ends at once", "sys.exit(0)", "one sentence, exit 2", (2,), "ended with status 0"),
    Process("it never listens", "signal.pause()", "bounded, exit 3, within the limit", (3,), "were not ready"),
    Process("it listens and says nothing", "sessions(lambda s: signal.pause() if False else time.sleep(1000))", "an end, and no all-clear", (1, 2, 3)),
    Process("it hangs up at once", "sessions(lambda s: s.close())", "an end, and no all-clear", (1, 2, 3)),
    Process("bytes that are no OpenFlow", "sessions(lambda s: (s.sendall(os.urandom(100_000)), s.recv(1)))", "the session ends", (1, 2, 3)),
    Process("an HTTP answer", "sessions(lambda s: (s.sendall(b'HTTP/1.1 200 OK\\r\\n\\r\\n' * 1000), s.recv(1)))", "the session ends", (1, 2, 3)),
    Process("a version that nobody speaks", "sessions(lambda s: (s.sendall(struct.pack('!BBHI', 99, 0, 8, 1)), s.recv(1)))", "the session ends", (1, 2, 3)),
    Process("a message of length 0", "serve(struct.pack('!BBHI', 4, 2, 0, 1))", "the session ends", (1, 2, 3)),
    Process("half a message, then nothing", "serve(struct.pack('!BBHI', 4, 14, 65535, 1))", "an end", (0, 1, 2, 3)),
    Process("unknown types", "serve(*(struct.pack('!BBHI', 4, kind, 8, kind) for kind in range(30, 255)))", "errors, as the specification says", (0, 1, 2, 3)),
    Process("a storm of echo requests", "serve(struct.pack('!BBHI', 4, 2, 8, 1) * 1000, rounds=1000)", "an end", (0, 1, 2, 3)),
    Process("a storm of barriers", "serve(struct.pack('!BBHI', 4, 20, 8, 1) * 1000, rounds=300)", "an end", (0, 1, 2, 3)),
    Process("echo requests of 64 KB that nobody reads the answers to", "sessions(lambda s: (s.sendall(HELLO), [s.sendall(struct.pack('!BBHI', 4, 2, 65000, 1) + bytes(64992)) for _ in range(3000)]))", "an end", (0, 1, 2, 3)),
    Process("mutated flow-mods", "import random; random.seed(1); serve(*(struct.pack('!BBHI', 4, 14, 56, n) + random.randbytes(48) for n in range(2000)))", "errors, as the specification says", (0, 1, 2, 3)),
    Process("truncated multipart requests", "serve(*(struct.pack('!BBHI', 4, 18, 16, n) + struct.pack('!HHI', n, 1, 0) for n in range(400)))", "errors, as the specification says", (0, 1, 2, 3)),
    Process("escape sequences printed", f"sys.stdout.buffer.write({_STEERING} * 100); sys.stdout.flush(); serve()", "spelt out", (0, 1, 2, 3)),
    Process("output without end", "threading.Thread(target=lambda: [print('x' * 1000) for _ in range(200_000)], daemon=True).start(); serve()", "an end", (0, 1, 2, 3)),
    Process("a line of 50 MB", "sys.stdout.write('x' * 50_000_000); sys.stdout.flush(); serve()", "an end", (0, 1, 2, 3)),
    Process("SIGTERM ignored", "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN); serve()", "it is ended", (0, 1, 2, 3)),
    Process("a daemon left behind", "if not os.fork():\n    os.setsid()\n    if not os.fork(): signal.pause()\n    os._exit(0)\nserve()", "nothing is left", (0, 1, 2, 3)),
    Process("it stops itself", "threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGSTOP)).start(); serve()", "an end; nothing is left", (0, 1, 2, 3)),
    Process("it listens on another port", "sys.argv[1] = '0'; server = listen(); signal.pause()", "bounded, exit 3, within the limit", (3,), "were not ready"),
)  # fmt: skip


def _attempt(each: Process, folder: Path) -> str:
    (folder / "controller.py").write_text(_PROGRAM + each.code)
    command = f"{sys.executable} -u controller.py {{port}}"
    (folder / "hostile.toml").write_text(
        'topology = "linear,2"\n[controller]\n'
        f"cmd = {command!r}\nport = {free_port()}\n"
        "[fuzz]\nevents = 5\nseconds = 4\n"
    )
    done = penstock(folder, "fuzz", "hostile.toml")
    told = f"exit {done.status}: {done.last_line[:160]}"
    demand(done.status in each.statuses, told)
    demand(each.tells in done.said, f"{each.tells!r} was not told; {told}")
    demand(done.seconds < 60, f"it took {done.seconds} s")
    return told


def attacks() -> Iterator[Attack]:
    """Yield the attacks of this kind."""
    for each in PROCESSES:
        yield Attack(KIND, each.name, each.expected, partial(_attempt, each))
