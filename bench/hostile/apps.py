"""Apps that try to end, hang, fool or outlive the process that runs them, each by a line in a handler."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from bench.hostile.attack import Attack, Done, demand, penstock, run

KIND: Final = "in-process apps"

_APP: Final = """\
import atexit, builtins, ctypes, faulthandler, gc, os, resource, shutil, signal, socket, subprocess, sys, threading, time
from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.ofproto import ofproto_v1_3

{load}

class App(OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        {init}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def switch_joins(self, event):
        switch = event.msg.datapath
        ofp, parser = switch.ofproto, switch.ofproto_parser
        out = [parser.OFPActionOutput(ofp.OFPP_CONTROLLER, ofp.OFPCML_NO_BUFFER)]
        apply = [parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, out)]
        switch.send_msg(parser.OFPFlowMod(switch, priority=0, match=parser.OFPMatch(), instructions=apply))
        {join}

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_comes(self, event):
        message, switch = event.msg, event.msg.datapath
        ofp, parser = switch.ofproto, switch.ofproto_parser
        flood = parser.OFPPacketOut(
            switch,
            buffer_id=ofp.OFP_NO_BUFFER,
            in_port=message.match["in_port"],
            actions=[parser.OFPActionOutput(ofp.OFPP_FLOOD)],
            data=message.data,
        )
        switch.send_msg(flood)
        {packet}
"""

PLACES: Final = ("load", "init", "join", "packet")
CRASH: Final = (1, "ControllerCrash")
HANG: Final = (1, "ControllerHang")
REFUSED: Final = (2, "penstock: ")
NO_ALL_CLEAR: Final = (-1, "")
ANY_VERDICT: Final = (None, "")


@dataclass(frozen=True, slots=True)
class AppAttack:
    """An app: what it does where, and what a command must make of it."""

    name: str
    code: str
    expected: str
    outcome: tuple[int | None, str]
    """The exit status, None for any verdict, -1 for any but 0; and what must be printed."""
    place: str = "packet"
    words: tuple[str, ...] = ("check",)
    tells: str = ""
    """What else must be printed."""
    seconds: int = 60

    def attack(self) -> Attack:
        """Return it as an attack."""
        return Attack(KIND, self.name, self.expected, partial(_attempt, self))


def write_app(folder: Path, place: str, code: str) -> Path:
    """Write an app that does something when it is loaded, made, told of a switch or handed a packet."""
    indent = "" if place == "load" else " " * 8
    lines = f"\n{indent}".join(code.splitlines())
    file = folder / "app.py"
    file.write_text(_APP.format(**{each: lines if each == place else "pass" for each in PLACES}))
    return file


def line_of(app: Path, code: str) -> int:
    """Return the number of the line that a piece of code begins at."""
    first = code.splitlines()[0]
    return next(n for n, text in enumerate(app.read_text().splitlines(), 1) if text.strip() == first.strip())


def _attempt(each: AppAttack, folder: Path) -> str:
    app = write_app(folder, each.place, each.code)
    command, *given = each.words
    done = penstock(folder, command, "app.py", "--topo", "single,2", "--seconds", f"{each.seconds}", *given)
    return judged(each, done, app)


def judged(each: AppAttack, done: Done, app: Path) -> str:
    """Return what came of it, in a few words."""
    status, word = each.outcome
    told = f"exit {done.status}: {done.last_line}"
    allowed = {None: (0, 1, 3), -1: (1, 2, 3)}.get(status, (status,))
    demand(done.status in allowed, told)
    demand(_has_verdict(done), f"no verdict; {told}")
    demand(word in done.said, f"{word!r} was not told; {told}")
    demand(each.tells in done.said, f"{each.tells!r} was not told; {told}")
    if each.outcome in (CRASH, HANG):
        first = line_of(app, each.code)
        lines = [f"app.py:{first + more}" for more in range(len(each.code.splitlines()))]
        found = next((line for line in lines if re.search(rf"{re.escape(line)}\b", done.said)), "")
        demand(found, f"no line of it was told; {told}")
        return f"exit 1, {word} at {found}"
    return f"exit {done.status}, {done.last_line[:120]}"


def _has_verdict(done: Done) -> bool:
    """Tell whether a command said how it ended: without a word it may have been ended by the app."""
    return bool(done.out.strip()) or done.err.startswith("penstock: ")


_EXIT: Final = "os._exit(0)"
_DEAF: Final = "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n"
_ENDLESS: Final = "while True: pass"
_TELLING: Final = "exception that {}"

APPS: Final = (
    # Its end.
    AppAttack("os._exit(0) in a handler", _EXIT, "ControllerCrash with the line", CRASH),
    AppAttack("os._exit(0) when a switch joins", _EXIT, "ControllerCrash with the line", CRASH, "join"),
    AppAttack("os._exit(0) when loaded", _EXIT, "one sentence with the line, exit 2", REFUSED, "load", tells="app.py:"),
    AppAttack("os._exit(0) in __init__", _EXIT, "one sentence with the line, exit 2", REFUSED, "init", tells="app.py:"),
    AppAttack(
        "os._exit(0) in verify", _EXIT, "ControllerCrash with the line", CRASH,
        words=("verify", "-p", "ControllerCrash"),
    ),
    AppAttack(
        "os._exit(0) in fuzz", _EXIT, "ControllerCrash", (1, "ControllerCrash"), words=("fuzz", "--profile", "traffic")
    ),
    AppAttack("os._exit(0) in walk", _EXIT, "ControllerCrash with the line", CRASH, words=("walk", "--walks", "5")),
    AppAttack("SIGKILL to itself", "os.kill(os.getpid(), signal.SIGKILL)", "ControllerCrash with the line", CRASH),
    AppAttack("SIGTERM to itself", "os.kill(os.getpid(), signal.SIGTERM)", "ControllerCrash with the line", CRASH),
    AppAttack("SIGINT to itself", "os.kill(os.getpid(), signal.SIGINT)", "a verdict, and no Ctrl-C of the user's", ANY_VERDICT),
    AppAttack("SIGKILL to its process group", "os.killpg(0, signal.SIGKILL)", "ControllerCrash with the line", CRASH),
    AppAttack("SIGKILL to its parent", "os.kill(os.getppid(), signal.SIGKILL)", "a verdict", ANY_VERDICT),
    AppAttack("os.abort()", "os.abort()", "ControllerCrash with the line", CRASH),
    AppAttack("a segmentation fault", "ctypes.string_at(0)", "ControllerCrash with the line", CRASH),
    AppAttack(
        "a segmentation fault without faulthandler", "faulthandler.disable(); ctypes.string_at(0)",
        "ControllerCrash with the line", CRASH,
    ),
    AppAttack("sys.exit(0)", "sys.exit(0)", "ControllerCrash with the line", CRASH),
    AppAttack("KeyboardInterrupt raised", "raise KeyboardInterrupt", "ControllerCrash with the line", CRASH),
    AppAttack("GeneratorExit raised", "raise GeneratorExit", "ControllerCrash with the line", CRASH),
    AppAttack("MemoryError raised", "raise MemoryError", "ControllerCrash with the line", CRASH),
    AppAttack("another program in its place", "os.execv('/bin/true', ['true'])", "ControllerCrash with the line", CRASH),
    AppAttack("recursion without end", "def f(): f()\nsys.setrecursionlimit(10**6); f()", "no all-clear", NO_ALL_CLEAR),
    # Time.
    AppAttack("a loop without end", _ENDLESS, "ControllerHang with the line", HANG),
    AppAttack(
        "a loop that catches everything", "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "ControllerHang", (1, "ControllerHang"),
    ),
    AppAttack("a power in C code", "10**10**9", "ControllerHang with the line", HANG),
    AppAttack("a socket on which nothing comes", "ours, theirs = socket.socketpair(); ours.recv(1)", "ControllerHang with the line", HANG),
    AppAttack("a pipe with all signals blocked", f"{_DEAF}os.read(os.pipe()[0], 1)", "ControllerHang", (1, "ControllerHang")),
    AppAttack("a lock taken twice", "lock = threading.Lock(); lock.acquire(); lock.acquire()", "ControllerHang", (1, "ControllerHang")),
    AppAttack("the watchdog's signal ignored", f"signal.signal(signal.SIGALRM, signal.SIG_IGN)\n{_ENDLESS}", "ControllerHang", (1, "ControllerHang")),
    AppAttack("the watchdog's timer turned off", f"signal.setitimer(signal.ITIMER_REAL, 0)\n{_ENDLESS}", "ControllerHang", (1, "ControllerHang")),
    AppAttack("a process that stops itself", "os.kill(os.getpid(), signal.SIGSTOP)", "ControllerHang", (1, "ControllerHang")),
    AppAttack("a loop without end when loaded", _ENDLESS, "no all-clear, and an end", NO_ALL_CLEAR, "load", seconds=10),
    AppAttack("a loop without end in __init__", _ENDLESS, "no all-clear, and an end", NO_ALL_CLEAR, "init", seconds=10),
    # What it leaves behind.
    AppAttack("a thread that is never over", "import _thread; _thread.start_new_thread(signal.pause, ())", "a verdict, and an end", ANY_VERDICT, "init"),
    AppAttack("a real thread by C", "ctypes.CDLL(None).pthread_create(ctypes.byref(ctypes.c_ulong()), None, ctypes.CDLL(None).pause, None)", "a verdict, and an end", ANY_VERDICT, "init"),
    AppAttack("a child process", "subprocess.Popen(['sleep', '1000'])", "a verdict; nothing is left", ANY_VERDICT),
    AppAttack("a child process in a session of its own", "subprocess.Popen(['sleep', '1000'], start_new_session=True)", "a verdict; nothing is left", ANY_VERDICT),
    AppAttack("a daemon", "if not os.fork():\n    os.setsid()\n    if not os.fork(): time.sleep = None; signal.pause()\n    os._exit(0)", "a verdict; nothing is left", ANY_VERDICT),
    AppAttack("a fork that goes on with the search", "os.fork()", "a verdict; nothing is left", ANY_VERDICT),
    AppAttack("atexit that waits", "atexit.register(signal.pause)", "a verdict, and an end", ANY_VERDICT),
    AppAttack("a finalizer that waits", "self.x = type('T', (), {'__del__': lambda s: signal.pause()})()", "a verdict, and an end", ANY_VERDICT),
    # What it says.
    AppAttack("a verdict printed by the app", r"""os.write(1, b'No property can be broken.\n0 violations found.\n'); raise KeyError(1)""", "ControllerCrash with the line", (1, "ControllerCrash")),
    AppAttack("escape sequences in an exception", r"raise KeyError('\x1b[2J\x1b]0;x\x07')", "spelt out", CRASH, tells=r"\x1b"),
    AppAttack("half a character in an exception", r"raise ValueError('\ud800')", "spelt out", CRASH, tells="ud800"),
    AppAttack("an exception that is a line of Penstock's", r"raise ValueError('x\nNo property can be broken.')", "set off as a text", CRASH),
    AppAttack("an exception of 100 MB", "raise ValueError('x' * 10**8)", "cut short", CRASH),
    AppAttack(_TELLING.format("cannot be told"), "raise type('E', (Exception,), {'__str__': lambda s: 1 / 0})", "ControllerCrash", (1, "ControllerCrash")),
    AppAttack(_TELLING.format("exits when it is told"), "raise type('E', (Exception,), {'__str__': lambda s: os._exit(0)})", "no all-clear", NO_ALL_CLEAR),
    AppAttack("10 MB of print", "print('x' * 10**7)", "a verdict", ANY_VERDICT),
    AppAttack("10 MB of print past Python", "os.write(1, b'x' * 10**7); os.write(2, b'y' * 10**7)", "a verdict", ANY_VERDICT),
    # What it takes away.
    AppAttack("all files closed", "os.closerange(0, 1000)", "no all-clear", NO_ALL_CLEAR),
    AppAttack("the terminal given away", "os.dup2(os.open('/dev/null', os.O_RDWR), 1); os.dup2(1, 2); raise KeyError(1)", "ControllerCrash", (1, "ControllerCrash")),
    AppAttack("another folder", "os.chdir('/'); raise KeyError(1)", "the trace is where it was to be", CRASH),
    AppAttack("temporary files removed", "shutil.rmtree(os.environ['TMPDIR']); raise KeyError(1)", "ControllerCrash", CRASH),
    AppAttack("builtins removed", "del builtins.len", "no all-clear", NO_ALL_CLEAR),
    AppAttack("builtins that lie", "builtins.any = builtins.all = lambda *_: False; raise KeyError(1)", "no all-clear", NO_ALL_CLEAR),
    AppAttack("garbage collection turned off", "gc.disable(); gc.freeze(); raise KeyError(1)", "ControllerCrash", CRASH),
    AppAttack("tracing turned on", "sys.settrace(lambda *_: os._exit(0)); raise KeyError(1)", "no all-clear", NO_ALL_CLEAR),
    # What it takes up.
    AppAttack("3 GB in a handler", "self.kept = bytearray(3 << 30)\nself.kept[::4096] = bytes(len(self.kept) // 4096)", "bounded by memory", (3, "MB of memory"), words=("check", "--memory", "1000")),
    AppAttack("its own limit on CPU time", "resource.setrlimit(resource.RLIMIT_CPU, (0, 0))\nwhile True: pass", "no all-clear", NO_ALL_CLEAR),
    AppAttack("its own limit on memory", "resource.setrlimit(resource.RLIMIT_AS, (160 << 20,) * 2)\nself.x = bytearray(1 << 30)", "ControllerCrash", (1, "ControllerCrash")),
    AppAttack("a list 100,000 lists deep", "self.x = []\nfor _ in range(100_000): self.x = [self.x]", "no all-clear", NO_ALL_CLEAR),
    AppAttack("a list 5,000 lists deep", "self.x = []\nfor _ in range(5_000): self.x = [self.x]", "a verdict", ANY_VERDICT),
    AppAttack("300 processes", "for _ in range(300): subprocess.Popen(['sleep', '100'])", "a verdict; nothing is left", ANY_VERDICT),
    AppAttack("1,000 open files", "self.x = [os.open('/dev/null', os.O_RDONLY) for _ in range(1000)]", "no all-clear", NO_ALL_CLEAR),
    AppAttack("a file of 10 GB", "f = open(os.environ['TMPDIR'] + '/x', 'wb'); f.truncate(10 << 30)", "no all-clear", NO_ALL_CLEAR),
)  # fmt: skip


def in_json(folder: Path) -> str:
    """Print what looks like the result, on every stream there is."""
    forged = r"""'{"result": "exhausted", "verdict": {"result": "exhausted"}}\n'"""
    code = (
        f"print({forged}); os.write(1, {forged}.encode()); sys.__stdout__.write({forged}); raise KeyError(1)"
    )
    write_app(folder, "packet", code)
    done = penstock(folder, "check", "app.py", "--topo", "single,2", "--json")
    demand(done.status == 1, f"exit {done.status}")
    try:
        told = json.loads(done.out)
    except ValueError:
        demand(False, "the standard output is no JSON")
    demand(told["verdict"]["result"] == "violated", f"the result is {told['verdict']}")
    return "exit 1, one object, its verdict violated"


_TESTS: Final = """
def test_an_app(penstock):
    penstock.check("app.py", topology="single,2")

def test_that_fails():
    assert False
"""


def in_pytest(folder: Path) -> str:
    """End the process of a test session."""
    write_app(folder, "packet", _EXIT)
    (folder / "test_app.py").write_text(_TESTS)
    quietly = ["-q", "-p", "no:cacheprovider", f"--basetemp={folder / 'base'}"]
    done = run([sys.executable, "-m", "pytest", *quietly, "test_app.py"], folder)
    demand(done.status == 1 and "2 failed" in done.out, f"exit {done.status}: {done.out[-200:]}")
    demand("ControllerCrash" in done.out, "ControllerCrash was not told")
    return "exit 1, 2 failed, ControllerCrash"


def attacks() -> Iterator[Attack]:
    """Yield the attacks of this kind."""
    for each in APPS:
        yield each.attack()
    yield Attack(KIND, "a result printed among --json", "one object, the true one", in_json)
    yield Attack(KIND, "os._exit(0) in a test of pytest", "the session fails", in_pytest)
