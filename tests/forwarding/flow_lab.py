"""Networks whose switches are set up at will, to see what a world and a forwarding model make of a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock._forwarding.following import Follower
from penstock._forwarding.frames import frame_of
from penstock._forwarding.header_space import header_of
from penstock._forwarding.journeys import Outcome
from penstock._forwarding.model import ForwardingModel
from penstock._world.assembly import build_network
from penstock._world.component import Endpoint, Port, Step
from penstock._world.faults import NO_FAULTS, Faults
from penstock._world.frame import Frame
from penstock._world.network import Network
from penstock._world.signals import FABRIC
from penstock._world.switch import SwitchOptions
from penstock._world.switch.headers import read
from penstock._world.topology import topology
from penstock._world.transition import Record
from penstock._world.world import World
from penstock.openflow.actions import ApplyActions, Instruction, Output
from penstock.openflow.match import Match
from penstock.openflow.messages import V13, Error, FlowCommand, FlowMod, OpenFlowMessage, PacketIn

PROBE = "probe"
MOST_TRANSITIONS = 600


class Listener:
    """A controller that hears everything and says nothing by itself."""

    name = "c0"

    def initial(self) -> int:
        return 0

    def actions(self, state: int) -> tuple[str, ...]:
        return ()

    def act(self, state: int, action: str) -> Step:
        raise NotImplementedError

    def receive(self, state: int, port: Port, message: Any) -> Step:
        return Step(state)


@dataclass(frozen=True)
class Seen:
    """What became of a frame in a world: who got it and as what, who handed it over, and if it ever ended."""

    delivered: frozenset[tuple[str, int]]
    handed_over: frozenset[str]
    at_rest: bool


def network_of(shape: str, version: int = V13, faults: Faults = NO_FAULTS) -> Network:
    """Return a network without any rules."""
    options = SwitchOptions(version=version, counters=False)
    return build_network(topology(shape), controllers=Listener(), switches=options, faults=faults)


def flow_mod(match: Match, *instructions: Instruction, **more: Any) -> FlowMod:
    """Return a message that adds an entry."""
    return FlowMod(FlowCommand.ADD, match, instructions, **{"priority": 1, **more})


def out(*ports: int) -> ApplyActions:
    """Return the instruction that sends packets out of ports."""
    return ApplyActions(tuple(Output(port) for port in ports))


class Lab:
    """A world with a model that follows it."""

    def __init__(self, shape: str, version: int = V13, faults: Faults = NO_FAULTS) -> None:
        self.world = World(network_of(shape, version, faults))
        self.follower = Follower(self.world)

    @property
    def model(self) -> ForwardingModel:
        return self.follower.model

    @property
    def switches(self) -> list[str]:
        return [name for name in self.world.network.names if name.startswith("s")]

    def tell(self, switch: str, *messages: OpenFlowMessage) -> list[Error]:
        """Have a switch, unless it is off, take messages of the controller; return what it refuses."""
        refused: list[Error] = []
        for message in messages:
            self.world.inject(Endpoint("c0", switch), message)
            if not self.world.queue(Endpoint("c0", switch)):
                break
            record = self.world.take(f"deliver c0:{switch}")
            refused += (sent for _, sent in record.sends if isinstance(sent, Error))
            while self.world.queue(Endpoint(switch, "c0")):
                self.world.take(f"deliver {switch}:c0")
        return refused

    def rule(self, switch: str, match: Match, *instructions: Instruction, **more: Any) -> None:
        """Add an entry that the switch must accept."""
        assert not self.tell(switch, flow_mod(match, *instructions, **more))

    def settle(self) -> None:
        """Let everything that is under way arrive."""
        self.world.run()

    def fabric(self, action: str) -> None:
        """Have the fabric do something, and let everybody hear of it."""
        self.world.take(f"{FABRIC} {action}")
        self.settle()

    def send(self, host: str, header: int) -> Seen:
        """Have a host send a frame in a copy of the world, and watch."""
        return watch(self.world, host, frame_of(header))

    def scratch(self) -> ForwardingModel:
        """Return a model of the world as it is now that never saw it any other way."""
        twin = World(self.world.network)
        twin.restore(self.world.snapshot())
        return Follower(twin).model


def watch(world: World, host: str, data: bytes) -> Seen:
    """Return what becomes of a frame that a host sends as things stand."""
    twin = World(world.network)
    twin.restore(world.snapshot())
    delivered: set[tuple[str, int]] = set()
    handed_over: set[str] = set()

    def note(record: Record) -> None:
        at, message = record.at, record.message
        if at is not None and at.node.startswith("h") and isinstance(message, Frame) and message.tag == PROBE:
            delivered.add((at.node, header_of(read(message.data).fields)))
        for (switch, _), sent in record.sends:
            if isinstance(sent, PacketIn) and sent.tag == PROBE:
                handed_over.add(switch)

    twin.observe(note)
    twin.inject(Endpoint(host, 0), Frame(data, PROBE))
    taken = twin.run(limit=MOST_TRANSITIONS)
    return Seen(frozenset(delivered), frozenset(handed_over), taken < MOST_TRANSITIONS)


def disagreement(outcomes: list[Outcome], seen: Seen) -> str:
    """Return where a model's answer for one packet differs from what a world does with it, or nothing."""
    if any(one.fate == "unfollowed" for one in outcomes):
        return ""
    delivered = {(one.node, one.at_end) for one in outcomes if one.fate == "delivered"}
    sure = {(one.node, one.at_end) for one in outcomes if one.fate == "delivered" and not one.perhaps}
    controllers = {one.node for one in outcomes if one.fate == "controller"}
    chosen = any(one.perhaps for one in outcomes)
    if not seen.delivered <= delivered:
        return f"delivered unforeseen: {seen.delivered - delivered}"
    if not seen.handed_over <= controllers:
        return f"handed over unforeseen: {seen.handed_over - controllers}"
    if chosen:
        return ""
    if seen.at_rest and not sure <= seen.delivered:
        return f"foreseen but not delivered: {sure - seen.delivered}"
    loops = [one for one in outcomes if one.fate == "loop"]
    if seen.at_rest and not all(one.why for one in loops):
        return "a packet comes to rest that is said to go round for ever"
    if not seen.at_rest and not loops:
        return "a packet goes round that is not said to"
    return ""


def everything(model: ForwardingModel) -> set[tuple[Any, ...]]:
    """Return how all packets end, told without examples."""
    return {
        (one.source, one.fate, one.node, one.why, one.path, one.perhaps, one.cycle)
        for host in model.hosts
        for one in model.outcomes(host, Match())
    }
