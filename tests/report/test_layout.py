"""Networks are drawn the same each time, everybody in a place of their own, neighbours near each other."""

import math

import pytest

from penstock._report.layout import MOST_BY_STRESS, Drawing, drawing_of_shape, place_nodes
from penstock._world.topology import topology

SHAPES = ["single,2", "linear,5", "ring,6", "tree,2,3", "mesh,5", "fattree,4", "torus,3,3", "linear,200"]


def drawn(shape: str) -> Drawing:
    return drawing_of_shape(topology(shape), ["c0"])


@pytest.mark.parametrize("shape", SHAPES)
def test_all_nodes_have_places_of_their_own_in_the_picture(shape: str) -> None:
    drawing = drawn(shape)
    places = place_nodes(drawing)
    assert set(places) == set(drawing.kinds)
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in places.values())
    nearest = min(math.dist(one, other) for a, one in places.items() for b, other in places.items() if a < b)
    assert nearest > 0.5 / len(places) ** 1.5


@pytest.mark.parametrize("shape", SHAPES)
def test_a_network_looks_the_same_each_time(shape: str) -> None:
    assert drawn(shape).as_json() == drawn(shape).as_json()


@pytest.mark.parametrize("shape", ["linear,5", "ring,6", "tree,2,3", "torus,3,3"])
def test_who_is_linked_is_nearer_than_who_is_not(shape: str) -> None:
    drawing = drawn(shape)
    places = place_nodes(drawing)
    linked = {frozenset((a.node, b.node)) for a, b in drawing.links}
    others = [name for name, kind in drawing.kinds.items() if kind != "controller"]
    near, far = list[float](), list[float]()
    for place, one in enumerate(others):
        for other in others[:place]:
            length = math.dist(places[one], places[other])
            (near if frozenset((one, other)) in linked else far).append(length)
    assert sum(near) / len(near) < 0.7 * sum(far) / len(far)


def test_a_row_of_switches_lies_flat_and_begins_on_the_left() -> None:
    places = place_nodes(drawn("linear,5"))
    across = [places[f"s{number}"][0] for number in range(1, 6)]
    assert across == sorted(across)
    assert max(y for name, (_, y) in places.items() if name != "c0") - 0.04 > places["c0"][1]


def test_a_network_too_large_for_stress_is_drawn_all_the_same() -> None:
    drawing = drawn("linear,200")
    assert len(drawing.kinds) > MOST_BY_STRESS
    nodes = drawing.as_json()["nodes"]
    assert isinstance(nodes, list) and len(nodes) == 401


def test_lanes_are_hosts_then_switches_then_the_fabric_then_controllers() -> None:
    assert drawn("linear,2").lanes({"fabric", "s1", "x9"}) == ["h1", "h2", "s1", "s2", "x9", "fabric", "c0"]
    assert "fabric" not in drawn("linear,2").lanes({"s1"})


def test_a_name_with_more_digits_than_a_number_may_have_is_sorted() -> None:
    drawing = Drawing({"h" + "9" * 5000: "host", "h1": "host"})
    assert drawing.lanes(()) == ["h1", "h" + "9" * 5000]
