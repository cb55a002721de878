"""Small handlers, each with as many paths as were counted by hand, and packets that take them all.

A path is a sequence of decisions by the packet.  Whether a header is there is one decision, however
deep in the packet it is; a look-up is one for each key until it is met; a range or a network is one
question.  What always follows from decisions before it decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import pytest
from tests.symbolic.corpus_lab import Arc, handlers, ready, uncovered

from penstock._concolic.paths import Exploration
from penstock._controllers.probing import Reaction


@dataclass(frozen=True)
class Expected:
    """What must come of exploring a handler.

    `paths` from s1, and `elsewhere` from s2 where that is another matter; how many of them end in a
    crash; `unreached` arcs and why no packet takes them; `lost` expressions, with the text of their line.
    """

    paths: int
    elsewhere: int = 0
    crashes: int = 0
    unreached: Mapping[Arc, str] = field(default_factory=dict)
    lost: Mapping[str, str] = field(default_factory=dict)


EXPECTED = {
    # IPv4 with protocol 6, 17 or another; no IPv4, and ARP or not.
    "native/service_ports": Expected(3 + 2),
    # Either pair, or none.
    "native/pair_policy": Expected(3),
    # No tag; VLAN 10 (which answers for port 3 too), 20, another.
    "native/vlan_members": Expected(1 + 3),
    # 0x0806; 0x0800; 0x86dd; from 0x8800 up; the rest.
    "native/ethertype_match": Expected(5),
    # ARP: a question, an answer (to either station or neither), another operation.  TCP: port 22, 23, below
    # 1024 or not.  Neither.
    "native/layer_match": Expected((1 + 3 + 1) + 4 + 1),
    # IPv4: protocol 6, 17, 1, another.  No IPv4: ARP or not.
    "native/protocol_pairs": Expected(4 + 2),
    # No IPv4; no TCP; one blocked pair, the other, neither.
    "native/blocked_flows": Expected(1 + 1 + 3),
    # Either known pair, whose reverse is then known; a new one, to oneself or to another.
    "native/flow_memory": Expected(2 + 2),
    # No tag is VLAN 10, two stations and none; so is tag 10; tag 20 has one station; others have none.
    "native/vlan_tables": Expected(3 + (3 + 2 + 1)),
    # Either counter, or a new one.
    "native/type_counters": Expected(3),
    # The one who was counted, or a new one.
    "native/talkers": Expected(2),
    # From either known station, or a new one in place of the first: two receivers then, or none of them.
    "native/recent_hosts": Expected(
        3 * 3,
        unreached={
            (
                "if len(self.recent) > self.SIZE:",
                "port = self.recent.get(packet.dst)",
            ): "the table is full from the start"
        },
    ),
    # From a new one: three keys then.  From the first, who stays: two.  From the second, who moved: one.
    "native/moving_stations": Expected(4 + 3 + 2),
    # The sender's address is the greater or not; in each order the pair is known or not.
    "native/canonical_pairs": Expected(2 * 2),
    # No IPv4; the second server is nearer than the first or not.
    "native/nearest_server": Expected(1 + 2),
    # A tag, of guests or not, around ARP or not; no tag, and ARP or not.
    "native/raw_ethernet": Expected(2 * 2 + 2),
    # To everybody; to another group; from the vendor; to either station or none.
    "native/raw_slices": Expected(1 + 1 + 1 + 3),
    # The first byte that is not zero, or none.
    "native/zero_vendor": Expected(3 + 1),
    # No IPv4; the office; a group; another private network; elsewhere.
    "native/address_plan": Expected(1 + 4),
    # No UDP; port 0; up to 1023 (from another port, from the same, from the same and NTP); games; others.
    "native/udp_ports": Expected(1 + 1 + 3 + 1 + 1),
    # No IPv4; three independent questions.
    "native/traffic_classes": Expected(1 + 2 * 2 * 2),
    # ARP, broadcast or not; not ARP, broadcast or not.
    "native/remembered_tests": Expected(4),
    # No UDP; in each of three ranges; below the first, between two, above the last.
    "native/port_ranges": Expected(1 + 3 + 4),
    # No TCP; no SYN; SYN with ACK, or without.
    "native/tcp_openings": Expected(1 + 1 + 2),
    # No tag; priority 0, up to 2, up to 4, above.
    "native/priority_queues": Expected(1 + 4),
    # No tag; each of eight priorities.
    "native/priority_copies": Expected(1 + 8),
    # From the first station; from the second, or anybody else: broadcast or not.
    "native/guarded_lookup": Expected(1 + 2 + 2),
    # To either station, or to a stranger.
    "native/forgetful_switch": Expected(3, crashes=1),
    # Each of three rules, or none.
    "native/rule_closures": Expected(4),
    # No IPv4; either flow, or a new one.
    "native/flow_records": Expected(1 + 3),
    # ARP; IPv4; IPv6; the rest.
    "native/ether_kinds": Expected(4),
    # ARP; IPv4 with TCP or not; neither.
    "native/header_kinds": Expected(1 + 2 + 1),
    # At the edge a guest or not; in the core ARP, IPv6 or the rest.
    "native/two_roles": Expected(2, elsewhere=3),
    # The answers are added up, and only their sum decides.
    "native/counted_matches": Expected(2),
    # No decision at all.
    "native/hashed_paths": Expected(2),
    # ARP or not.
    "native/sampled_packets": Expected(
        2, lost={"zlib.crc32(message.data[:12])": "digest = zlib.crc32(message.data[:12])"}
    ),
    # No ARP; no question; about either known address or another.
    "osken/arp_responder": Expected(1 + 1 + 3),
    # From the known station: to it or not.  From a new one: to either or neither.
    "osken/moved_stations": Expected(2 + 3),
    # Either vendor; to IPv4 groups or not.
    "osken/vendor_filter": Expected(2 + 2),
    # To a group; otherwise from the badge, a low number, a high one; each to the printer or not.
    "osken/address_texts": Expected(1 + 3 * 2),
    # No IPv4; from inside or not: to octet 0, 255, others; those to 192 or not.
    "osken/dotted_texts": Expected(1 + 2 * (2 + 2)),
    # No tag, whose VLAN no trunk carries; VLAN 10, 20, 30 or another.
    "osken/trunk_ports": Expected(1 + 4),
    # No ICMP; a request; a reply with code 0 or another; either error; anything else.
    "osken/ping_watch": Expected(1 + 1 + 2 + 2 + 1),
    # No TCP; no SYN; SYN with ACK; without: over IPv6, from the known client, from a new one.
    "osken/syn_guard": Expected(1 + 1 + 1 + 3),
    # No UDP; media, odd or even; below 5060; signalling; other ports above.
    "osken/media_ports": Expected(1 + 2 + 1 + 1 + 1),
    # No IPv4; from inside or not, to the gateway or not.
    "osken/netaddr_zones": Expected(1 + 2 * 2),
    # No IPv4; a group; inside, the host or another; private; elsewhere.
    "osken/ipaddress_zones": Expected(1 + 1 + 2 + 2),
    # To a group; from a made-up address; to either station or none.
    "osken/helper_functions": Expected(1 + 1 + 3),
    # To IPv4 groups; no IPv4; to all of a network or not.
    "osken/packed_addresses": Expected(1 + 1 + 2),
    # LLDP or not; what is written down decides nothing.
    "osken/chatty_hub": Expected(2),
    # Either pair; else no TCP, TCP over IPv6, either service or none.
    "osken/written_keys": Expected(2 + 1 + 1 + 3),
    # Broadcast; no IPv4; no TCP; HTTP or not.
    "osken/struct_parser": Expected(1 + 1 + 1 + 2),
    # No TCP; TCP over IPv6; there, back, new.
    "osken/open_sessions": Expected(1 + 1 + 3),
    # No IPv4; each of three servers.
    "osken/split_load": Expected(1 + 3),
    # No IPv4; from the blocked address; to it; neither.
    "osken/shared_policy": Expected(1 + 3),
    # Three types in the table, and all others.
    "osken/verdict_table": Expected(
        3 + 1,
        unreached={("case None:", "exit"): "the table has no verdict besides these, and get() gives None"},
    ),
    # No TCP; TCP over IPv6.  From .1: port 80, 22, another.  From others: port 22; else from .2 or not.
    "osken/ordered_rules": Expected(1 + 1 + 3 + 3),
    # No IPv4; no time left, which raises; the last hop; more.
    "osken/lifetime_check": Expected(
        4,
        crashes=1,
        unreached={
            ("if ip.version != 4:", 'self.logger.error("not IPv4")'): "os-ken takes nothing else for IPv4"
        },
    ),
    # From the port's own station or not.
    "osken/port_security": Expected(
        2,
        unreached={("if station is None:", "return"): "packets come in by port 1, which has a station"},
    ),
    # No IPv4; to no group; to the known group or a new one, from the known speaker or a new one.
    "osken/group_members": Expected(1 + 1 + 2 * 2),
    # At the edge ARP or not; in the core either station or none.
    "osken/datapath_roles": Expected(2, elsewhere=3),
    # The least is found by asking dst < src, the greatest by dst > src: less, greater, equal; where they
    # differ, the pair is known or not.
    "osken/ordered_texts": Expected(2 + 2 + 1),
    # From each of three: two are left, and none of them.  From a new one: three, and none.
    "osken/other_stations": Expected(3 * 3 + 4),
    # No IPv6; to all nodes; ICMP or not.
    "osken/neighbours_v6": Expected(1 + 1 + 2),
    # What the expression says was lost, and with it the branch.
    "osken/pattern_filter": Expected(
        1,
        lost={"DEVICES.match(eth.src)": "if DEVICES.match(eth.src):"},
        unreached={
            ("if DEVICES.match(eth.src):", "self.send_on(msg, self.FLOOD)"): "whether it fits was lost",
        },
    ),
}


@cache
def explored(name: str) -> dict[str, Exploration[Reaction]]:
    """Return what exploring a handler finds, by switch."""
    handler = ready(handlers()[name], followed=True)
    switches = ("s1", "s2") if EXPECTED[name].elsewhere else ("s1",)
    return {switch: handler.explored(switch) for switch in switches}


def packets(name: str) -> list[tuple[str, Mapping[str, int]]]:
    """Return the packets that stand for a handler's paths, each with its switch."""
    return [(switch, path.inputs) for switch, found in explored(name).items() for path in found.paths]


def shown(found: Exploration[Reaction]) -> str:
    """Return the first paths of many, as conditions in a line each."""
    lines = (" and ".join(map(str, path.condition)) for path in found.paths[:20])
    return "\n".join(line[:200] for line in lines)


def test_every_handler_is_expected_to_do_something() -> None:
    assert handlers().keys() == EXPECTED.keys()
    assert len(EXPECTED) >= 40
    for kind in ("native/", "osken/"):
        assert 3 * sum(name.startswith(kind) for name in EXPECTED) >= len(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_there_are_as_many_paths_as_were_counted_by_hand(name: str) -> None:
    expected = EXPECTED[name]
    for found, wanted in zip(explored(name).values(), (expected.paths, expected.elsewhere), strict=False):
        assert (len(found.paths), found.remarks) == (wanted, ()), shown(found)

    reactions = [path.result for found in explored(name).values() for path in found.paths]
    crashes = [event for made in reactions if made for event in made.events if event.kind == "crashed"]
    assert len(crashes) == expected.crashes, crashes


@pytest.mark.parametrize("name", EXPECTED)
def test_nothing_is_lost_but_what_nobody_can_follow(name: str) -> None:
    file = handlers()[name]
    lines = file.read_text().splitlines()
    places = [loss.place for found in explored(name).values() for loss in found.losses]
    assert {place.file for place in places} <= {str(file)}
    assert {place.expression: lines[place.line - 1].strip() for place in places} == EXPECTED[name].lost


@pytest.mark.parametrize("name", EXPECTED)
def test_the_packets_cover_every_branch_that_can_be_taken(name: str) -> None:
    assert uncovered(handlers()[name], packets(name)) == EXPECTED[name].unreached.keys()


def test_without_some_of_the_packets_branches_stay_uncovered() -> None:
    name = "osken/ping_watch"
    assert uncovered(handlers()[name], packets(name)[:2])
    assert uncovered(handlers()[name], [])


@pytest.mark.parametrize("name", EXPECTED)
def test_a_handler_does_the_same_whether_it_is_followed_or_not(name: str) -> None:
    plain = ready(handlers()[name], followed=False)
    for switch, found in explored(name).items():
        for path in found.paths:
            given = plain.given(switch, path.inputs)
            assert path.result is not None
            assert path.result.sends == given.sends
            assert [event.kind for event in path.result.events] == [event.kind for event in given.events]
