"""`penstock properties`, and that the registry says what the engines do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.command_lab import penstock

from penstock._fuzz.invariants import DEFAULT
from penstock._properties.registry import (
    ALIASES,
    CHECK,
    FUZZ,
    INVARIANTS,
    PROPERTIES,
    VERIFY,
    canonical,
    entries,
    property_named,
)
from penstock._scenario.scenario import DEFAULT_PROPERTIES
from penstock._verify.named_properties import NAMED, named_property, weaker_form
from penstock.errors import PenstockError


def test_the_table_has_every_property_with_its_sentence(tmp_path: Path) -> None:
    printed = penstock(tmp_path, "properties", status=0)
    for entry in entries():
        assert entry.name in printed and entry.sentence.split()[0] in printed
        assert entry.sentence.endswith(".")


def test_one_property_is_told_with_how_exactly_each_engine_decides_it(tmp_path: Path) -> None:
    printed = penstock(tmp_path, "properties", "LoopFreedom", status=0)
    assert printed.startswith("NoForwardingLoops: ") and "also called LoopFreedom, NoLoops" in printed
    assert "verify: weaker: " in printed


def test_the_same_for_programs(tmp_path: Path) -> None:
    found = json.loads(penstock(tmp_path, "properties", "--json", status=0))["properties"]
    assert {each["name"] for each in found} == {entry.name for entry in entries()}


def test_an_unknown_name_gets_the_nearest(tmp_path: Path) -> None:
    assert "did you mean 'NoBlackHoles'?" in penstock(tmp_path, "properties", "NoBlackHole", status=2)


def test_the_registry_says_which_engines_decide_a_property() -> None:
    engines = {entry.name: set(entry.engines) for entry in entries()}
    assert {name for name, of in engines.items() if CHECK in of} >= set(PROPERTIES)
    assert {name for name, of in engines.items() if VERIFY in of} == set(NAMED)
    assert {name for name, of in engines.items() if FUZZ in of} >= {*PROPERTIES, *INVARIANTS, *DEFAULT}
    assert set(DEFAULT_PROPERTIES) <= set(PROPERTIES)


@pytest.mark.parametrize("alias", ALIASES)
def test_another_name_is_the_same_property_in_every_engine(alias: str) -> None:
    assert property_named(alias).name == canonical(alias)
    if canonical(alias) in NAMED:
        made = named_property(alias)
        assert made is not None and made.name == canonical(alias)


def test_a_weaker_form_is_said_in_the_result() -> None:
    assert "is decided in a weaker form" in weaker_form("NoForwardingLoops")
    assert weaker_form("ControllerCrash") == ""


def test_what_an_engine_does_not_decide_is_refused_with_where_it_belongs() -> None:
    with pytest.raises(PenstockError, match="Only penstock fuzz checks TablesAsOrdered: name it in"):
        property_named("TablesAsOrdered")
    with pytest.raises(PenstockError, match="A proof does not decide NoBlackHoles, which penstock check"):
        named_property("NoBlackHoles")
