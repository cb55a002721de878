"""What is around a command: its streams, its environment, the folder that it is in, and the files it is given.

Most of it is no more than broken; some of it is put there by whoever wrote the folder that a person looks at.
"""

from __future__ import annotations

import os
import resource
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from tests.cli.hostile_traces import CANARY, HOSTILE, canary_code, hostile_run
from tests.malicious_traces import STEERING, write_hostile

from bench.hostile.apps import write_app
from bench.hostile.attack import Attack, Done, demand, run
from bench.hostile.files import real_trace_of

SCENARIOS: Final = "scenarios and what they name"
AROUND: Final = "streams, environments, folders"

_PENSTOCK: Final = f"{shlex.quote(sys.executable)} -P -m penstock"
"""As it is when it is installed: without the folder that one is in among those that modules come from."""
_SCENARIO: Final = """\
topology = "single,2"
[controller]
native = "app.py:App"
[hosts.h1]
kind = "client"
to = "h2"
"""
_NATIVE: Final = """\
import os, signal, sys
from penstock import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import NO_MAX_LEN, PortNo

class App(Controller):
    def switch_join(self, switch):
        self.install(switch, actions=(Output(PortNo.CONTROLLER, NO_MAX_LEN),), priority=0)

    def packet_in(self, switch, message):
        {packet}
        self.packet_out(switch, message, FLOOD)
"""
ENDS: Final = (0, 1, 2, 3)
NO_ALL_CLEAR: Final = (1, 2, 3)
REFUSED: Final = (2,)
FOUND: Final = (1,)


@dataclass(frozen=True, slots=True)
class Case:
    """Files, a line for the shell, and what must come of it."""

    name: str
    line: str
    expected: str
    statuses: tuple[int, ...] = ENDS
    tells: str = ""
    packet: str = "raise KeyError('found')"
    """What the native controller does with a packet."""
    files: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[int, int] = field(default_factory=dict)
    prepare: Callable[[Path], object] = lambda _: None
    is_quiet: bool = False
    """Whether nobody can hear what is said."""
    kind: str = AROUND

    def attack(self) -> Attack:
        """Return it as an attack."""
        return Attack(self.kind, self.name, self.expected, partial(_attempt, self))


def _attempt(case: Case, folder: Path) -> str:
    place = folder / "run"
    place.mkdir()
    (place / "app.py").write_text(_NATIVE.format(packet=case.packet.replace("\n", "\n        ")))
    (place / "some.toml").write_text(_SCENARIO)
    for name, text in case.files.items():
        (place / name).write_text(text.replace("CANARY", canary_code(place)))
    case.prepare(place)
    line = case.line.replace("penstock ", f"{_PENSTOCK} ")
    done = run(["bash", "-c", line], place, environment=case.environment, limits=case.limits)
    return _judged(case, done, place)


def _judged(case: Case, done: Done, place: Path) -> str:
    told = f"exit {done.status}: {done.last_line[:120]}"
    demand(not (place / CANARY).exists(), f"it ran; {told}")
    demand(done.status in case.statuses, told)
    demand(case.is_quiet or done.said.strip(), f"not a word; {told}")
    demand(case.tells in done.said, f"{case.tells!r} was not told; {told}")
    demand(done.status != 2 or case.is_quiet or done.err.count("\n") <= 3, f"no sentence; {done.err[:200]}")
    demand(done.seconds < 100, f"it took {done.seconds} s")
    return told


_CHECK: Final = "penstock check some.toml"


def _trace(place: Path) -> None:
    """Have a trace of a stranger's there, with code beside it that nobody asked for."""
    hostile = next(each for each in HOSTILE if each.engine == "check" and not each.is_python)
    trace = hostile_run(place / "theirs", hostile, real_trace_of(hostile.engine))
    for name in _STANDARD:
        (trace.parent / f"{name}.py").write_text(canary_code(place))
    (trace.parent / "penstock.toml").write_text(_SCENARIO)
    (trace.parent / "pyproject.toml").write_text("[tool.penstock]\ntrust = true\n")
    trace.rename(trace.parent / "trace.jsonl")


_STANDARD: Final = (
    *("sitecustomize", "usercustomize", "json", "pathlib", "random", "logging", "socket", "enum", "click"),
    *("rich", "msgspec", "os_ken", "ryu", "conftest", "setup", "penstock", "__init__", "__main__"),
)
_LOOKING: Final = " && ".join(
    f"penstock {words}"
    for words in (
        *(
            "show trace.jsonl",
            "show --picture trace.jsonl",
            "report trace.jsonl -o x.html",
            "openflow trace.jsonl",
        ),
        *("export dot trace.jsonl -o x.dot", "diff trace.jsonl trace.jsonl", "trace-packet trace.jsonl"),
    )
)


def _fifo(name: str) -> Callable[[Path], object]:
    return lambda place: os.mkfifo(place / name)


def _link(name: str, to: str) -> Callable[[Path], object]:
    return lambda place: (place / name).symlink_to(to)


def _sparse(place: Path) -> None:
    with (place / "trace.jsonl").open("wb") as file:
        file.truncate(5 << 30)


def _loops(place: Path) -> None:
    (place / "apps").mkdir()
    (place / "apps" / "again").symlink_to(".")
    (place / "apps" / "up").symlink_to("..")
    (place / "apps" / "self.py").symlink_to("self.py")
    (place / "apps" / "gone.py").symlink_to("nowhere.py")
    os.mkfifo(place / "apps" / "pipe.py")
    os.mkfifo(place / "apps" / "pipe.toml")


def _unnameable(place: Path) -> None:
    (place / "app.py").rename(os.fsdecode(bytes(place) + b"/\xff\xfe.py"))


_SHADOWS: Final = {
    f"{name}.py": "raise SystemExit(0)\n" for name in ("random", "logging", "socket", "ipaddress")
}
_HUGE: Final = f'topology = "single,2"\nx = {"[" * 20_000}{"]" * 20_000}\n'


def _toml(changed: str, more: str = "") -> dict[str, str]:
    return {"some.toml": _SCENARIO.replace('topology = "single,2"', changed) + more}


_TWICE: Final = {"some.toml": f"{_SCENARIO}count = 3\n"}

CASES: Final = (
    # Streams.
    Case("standard input is closed", f"{_CHECK} <&-", "the finding is told", FOUND, "found"),
    Case("standard output is closed", f"{_CHECK} >&-", "the verdict's status", FOUND, is_quiet=True),
    Case("standard error is closed", f"{_CHECK} 2>&-", "the finding is told", FOUND, "found"),
    Case("all streams are closed", f"{_CHECK} <&- >&- 2>&-", "the verdict's status", FOUND, is_quiet=True),
    Case("all streams are closed in fuzz", "penstock fuzz some.toml --events 20 <&- >&- 2>&-", "an end", NO_ALL_CLEAR, is_quiet=True),
    Case("nobody reads what is printed", f"{_CHECK} | true; exit ${{PIPESTATUS[0]}}", "the verdict's status", FOUND, is_quiet=True),
    Case("nobody reads --json", f"{_CHECK} --json | true; exit ${{PIPESTATUS[0]}}", "the verdict's status", FOUND, is_quiet=True),
    Case("standard output is read only", f"{_CHECK} 1</dev/null", "the verdict's status", FOUND, is_quiet=True),
    Case("both streams are full", f"{_CHECK} >/dev/full 2>&1", "the verdict's status", FOUND, is_quiet=True),
    # The environment.
    Case("no locale", _CHECK, "the finding is told", FOUND, "found", "raise KeyError('found \\u2713 \\U0001f600')", environment={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    Case("an encoding that has few letters", _CHECK, "the finding is told", FOUND, "found", "raise KeyError('found \\u2713 \\U0001f600')", environment={"PYTHONIOENCODING": "ascii:strict"}),
    Case("a locale that does not exist", _CHECK, "the finding is told", FOUND, "found", environment={"LC_ALL": "xx_YY.nowhere"}),
    Case("a time zone that does not exist", _CHECK, "the finding is told", FOUND, "found", environment={"TZ": ":/dev/zero/../../x<-99>99:99:99"}),
    Case("a terminal of no width", _CHECK, "the finding is told", FOUND, "found", environment={"COLUMNS": "-5", "LINES": "0", "TERM": "nothing-like-this"}),
    Case("a terminal of any width", _CHECK, "the finding is told", FOUND, "found", environment={"COLUMNS": "99999999999999999999"}),
    Case("no home and no temporary folder", _CHECK, "one sentence or a verdict", NO_ALL_CLEAR, environment={"HOME": "/nonexistent", "TMPDIR": "/nonexistent"}),
    Case("assertions and the hash seed", _CHECK, "the finding is told", FOUND, "found", environment={"PYTHONOPTIMIZE": "2", "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1"}),
    Case("a mask that lets nobody read", f"umask 777; {_CHECK}; penstock show penstock-traces/some-1.jsonl", "a verdict", ENDS),
    Case("a folder that is gone", f"mkdir x; cd x; rmdir ../x; {_CHECK.replace('some', '../run/some')}", "one sentence", REFUSED),
    Case("files of 10 kB at most", _CHECK, "the finding is told", FOUND, "found", limits={resource.RLIMIT_FSIZE: 10_000}),
    Case("a stack of 256 kB", _CHECK, "one sentence or a verdict", NO_ALL_CLEAR, limits={resource.RLIMIT_STACK: 256 << 10}),
    Case("signals ignored by whoever started it", f"trap '' PIPE TERM HUP CHLD ALRM INT; {_CHECK}", "the finding is told", FOUND, "found"),
    # Folders of strangers.
    Case("modules that nobody asked for beside a trace, looked at", f"cd theirs; {_LOOKING}", "nothing runs", (0, 2), prepare=_trace),
    Case("modules that nobody asked for beside a trace, run again", "cd theirs; penstock replay trace.jsonl", "refused without consent", REFUSED, prepare=_trace),
    Case("modules that nobody asked for beside a trace, made small", "cd theirs; penstock minimize .", "refused without consent", REFUSED, prepare=_trace),
    Case("a stranger's folder among pytest's", f"cd theirs; rm conftest.py; {shlex.quote(sys.executable)} -P -m pytest -q -p no:cacheprovider trace.jsonl", "nothing runs", (1, 2, 3, 4, 5), prepare=_trace),
    Case("PYTHONSTARTUP in a stranger's folder", "penstock step --plain some.toml", "nothing runs", ENDS, files={"evil.py": "CANARY"}, environment={"PYTHONSTARTUP": "evil.py"}),
    Case("a trace of 5 GB of nothing", "penstock show trace.jsonl", "one sentence", REFUSED, prepare=_sparse),
    Case("a trace that is a link to itself", "penstock report trace.jsonl", "one sentence", REFUSED, prepare=_link("trace.jsonl", "trace.jsonl")),
    Case("a run's progress is a pipe", "penstock check some.toml -o .; mv some-1.jsonl trace.jsonl; penstock report . -o x.html", "an end", (0, 2), prepare=_fifo("progress.jsonl")),
    Case("a trace that is compressed", f"{_CHECK}; gzip -c penstock-traces/some-1.jsonl > x.jsonl; penstock show x.jsonl", "one sentence", REFUSED),
    Case("a trace by a network of 99,999,999 switches", "penstock report x.jsonl -o x.html", "an end", (0, 2), prepare=lambda place: write_hostile(place / "x.jsonl", [], scenario={"topology": "linear,99999999"})),
    Case("a trace with numbers beyond any", "penstock show x.jsonl", "one sentence", REFUSED, files={"x.jsonl": '{"format": "penstock-trace", "version": 2, "scenario": {"topology": "linear,2"}, "folder": "."}\n{"step": 1e999, "transition": "x", "node": "n"}\n'}),
    Case("a folder of apps that leads into itself", "penstock campaign apps -e check --seconds 2 --jobs 1", "an end", NO_ALL_CLEAR, prepare=_loops),
    Case("a campaign's file is a device", "mkdir penstock-campaign; ln -s /dev/zero penstock-campaign/campaign.sqlite; penstock campaign . -e check --seconds 2", "one sentence", REFUSED),
    Case("a campaign's file is a pipe", "mkdir penstock-campaign; mkfifo penstock-campaign/campaign.sqlite; penstock campaign . -e check --seconds 2", "one sentence", REFUSED),
    Case("a campaign's list is a pipe", "mkfifo list.toml; penstock campaign list.toml", "one sentence", REFUSED),
    # Scenarios.
    Case("a scenario that is a pipe", "mkfifo x.toml; penstock check x.toml", "one sentence", REFUSED, kind=SCENARIOS),
    Case("a scenario without end", "ln -s /dev/zero x.toml; penstock check x.toml", "one sentence", REFUSED, kind=SCENARIOS),
    Case("20,000 lists in a scenario", _CHECK, "one sentence", REFUSED, files={"some.toml": _HUGE}, kind=SCENARIOS),
    Case("a scenario of 30 MB", _CHECK, "an end", ENDS, files={"some.toml": _SCENARIO + "# x\n" * 7_500_000}, kind=SCENARIOS),
    Case("seconds that are no number", _CHECK, "one sentence", REFUSED, files=_toml('topology = "single,2"', "[search]\nseconds = nan\n"), kind=SCENARIOS),
    Case("seconds without end", _CHECK, "one sentence or the finding", (1, 2), files=_toml('topology = "single,2"', "[search]\nseconds = inf\n"), kind=SCENARIOS),
    Case("a number of 5,000 digits", _CHECK, "one sentence", REFUSED, files=_toml('topology = "single,2"', f"[search]\nstates = {'9' * 5000}\n"), kind=SCENARIOS),
    Case("a network of 999,999,999 switches", f"{_CHECK} --seconds 5", "one sentence, or an end within the limit", (2, 3), files=_toml('topology = "linear,999999999"'), kind=SCENARIOS),
    Case("a tree of 99 levels", f"{_CHECK} --seconds 5", "one sentence, or an end within the limit", (2, 3), files=_toml('topology = "tree,99,99"'), kind=SCENARIOS),
    Case("a network with a name that steers", _CHECK, "spelt out", REFUSED, files=_toml(f"topology = {STEERING.encode('ascii', 'namereplace').decode()!r}".replace("\\\\N{", "\\\\N{")), kind=SCENARIOS),
    Case("a host whose name is written backwards", _CHECK, "spelt out", ENDS, files={"some.toml": _SCENARIO.replace("hosts.h1", 'hosts."h1\\u202Eevil"')}, kind=SCENARIOS),
    Case("a host that sends 10^12 packets", f"{_CHECK} --seconds 5", "an end", NO_ALL_CLEAR, files={"some.toml": _SCENARIO + "count = 1000000000000\n"}, kind=SCENARIOS),
    Case("a controller outside of the folder", _CHECK, "one sentence", REFUSED, files={"some.toml": _SCENARIO.replace("app.py", "../../../../../../etc/passwd")}, kind=SCENARIOS),
    Case("a controller whose name has a NUL in it", _CHECK, "one sentence", REFUSED, files={"some.toml": _SCENARIO.replace("app.py", "app\\u0000.py")}, kind=SCENARIOS),
    Case("an app whose name is no text", "penstock check *.py --topo single,2 --seconds 5", "one sentence or a verdict", ENDS, prepare=_unnameable, kind=SCENARIOS),
    Case("an app whose name is a line of Penstock's", "mv app.py $'0 violations found.\\n\\e[2J.py'; penstock check 0*.py --topo single,2 --seconds 5", "spelt out", ENDS, kind=SCENARIOS),
    Case("modules like Python's own beside the app", _CHECK, "one sentence or a verdict", NO_ALL_CLEAR, files=_SHADOWS, kind=SCENARIOS),
    Case("traces to a device", f"{_CHECK} -o /dev/full", "the finding is told", (1, 2), kind=SCENARIOS),
    Case("traces among the kernel's files", f"{_CHECK} -o /proc/self/traces", "the finding is told", (1, 2), kind=SCENARIOS),
    Case("a property that exits", _CHECK, "no all-clear", NO_ALL_CLEAR, packet="pass", files=_toml('topology = "single,2"\nproperties = ["rules.py:rule"]') | {"rules.py": "import os\nfrom penstock import invariant\n@invariant(reads=('s1',))\ndef rule(s1): os._exit(0)\n"}, kind=SCENARIOS),
    Case("a property without end", f"{_CHECK} --seconds 3", "an end within the limit", NO_ALL_CLEAR, packet="pass", files=_toml('topology = "single,2"\nproperties = ["rules.py:rule"]') | {"rules.py": "from penstock import invariant\n@invariant(reads=('s1',))\ndef rule(s1):\n    while True: pass\n"}, kind=SCENARIOS),
    Case("a property that steers", _CHECK, "spelt out", FOUND, packet="pass", files=_toml('topology = "single,2"\nproperties = ["rules.py:rule"]') | {"rules.py": "from penstock import invariant\n@invariant(reads=('s1',))\ndef rule(s1): return '\\x1b[2J\\u202e\\n0 violations found.'\n"}, kind=SCENARIOS),
    Case("a host that exits", _CHECK, "no all-clear", NO_ALL_CLEAR, packet="pass", files={"some.toml": _SCENARIO.replace('"client"', '"mine.py:Mine"'), "mine.py": "import os\nos._exit(0)\n"}, kind=SCENARIOS),
    Case("a strategy that exits", f"{_CHECK} --strategy mine.py:Mine", "no all-clear", NO_ALL_CLEAR, packet="pass", files={"mine.py": "import os\nos._exit(0)\n"}, kind=SCENARIOS),
    # Native controllers.
    Case("a state that says it equals all others", _CHECK, "no all-clear", NO_ALL_CLEAR, packet="self.x = type('T', (), {'__eq__': lambda *_: True, '__hash__': lambda _: 0})()\nself.n = getattr(self, 'n', 0) + 1\nif self.n > 1: raise KeyError('found')", files=_TWICE, kind=SCENARIOS),
    Case("a state that exits when it is compared", _CHECK, "a verdict: nobody calls it", ENDS, packet="self.x = type('T', (), {'__eq__': lambda *_: os._exit(0), '__hash__': lambda _: os._exit(0)})()", files=_TWICE, kind=SCENARIOS),
    Case("a state that exits when it is copied", _CHECK, "a verdict: nobody calls it", ENDS, packet="self.x = type('T', (), {'__reduce_ex__': lambda *_: os._exit(0), '__deepcopy__': lambda *_: os._exit(0)})()", files=_TWICE, kind=SCENARIOS),
    Case("a state without end when it is copied", f"{_CHECK} --seconds 10", "a verdict: nobody calls it", ENDS, packet="self.x = type('T', (), {'__getstate__': lambda s: [0 for _ in iter(int, 1)]})()", files=_TWICE, kind=SCENARIOS),
    Case("its own methods removed", _CHECK, "no all-clear", NO_ALL_CLEAR, packet="del App.packet_in; del App.switch_join", files=_TWICE, kind=SCENARIOS),
    Case("Penstock's own verdict replaced in verify", "penstock verify some.toml -p ControllerCrash", "the finding is told", FOUND, packet="from penstock._verdict import verdict\nverdict.Result.VIOLATED._value_ = 'proved'\nraise KeyError('found')", files=_TWICE, kind=SCENARIOS),
    Case("Penstock's own verdict replaced", _CHECK, "the finding is told", NO_ALL_CLEAR, packet="from penstock._verdict import verdict\nverdict.Result.VIOLATED._value_ = 'exhausted'\nraise KeyError('found')", files=_TWICE, kind=SCENARIOS),
)  # fmt: skip


def _in_process_shadows(folder: Path) -> str:
    """Have modules like Python's own beside an os-ken app."""
    place = folder / "run"
    place.mkdir()
    write_app(place, "packet", "raise KeyError('found')")
    for name, text in _SHADOWS.items():
        (place / name).write_text(text)
    done = run(["bash", "-c", f"{_PENSTOCK} check app.py --topo single,2"], place)
    told = f"exit {done.status}: {done.last_line[:120]}"
    demand(done.status in NO_ALL_CLEAR and done.said.strip(), told)
    return told


def attacks() -> Iterator[Attack]:
    """Yield the attacks of these kinds."""
    for case in CASES:
        yield case.attack()
    yield Attack(
        SCENARIOS,
        "modules like Python's own beside an os-ken app",
        "one sentence or a verdict",
        _in_process_shadows,
    )
