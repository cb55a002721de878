"""What a controller remembers is written from copies of its objects, as one would write it in its code."""

from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass
from typing import Any

from penstock._controllers.controller import Controller
from penstock._controllers.native import NativeController
from penstock._controllers.osken.threads import Lock, RLock
from penstock._report.states import MOST_REMEMBERED, memory_lines, value_lines
from penstock.openflow.match import Match
from penstock.openflow.messages import NO_BUFFER, PacketIn, PacketInReason
from penstock.packet import arp_request


class Friend:
    """An object of the program's own."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.best: Any = None

    def __repr__(self) -> str:
        raise AssertionError("no code of the program is run to show it")


class Keeper(Controller):
    """A controller that remembers all sorts of things."""

    def __init__(self) -> None:
        self.count = 0
        self.learnt: dict[str, dict[int, str]] = defaultdict(dict)
        self.seen = {"b", "a"}
        self.order = deque([1, 2])
        self.last: OrderedDict[str, int] = OrderedDict(z=1)
        self.ann = Friend("Ann")
        self.nothing: list[int] = []

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.count += 1
        self.learnt[switch][message.in_port] = "here"
        self.seen.add("c")
        self.order.popleft()
        self.ann.best = self.ann
        del self.last["z"]


def lines(state: object) -> set[str]:
    return set(memory_lines(state))


def test_a_program_is_shown_as_it_was_and_not_as_it_is() -> None:
    keeper = NativeController(Keeper(), ("s1",))
    before = keeper.act(keeper.initial(), "join s1").state
    packet = arp_request(eth_src=1, ip_src=1, ip_dst=2).to_bytes()
    message = PacketIn(NO_BUFFER, len(packet), PacketInReason.NO_MATCH, Match.of(in_port=3), packet)
    after = keeper.receive(before, "s1", message).state
    then, now = lines(before), lines(after)
    assert then - now == {
        "count = 0",
        "learnt = {}",
        "order[1] = 2",
        "order[0] = 1",
        "last['z'] = 1",
        "ann.best = None",
    }
    assert now - then == {
        "count = 1",
        "learnt['s1'][3] = 'here'",
        "seen has 'c'",
        "order[0] = 2",
        "last = {}",
        "ann.best = a Friend",
    }
    assert then & now == {"seen has 'a'", "seen has 'b'", "ann.name = 'Ann'", "nothing = []"}
    assert lines(keeper.initial()) == {"waits for s1 to join", *then}


def test_what_has_no_words_for_itself_is_shown_by_its_kind_and_not_by_its_place_in_memory() -> None:
    assert value_lines("locks", (Lock(), RLock())) == ("locks[0] = a Lock", "locks[1] = a RLock")


def test_a_program_that_remembers_too_much_is_shown_in_part() -> None:
    keeper = Keeper()
    keeper.learnt["s1"].update(dict.fromkeys(range(MOST_REMEMBERED * 2), "here"))
    found = list(memory_lines(NativeController(keeper, ()).initial()))
    assert len(found) == MOST_REMEMBERED + 1 and found[-1] == "… and more"


def test_a_list_that_is_in_itself_comes_to_an_end() -> None:
    keeper = Keeper()
    round_and_round: list[Any] = [1]
    round_and_round.append(round_and_round)
    keeper.ann.best = round_and_round
    found = lines(NativeController(keeper, ()).initial())
    assert "ann.best[0] = 1" in found and any(line.startswith("ann.best[1] = (1, (1, ") for line in found)


@dataclass(frozen=True)
class Memory:
    sent: int
    kept: tuple[Any, ...] = ()


def test_a_value_is_shown_field_by_field_and_a_packet_as_a_packet() -> None:
    packet = arp_request(eth_src=1, ip_src=0x0A000001, ip_dst=0x0A000002)
    assert value_lines("memory", Memory(2, (packet,))) == (
        "memory.sent = 2",
        "memory.kept[0] = [ARP who has 10.0.0.2 tell 10.0.0.1]",
    )
    assert value_lines("memory", None) == value_lines("memory", ()) == ()
