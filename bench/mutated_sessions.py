"""Damaged OpenFlow messages in live sessions: each is taken or answered with an error, and no more.

    python -m bench.mutated_sessions [--messages 1000000] [--seed 1] [--json]

`bench.mutating_controller`, a process of its own, is connected with two switches over TCP, and says what no
controller should: half of the messages in OpenFlow 1.0 and half in 1.3.  Packets of hosts go through the
switches meanwhile, by whatever rules the messages happen to be.  The sessions, switches and hosts are those
of `penstock fuzz`; what happens is not written down, since that would be gigabytes.

Exit status 1 if the network fails, if a session is not taken up again, if messages wait for longer than a
minute, or if memory grows by more than `MOST_GROWTH` over the last nine tenths.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from penstock._controllers.tcp.ports import free_port
from penstock._fuzz.building import build_setting
from penstock._fuzz.inputs import input_of
from penstock._fuzz.live_harness import LiveHarness
from penstock._replay.in_process import SilentRecorder
from penstock._scenario.scenario import scenario_of
from penstock.openflow.messages import V10, V13

ROOT: Final = Path(__file__).parents[1]
MOST_GROWTH: Final = 1.5
PATIENCE_S: Final = 60.0
_BETWEEN_MS: Final = 250
_PAGES_PER_MB: Final = 256
_NAMES: Final = {V10: "1.0", V13: "1.3"}


class Watching:
    """What is seen of a run: messages taken, errors, memory."""

    def __init__(self, version: int, show: Callable[[str], None]) -> None:
        self.taken = self.sessions = self.errors = self.packets = 0
        self.last = time.monotonic()
        self.slowest = 0.0
        self.memory: list[tuple[int, float]] = []
        self._version, self._show = version, show

    def hear(self, _controller: str, text: str) -> None:
        """Read what the controller prints."""
        words = text.split()
        if words[:1] != ["taken"]:
            self._show(text)
            return
        self.taken, self.sessions, self.errors = (int(word) for word in words[1::2])
        now = time.monotonic()
        self.slowest, self.last = max(self.slowest, now - self.last), now
        self.memory.append((self.taken, memory_mb()))
        if len(self.memory) % 5 == 0:
            self._show(
                f"OpenFlow {_NAMES[self._version]}: {self.taken:,} messages taken, {self.errors:,} errors, "
                f"{self.sessions} sessions, {self.memory[-1][1]:.0f} MB"
            )


def memory_mb() -> float:
    """Return how much memory this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) / _PAGES_PER_MB


async def play(stage: LiveHarness, watching: Watching, messages: int) -> None:
    """Have hosts send packets until all messages were taken."""
    await stage.open()
    pairs = [("h1", "h2"), ("h2", "h1")]
    while watching.taken < messages and time.monotonic() - watching.last < PATIENCE_S:
        source, target = pairs[watching.packets % 2]
        watching.packets += 1
        await stage.perform(input_of(f"send {source} to {target}"))
        await stage.wait(_BETWEEN_MS)


def measure(version: int, messages: int, seed: int) -> dict[str, Any]:
    """Return what came of so many messages of one version."""
    watching = Watching(version, lambda text: print(text, file=sys.stderr, flush=True))
    words = [sys.executable, "-m", "bench.mutating_controller", "{port}"]
    command = [*words, str(version), str(messages), str(seed)]
    table = {
        "topology": "linear,2",
        "openflow": _NAMES[version],
        "controllers": {"c0": {"cmd": command, "port": free_port()}},
    }
    setting = build_setting(scenario_of(table, ROOT))
    began = time.monotonic()
    failure = ""
    with tempfile.TemporaryDirectory() as folder:

        async def run() -> None:
            stage = LiveHarness(setting, SilentRecorder(version), logs=Path(folder))
            stage.log_observers.append(watching.hear)
            try:
                await play(stage, watching, messages)
            finally:
                await stage.close()

        try:
            asyncio.run(run())
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
    steady = [mb for taken, mb in watching.memory if taken >= messages / 10]
    return {
        "openflow": _NAMES[version],
        "taken": watching.taken,
        "errors": watching.errors,
        "sessions": watching.sessions,
        "packets": watching.packets,
        "seconds": round(time.monotonic() - began, 1),
        "slowest_10000_s": round(watching.slowest, 1),
        "memory_mb": [round(mb) for _, mb in watching.memory[:: max(1, len(watching.memory) // 10)]],
        "growth": round(steady[-1] / steady[0], 2) if steady else None,
        "failure": failure,
    }


def held(row: dict[str, Any], messages: int) -> bool:
    """Tell whether nothing happened but messages and errors."""
    return not row["failure"] and row["taken"] >= messages and (row["growth"] or 0) <= MOST_GROWTH


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.mutated_sessions", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    share = options.messages // 2
    rows = [measure(version, share, options.seed) for version in (V10, V13)]
    if options.json:
        print(json.dumps({"messages": sum(row["taken"] for row in rows), "rows": rows}))
    else:
        for row in rows:
            print(
                "OpenFlow {openflow}: {taken} messages taken in {seconds} s, {errors} errors, "
                "{sessions} sessions, memory {memory_mb} MB (growth {growth}) {failure}".format(**row)
            )
    return 0 if all(held(row, share) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
