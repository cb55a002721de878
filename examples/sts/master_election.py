"""Two routers of which the one with the higher number is master; after a restart neither takes itself for it.

Members greet each other through the switches, which hand what one sends up to all of them.  A member that was
known before and greets again has been restarted.  It is told to take a number below all others, so that it
does not take the network away from who is master meanwhile.  The bug: the numbers that others have are kept,
but not whose they are.  The old number of a member that now has a lower one still counts; the other takes
somebody else for the master, and links that fail are nobody's business.  (ONOS elected masters in this way.)

Mended, each member has one number, its last.
"""

from __future__ import annotations

from typing import Any

from cluster import Member
from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls

GREETING_TYPE = 0x88B6
HIGHEST = 100
ROUNDS = 3
"""How often a switch is asked for its attention before those who did not answer are taken not to be there."""
HELLO, NUMBER, TAKE = "hello", "number", "take"


class Elector(Member):
    """A router that knows the numbers of the others."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.number = HIGHEST - self.rank
        self.rounds = 0
        self.met: set[int] = set()
        self.numbers: dict[int, int] = {}

    @property
    def in_charge(self) -> bool:
        """The master is in charge."""
        return self.rounds >= ROUNDS and self.number > max(self.numbers.values(), default=0)

    def joined(self, switch: Any) -> None:
        """Greet the others through the first switch."""
        is_first = not self.switches
        super().joined(switch)
        if is_first:
            self.say(HELLO, self.rank, self.number)
            switch.send_msg(switch.ofproto_parser.OFPBarrierRequest(switch))

    @set_ev_cls(ofp_event.EventOFPBarrierReply, MAIN_DISPATCHER)
    def heard_back(self, event: Any) -> None:
        """Begin to work when whoever is there must have answered."""
        self.rounds += 1
        switch = event.msg.datapath
        if self.rounds < ROUNDS:
            switch.send_msg(switch.ofproto_parser.OFPBarrierRequest(switch))
        elif self.in_charge:
            self.take_over()

    def say(self, word: str, rank: int, number: int) -> None:
        """Tell all members something about one of them."""
        for _, switch in sorted(self.switches.items())[:1]:
            head = bytes.fromhex(f"ffffffffffff0200000000ff{GREETING_TYPE:04x}")
            text = f"{word} {rank} {number} from {self.rank} "
            self.send_out(switch, head + text.encode().ljust(46), [switch.ofproto.OFPP_CONTROLLER])

    def packet_in(self, switch: Any, in_port: int, frame: Any, message: Any) -> None:
        """Hear what a member says, or handle a packet."""
        if frame.ethertype != GREETING_TYPE:
            super().packet_in(switch, in_port, frame, message)
            return
        word, rank, number, _, speaker = bytes(message.data[14:]).decode().split()[:5]
        if int(speaker) != self.rank:
            self.heard(word, int(rank), int(number))

    def heard(self, word: str, rank: int, number: int) -> None:
        """Take in what a member says."""
        if word == TAKE and rank == self.rank:
            self.number = number
            self.say(NUMBER, self.rank, self.number)
        elif word == HELLO and rank in self.met:
            self.say(NUMBER, self.rank, self.number)
            self.say(TAKE, rank, min(self.number, *self.numbers.values()) - 1)
        elif word in (HELLO, NUMBER):
            self.met.add(rank)
            self.note(rank, number)
            if word == HELLO:
                self.say(NUMBER, self.rank, self.number)

    def note(self, rank: int, number: int) -> None:
        """Remember a member's number."""
        was_in_charge = self.in_charge
        self.numbers[rank if self.mended else number] = number
        if self.in_charge and not was_in_charge:
            self.take_over()
