"""Properties by name, as scenario files give them, and what is said about names that do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.properties.property_lab import lab, search
from tests.properties.sample_controllers import Hub

from penstock._properties.paths import FlowAffinity, UseCorrectRoutingTable
from penstock._properties.registry import PROPERTIES, property_named
from penstock._world.hosts import host
from penstock.errors import PenstockError

OWN = """
from penstock._properties.base import Property, Violated
from penstock._properties.base import at_rest, invariant


class Limit(Property):
    def __init__(self, most: int = 3) -> None:
        self.most = most


@invariant(reads=("s1",))
def decorated(s1):
    return True


def plain(h1, h2):
    return True


def path(packet, switch):
    return None


number = 7
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "bad.py").write_text("import penstock\nraise ValueError('half done')\n")
    return tmp_path


@pytest.mark.parametrize("name", sorted(set(PROPERTIES) - {"FlowAffinity", "UseCorrectRoutingTable"}))
def test_every_property_of_the_library_is_found_by_its_name(name: str) -> None:
    made = property_named(name)
    assert made.name == name
    assert made.sentence.endswith(".") and made.needs


def test_the_library_is_the_papers_and_three_more() -> None:
    assert list(PROPERTIES) == [
        "NoForwardingLoops",
        "NoBlackHoles",
        "NoBlackHolesMobile",
        "NoAmbiguousRules",
        "DirectPaths",
        "StrictDirectPaths",
        "NoForgottenPackets",
        "FlowAffinity",
        "UseCorrectRoutingTable",
        "ControllerCrash",
        "ControllerHang",
    ]


def test_options_are_the_parameters_of_the_class(folder: Path) -> None:
    affinity = property_named("FlowAffinity", {"replicas": ["h2", "h3"]})
    assert isinstance(affinity, FlowAffinity) and affinity.replicas == ("h2", "h3")
    routing = property_named("UseCorrectRoutingTable", {"path": "own.py:path"}, folder)
    assert isinstance(routing, UseCorrectRoutingTable) and routing.path(None, "s1") is None


def test_properties_of_ones_own_come_from_a_file(folder: Path) -> None:
    limit: Any = property_named("own.py:Limit", {"most": 5}, folder)
    assert limit.most == 5
    assert property_named("own.py:decorated", folder=folder).reads == ("s1",)
    plain = property_named("own.py:plain", folder=folder)
    hosts = {"h1": host("client", to="h2")}
    assert search(lab("single,2", Hub(), hosts), plain).exercised["plain"] > 1


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("NoBlackHole", {}, "unknown property 'NoBlackHole': did you mean 'NoBlackHoles'?"),
        ("Safety", {}, "unknown property 'Safety': use one of NoForwardingLoops, NoBlackHoles, "),
        ("FlowAffinity", {}, "missing 'replicas' in the property FlowAffinity: must be a list of strings."),
        (
            "DirectPaths",
            {"hosts": 2},
            "unknown key 'hosts' in the property DirectPaths: it may have nothing more.",
        ),
        (
            "own.py:Limit",
            {"least": 2},
            "unknown key 'least' in the property own.py:Limit: it may have most.",
        ),
        ("own.py:decorated", {"most": 2}, "The property own.py:decorated takes no options: leave out most."),
        ("own.py:number", {}, "own.py:number is not a property: name a subclass of Property or a function."),
        ("own.py:missing", {}, "own.py has no 'missing'"),
        ("none.py:Limit", {}, "There is no file none.py"),
        ("bad.py:Limit", {}, "bad.py failed to load: ValueError: half done at "),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(
    folder: Path, name: str, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(PenstockError) as refused:
        property_named(name, options, folder)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_two_properties_of_one_name_are_refused() -> None:
    with pytest.raises(PenstockError, match="Two properties are called NoBlackHoles: leave one out"):
        search(lab("single,2", Hub(), {}), property_named("NoBlackHoles"), property_named("NoBlackHoles"))
