"""Running a program on Open vSwitch.

Entries time out in the first millisecond *after* their moment, and all that is due is noticed
when the clock moves.  To see each entry go at its own moment, a wait is cut at every moment at
which an entry made by this program could time out: a whole timeout after some earlier step.  An
entry may also be due at once, when it replaces one that was last used longer ago than the new
idle timeout; then one round of looking for such entries is awaited.

The harness also plays the network card that a dummy device lacks: nothing arrives on a port that
is down, and what is sent there is lost, and not counted.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace

from bench.ovs.bridge import Bridge, BridgePlan, BridgePort
from bench.ovs.instance import OpenVSwitch
from bench.ovs.observation import PROBE, Frames, Observation
from bench.ovs.programs import (
    DPID,
    PORTS,
    SWITCH,
    Arrive,
    Link,
    Program,
    Step,
    Tell,
    TellBytes,
    Wait,
    port_hw_addr,
    port_name,
)
from penstock.openflow.messages import (
    V10,
    FeaturesReply,
    FeaturesRequest,
    FlowMod,
    GroupMod,
    MeterMod,
    OpenFlowMessage,
    Port,
    PortConfig,
    PortMod,
    PortNo,
)
from penstock.openflow.stats import PortDescRequest, PortDescs, Ports, PortStats, StatsReply, StatsRequest
from penstock.openflow.wire import decode, encode

_TURNS_FOR_PORTS = 4
_TURNS = {Tell: 2, TellBytes: 1, Arrive: 2, Link: _TURNS_FOR_PORTS, Wait: 1}


def plan(program: Program) -> BridgePlan:
    """Return the bridge that a program wants to be run on."""
    ports = tuple(BridgePort(number, port_name(number), port_hw_addr(number)) for number in PORTS)
    return BridgePlan(SWITCH, DPID, program.version, ports, port_hw_addr(PortNo.LOCAL), program.controllers)


def run_on_ovs(ovs: OpenVSwitch, program: Program) -> Generator[Observation, None, None]:
    """Yield what Open vSwitch shows at each step of a program; closing it takes the bridge away."""
    with Bridge(ovs, plan(program)) as bridge:
        yield from _Run(ovs, bridge, program).steps()


def _may_remove(step: Step) -> bool:
    """Tell whether a step may remove flow entries."""
    return isinstance(step, Tell) and isinstance(step.message, FlowMod | GroupMod | MeterMod)


class _Run:
    """A program on its way through a bridge."""

    def __init__(self, ovs: OpenVSwitch, bridge: Bridge, program: Program) -> None:
        self._ovs, self._bridge, self._program = ovs, bridge, program
        self._first = program.controllers[0]
        self._now = 0
        self._moments = {0}
        self._timeouts: set[int] = set()
        self._up = set(PORTS)
        self._lost: dict[int, tuple[bytes, ...]] = {}
        self._probe = encode(PROBE, program.version)
        ask_ports = FeaturesRequest() if program.version == V10 else StatsRequest(PortDescRequest())
        self._ask_ports = encode(ask_ports, program.version)

    def steps(self) -> Iterator[Observation]:
        for step in self._program.steps:
            turns = self._perform(step)
            arrived = self._bridge.settle(turns)
            if self._may_be_due(step):
                self._ovs.notice_expired()
            elif _may_remove(step):
                self._ovs.finish_removals()
            self._bridge.send(self._first, self._probe)
            for name, more in self._bridge.settle(1).items():
                arrived[name] += more
            if turns == _TURNS_FOR_PORTS:
                self._look_at_ports()
            frames = self._frames()
            messages = {name: tuple(map(self._read, data)) for name, data in arrived.items() if data}
            yield Observation(frames, messages)

    def _perform(self, step: Step) -> int:
        """Do a step; return how many turns of the daemon's main loop it may take to show."""
        match step:
            case Tell(controller, message):
                self._bridge.send(controller, encode(message, self._program.version))
                if isinstance(message, FlowMod):
                    self._timeouts |= {message.idle_timeout, message.hard_timeout} - {0}
                if isinstance(message, PortMod):
                    return _TURNS_FOR_PORTS
            case TellBytes(controller, data):
                self._bridge.send(controller, data)
            case Arrive(port, data):
                if port in self._up:
                    self._bridge.inject(port, data)
            case Link(port, up):
                self._bridge.link(port, up)
            case Wait(milliseconds):
                self._wait(milliseconds)
        return _TURNS[type(step)]

    def _may_be_due(self, step: Step) -> bool:
        """Tell whether a step may have made an entry that has been idle for too long already."""
        if not isinstance(step, Tell) or not isinstance(step.message, FlowMod):
            return False
        return 0 < step.message.idle_timeout * 1000 < self._now

    def _wait(self, milliseconds: int) -> None:
        target = self._now + milliseconds
        due = {moment + 1000 * seconds + 1 for moment in self._moments for seconds in self._timeouts}
        for moment in sorted({*(when for when in due if self._now < when < target), target}):
            self._ovs.advance(moment - self._now)
            self._now = moment
        self._moments.add(target)

    def _look_at_ports(self) -> None:
        """Find out which ports frames get through now."""
        self._bridge.send(self._first, self._ask_ports)
        (answer,) = map(decode, self._bridge.settle(1)[self._first])
        ports: tuple[Port, ...] = ()
        if isinstance(answer, FeaturesReply):
            ports = answer.ports
        elif isinstance(answer, StatsReply) and isinstance(answer.body, PortDescs):
            ports = answer.body.ports
        self._up = {port.port_no for port in ports if not port.config & PortConfig.DOWN}

    def _frames(self) -> Frames:
        sent = {}
        for port, frames in self._bridge.frames().items():
            if port in self._up:
                sent[port] = tuple(frames)
            else:
                self._lost[port] = (*self._lost.get(port, ()), *frames)
        return sent

    def _read(self, data: bytes) -> OpenFlowMessage:
        """Return a message, its port counters without what was lost at ports that were down."""
        message = decode(data)
        if isinstance(message, StatsReply) and isinstance(message.body, Ports):
            return replace(message, body=Ports(tuple(map(self._without_lost, message.body.ports))))
        return message

    def _without_lost(self, stats: PortStats) -> PortStats:
        lost = self._lost.get(stats.port_no, ())
        sent, size = stats.tx_packets - len(lost), stats.tx_bytes - sum(map(len, lost))
        return replace(stats, tx_packets=sent, tx_bytes=size)
