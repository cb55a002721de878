"""The loops of a backbone, against what single addresses do in it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from bench.backbone import Backbone, Tables, generated, read_backbone

from penstock.errors import PenstockError

Place = tuple[str, str]


def ways_round(backbone: Backbone, rules: list[list[str]], address: int) -> set[tuple[Place, ...]]:
    """Return the ways round that packets for an address go, worked out without any class."""
    best: dict[str, tuple[int, int, str]] = {}
    for sequence, words in enumerate(rules):
        length, start = int(words[4]), int(words[3])
        if (address ^ start) >> 32 - length == 0:
            known = best.get(words[2])
            key = (-length, sequence, words[5])
            if known is None or key < known:
                best[words[2]] = key
    graph: dict[Place, list[Place]] = {}
    for near, by, *_ in [[edge[2], edge[3]] for edge in backbone.edges]:
        port = best[near][2] if near in best else ""
        ports = backbone.vlans.get((near, port), [port])
        graph[near, by] = [
            (far, other)
            for here, out, far, other in backbone.edges
            if here == near and out in ports and out != by
        ]
    found: set[tuple[Place, ...]] = set()

    def walk(path: list[Place]) -> None:
        for following in graph[path[-1]]:
            if following == path[0]:
                least = path.index(min(path))
                found.add((*path[least:], *path[:least]))
            elif following not in path:
                walk([*path, following])

    for start_place in graph:
        walk([start_place])
    return found


def test_loops_come_and_go_as_single_addresses_say() -> None:
    backbone = generated(320, lists=False)
    tables = Tables(backbone)
    addresses = {int(words[3]) + more for words in backbone.updates for more in (0, 1)}
    rules: list[list[str]] = []
    there: set[tuple[Place, ...]] = set()
    met = 0
    for number, words in enumerate(backbone.updates):
        come, gone = tables.apply(words)
        assert there.isdisjoint(come) and there.issuperset(gone)
        there = there.union(come).difference(gone)
        if words[0] == "+":
            rules.append(words[1:])
        else:
            rules.remove(words[1:])
        if not number % 41:
            wanted = set().union(
                *(ways_round(backbone, [["+", *one] for one in rules], one) for one in addresses)
            )
            assert there == wanted
            met += bool(wanted)
    assert met and not there and not tables.loops.partial


def test_each_loop_is_told_once_when_it_comes_and_once_when_it_goes() -> None:
    backbone = generated(2_000)
    tables = Tables(backbone)
    come, gone = Counter[object](), Counter[object]()
    for words in backbone.updates:
        new, old = tables.apply(words)
        come.update(new)
        gone.update(old)
    assert come == gone and set(come.values()) == {1}
    assert len(tables.loops) == 0


def line(action: str, src: str) -> list[str]:
    return f"acl b_1_p2 access-list l {action} 0 255 {src} null null null any null null null 9".split()


def test_a_loop_past_an_access_list_is_there_while_some_packet_gets_by() -> None:
    edges = [["a", "p1", "b_1_p2_in", "inport"], ["b_1_p2_in", "permit", "b", "p2"], ["b", "p2x", "a", "p1x"]]
    routes = [["fwd", "a", "0", "0", "p1", "0"], ["fwd", "b", "0", "0", "p2x", "0"]]
    tables = Tables(Backbone("two", edges, {}, [["+", *route] for route in routes]))
    for route in routes:
        assert tables.apply(["+", *route]) == ([], [])
    way = (("a", "p1x"), ("b", "p2"))
    assert tables.apply(["+", *line("permit", "10.0.0.0")]) == ([way], [])
    assert tables.apply(["+", *line("permit", "11.0.0.0")]) == ([], [])
    assert tables.apply(["-", *line("permit", "10.0.0.0")]) == ([], [])
    assert tables.apply(["-", *line("permit", "11.0.0.0")]) == ([], [way])


def test_a_folder_without_the_files_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match=r"topo\.txt cannot be read: No such file or directory\."):
        read_backbone(tmp_path)
