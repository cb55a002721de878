"""Fat trees of virtual switches that are connected to a controller process, in two ways.

`PlainTree` drives a `World` by itself, with nothing around it but the sessions; `LiveTree` is the stage of
`penstock fuzz`, with its courier and its trace on disk.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
from abc import ABC, abstractmethod
from collections import Counter
from pathlib import Path
from typing import Final

from penstock._controllers.tcp.process import ControllerProcess, Program
from penstock._controllers.tcp.remote import RemoteController
from penstock._controllers.tcp.session import ControlSession, Patience, connect
from penstock._fuzz.building import build_setting
from penstock._fuzz.live_harness import LiveHarness
from penstock._fuzz.recorder import Recorder
from penstock._scenario.scenario import scenario_of
from penstock._trace.trace import TraceWriter
from penstock._world.assembly import build_network
from penstock._world.component import Endpoint
from penstock._world.faults import Faults
from penstock._world.signals import FABRIC
from penstock._world.topology import Topology, topology
from penstock._world.transition import INJECT, Record
from penstock._world.world import World
from penstock.openflow.messages import V13, BarrierReply, OpenFlowMessage, PortStatus

ROOT: Final = Path(__file__).parents[1]
COMMANDS: Final = {
    "asyncio": (sys.executable, "-m", "bench.fattree_controller", "--port", "{port}"),
    "osken": (
        *(sys.executable, "-m", "penstock.launch", "bench/fattree_app.py", "--port", "{port}"),
        *("--default-log-level", "30"),
    ),
}
"""How each controller is started, in the folder of the project."""

_AT_ONCE: Final = 100
"""How many switches connect at one time."""

_LIMIT_S: Final = 900.0
_PATIENCE: Final = Patience(idle_s=_LIMIT_S, dead_s=_LIMIT_S, greeting_s=_LIMIT_S)


class Tree(ABC):
    """A fat tree, the controller that its switches call, and how much was said between them."""

    def __init__(self, drawn: Topology, world: World) -> None:
        self.topology, self.world = drawn, world
        self.said: Counter[type] = Counter()
        """What reached the controller, by the kinds of message."""
        self.heard = 0
        """How many messages came from the controller."""
        self._progress = asyncio.Event()
        world.observe(self._count)

    def _count(self, record: Record) -> None:
        if record.transition.verb == INJECT:
            self.heard += 1
        elif record.node == "c0" and isinstance(record.message, OpenFlowMessage):
            self.said[type(record.message)] += 1
            self._progress.set()

    @abstractmethod
    async def join(self) -> None:
        """Start the controller, connect all switches and see their handshakes through."""

    @abstractmethod
    def proceed(self) -> None:
        """Have the network go on."""

    @abstractmethod
    async def close(self) -> None:
        """Leave nothing running."""

    async def cut(self, share: float) -> int:
        """Cut some links, see the controller's answers through, and return how many links were cut."""
        every = self.topology.links
        links = random.Random(len(every)).sample(every, round(share * len(every)))
        for link in links:
            # The fabric names a host's link from the host.
            ends = sorted((link.a.node, link.b.node), key=lambda node: node.startswith("s"))
            self.world.take(f"{FABRIC} fail {'-'.join(ends)}")
            self.proceed()
            await asyncio.sleep(0)
        await self.answered(len(self.topology.switches) + self.said[PortStatus])
        return len(links)

    async def answered(self, barriers: int) -> None:
        """Wait until so many of the controller's barriers were answered."""
        async with asyncio.timeout(_LIMIT_S):
            while self.said[BarrierReply] < barriers:
                self._progress.clear()
                await self._progress.wait()


class PlainTree(Tree):
    """A tree with a session per switch, and nothing else."""

    def __init__(self, k: int, controller: str, port: int) -> None:
        drawn = topology(f"fattree,{k}")
        everything = len(drawn.links) + len(drawn.switches)
        faults = Faults(link_failures=everything, disconnects=everything)
        super().__init__(
            drawn, World(build_network(drawn, controllers=RemoteController("c0"), faults=faults))
        )
        self._process = ControllerProcess(Program("c0", COMMANDS[controller], port, ROOT, patience_s=60))
        self._sessions: dict[str, ControlSession] = {}
        self.world.observe(self._hand_over)
        for switch in drawn.switches:
            self.world.take(f"{FABRIC} disconnect {switch.name}-c0")
        self.proceed()

    def proceed(self) -> None:
        """Have the network go on until nothing is under way."""
        self.world.run()

    async def join(self) -> None:
        """Connect all switches, some at a time."""
        await self._process.start()
        gate = asyncio.Semaphore(_AT_ONCE)

        async def join(switch: str) -> None:
            async with gate:
                await self._join(switch)

        await asyncio.gather(*(join(switch.name) for switch in self.topology.switches))
        await self.answered(len(self.topology.switches))

    async def _join(self, switch: str) -> None:
        def made() -> ControlSession:
            return ControlSession(
                V13,
                on_message=lambda message: self._hear(switch, message),
                on_close=lambda: None,
                patience=_PATIENCE,
            )

        self._sessions[switch] = await connect(made, ("127.0.0.1", self._process.port))
        self.world.take(f"{FABRIC} reconnect {switch}-c0")
        self.proceed()

    def _hear(self, switch: str, message: OpenFlowMessage) -> None:
        self.world.inject(Endpoint("c0", switch), message)
        self.proceed()

    def _hand_over(self, record: Record) -> None:
        """Write to a switch's socket what reached the controller's end of its session."""
        if record.node == "c0" and record.at is not None and isinstance(record.message, OpenFlowMessage):
            self._sessions[str(record.at.port)].send(record.message)

    async def close(self) -> None:
        """Hang up, and end the controller."""
        for session in self._sessions.values():
            session.close("the measurement is over")
        await self._process.stop()


class LiveTree(Tree):
    """A tree on the stage of real controllers."""

    def __init__(self, k: int, controller: str, port: int) -> None:
        command = {"cmd": list(COMMANDS[controller]), "port": port}
        table = {"topology": f"fattree,{k}", "openflow": "1.3", "controllers": {"c0": command}}
        scenario = scenario_of({**table, "fuzz": {"rates": {"migration": 0}}}, ROOT)
        setting = build_setting(scenario)
        self._folder = tempfile.TemporaryDirectory(prefix="penstock-fattree-")
        writer = TraceWriter(Path(self._folder.name) / "trace.jsonl", scenario.table(), scenario.folder)
        self._recorder = Recorder(writer, setting.version)
        self._stage = LiveHarness(
            setting, self._recorder, listening_s=60, joining_s=_LIMIT_S, patience=_PATIENCE
        )
        super().__init__(setting.topology, self._stage.world)

    def proceed(self) -> None:
        """Have the network go on until nothing is under way."""
        self._stage.run()

    async def join(self) -> None:
        """Open the stage."""
        await self._stage.open()
        await self.answered(len(self.topology.switches))

    async def close(self) -> None:
        """Close the stage, and throw the trace away."""
        await self._stage.close()
        self._recorder.close()
        self._folder.cleanup()


STAGES: Final[dict[str, type[PlainTree] | type[LiveTree]]] = {"plain": PlainTree, "live": LiveTree}
