"""Whatever stands in a field of a scenario is taken, or refused in one sentence."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock import _api as api
from penstock._base.typed import toml_of
from penstock._cli.scenarios import scenario_from
from penstock._controllers.controller import Controller
from penstock._engine.building import build, plan
from penstock._fuzz.building import build_setting
from penstock._scenario.options import (
    Apps,
    Command,
    FuzzOptions,
    Limits,
    MininetFile,
    NativeProgram,
    SymbolicOptions,
    VerifyOptions,
    options_of,
)
from penstock._scenario.scenario import Scenario, load_scenario, scenario_of
from penstock._world.fabric import Mobility
from penstock._world.faults import Faults
from penstock._world.hosts import KINDS
from penstock._world.hosts.host import GIVEN
from penstock._world.switch import SwitchOptions
from penstock.errors import PenstockError

PING = '[hosts.h1]\nkind = "ping"\nto = "h2"\n'
SILENT = "from penstock._controllers.native import Controller\n\n\nclass Silent(Controller):\n    pass\n"

texts = st.sampled_from(
    ["", "x", "h1", "h2", "s1:9", "1.0", "fifo", "linear,2", "NoForwardingLoops", "file.py:Name", "\0"]
)
plain = st.one_of(
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([10**6, -(10**30), 2**70]),
    st.floats(),
    texts,
    st.text(max_size=5),
    st.just(datetime.date(2024, 1, 1)),
    st.just(datetime.time(1, 2)),
)
names = st.sampled_from(["name", "places", "h1", "c0", "kind", "x"])
toml_values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=5
)

TABLES: Mapping[str, type] = {
    "search": Limits,
    "fuzz": FuzzOptions,
    "verify": VerifyOptions,
    "switches": SwitchOptions,
    "faults": Faults,
    "symbolic": SymbolicOptions,
}

PLACES: list[tuple[str, ...]] = [
    *((item.name,) for item in fields(Scenario) if item.name != "folder"),
    *((table, item.name) for table, kind in TABLES.items() for item in fields(kind)),
    *(("controller", item.name) for kind in (Apps, NativeProgram, Command) for item in fields(kind)),
    *(("topology", item.name) for item in fields(MininetFile)),
    ("controllers", "c0"),
    ("hosts", "h1"),
    ("hosts", "h1", "kind"),
    *(("hosts", "h1", "mobility", item.name) for item in fields(Mobility)),
]
HOSTS = [
    (kind, item.name)
    for kind, made in KINDS.items()
    for item in fields(made)
    if item.init and item.name not in GIVEN
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("scenario")
    (made / "silent.py").write_text(SILENT)
    return made


def table_with(place: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return a whole scenario, but for one field."""
    table: dict[str, Any] = {"controller": {"native": "silent.py:Silent"}, "topology": "single,2"}
    if place[0] == "controllers":
        del table["controller"]
    if place[:2] in (("controller", "apps"), ("controller", "cmd")):
        table["controller"] = {}
    inside = table
    for name in place[:-1]:
        inside[name] = dict(inside[name]) if isinstance(inside.get(name), dict) else {}
        inside = inside[name]
    inside[place[-1]] = value
    return table


def put_together(scenario: Scenario) -> None:
    """Read all tables of a scenario and build its networks, as the commands do."""
    options_of(scenario.verify)
    plan(scenario)
    build(scenario)
    build_setting(scenario)


def refused_or_taken(scenario: Any) -> str:
    try:
        put_together(scenario())
    except PenstockError as refusal:
        sentence = str(refusal)
        assert "\n" not in sentence and sentence.endswith((".", "?")), sentence
        assert "does not fit together" not in sentence, sentence
        return sentence
    return ""


quickly = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("place", PLACES, ids=".".join)
@quickly
@given(value=toml_values)
def test_any_value_in_any_field_is_taken_or_refused_in_a_sentence(
    place: tuple[str, ...], value: Any, folder: Path
) -> None:
    refused_or_taken(lambda: scenario_of(table_with(place, value), folder))


@pytest.mark.parametrize(("kind", "option"), HOSTS, ids="-".join)
@quickly
@given(value=toml_values)
def test_any_value_in_any_option_of_any_host_is_taken_or_refused(
    kind: str, option: str, value: Any, folder: Path
) -> None:
    host = {"kind": kind, "to": "h2", option: value} if "to" in str(fields(KINDS[kind])) else {"kind": kind}
    refused_or_taken(lambda: scenario_of(table_with(("hosts", "h1"), {**host, option: value}), folder))


@pytest.mark.parametrize("place", [place for place in PLACES if len(place) == 1], ids=".".join)
@quickly
@given(value=toml_values)
def test_the_same_holds_in_python(place: tuple[str, ...], value: Any, folder: Path) -> None:
    whole = table_with(place, value)
    refused_or_taken(lambda: replace(Scenario(folder=folder), **whole))
    with pytest.raises((PenstockError, Stop)):
        api.check(Scenario(folder=folder), **whole, output=Refusing())


@pytest.mark.parametrize("option", ["topology", "custom", "properties", "ping", "strategies"])
@quickly
@given(
    text=texts
    | st.text(max_size=6)
    | st.sampled_from(["h1,h2", "pkt-seq:count=x", "pkt-seq:count=", "races:", "tree,9,9", "x.py:y", "a,b"])
)
def test_any_text_on_the_command_line_is_taken_or_refused(option: str, text: str, folder: Path) -> None:
    file = folder / "scenario.toml"
    file.write_text('[controller]\nnative = "silent.py:Silent"\n')
    given = text if option in ("topology", "custom") else (text,)
    refused_or_taken(lambda: scenario_from(file, **{option: given}))


class Stop(Exception):
    """A search was about to begin: what was given is taken."""


class Refusing:
    """A folder for traces that cannot be made."""

    def __fspath__(self) -> str:
        raise Stop


def test_every_field_is_reached(folder: Path) -> None:
    assert len(PLACES) > 60 and len(HOSTS) > 40
    assert refused_or_taken(lambda: scenario_of(table_with(("topology",), "single,2"), folder)) == ""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "topology = 3",
            "invalid topology = 3 in the scenario: must be a string, a table or a Topology, as in ",
        ),
        ("topology = {}", "missing 'mininet' in [topology]: must be a path, as in \"file.py\"."),
        ('topology = "liner,3"', "unknown topology 'liner,3': did you mean linear,"),
        (
            "[controller]\napps = 3",
            'invalid apps = 3 in [controller]: must be a list of strings, as in ["app.py"].',
        ),
        ("[controller]\napps = []", "apps in [controller] names no app"),
        ('[search]\ndepth = "4"', 'invalid depth = "4" in [search]: must be an integer of at least 1.'),
        ("[search]\nseconds = nan", "invalid seconds = NaN in [search]: must be a number above 0."),
        ('[search]\norder = "depth"', 'must be "breadth-first" or "depth-first"'),
        ("[hosts]\nh1 = 3", "invalid hosts.h1 = 3 in the scenario: must be a table"),
        ('[hosts.h1]\nkind = "pnig"\nto = "h2"', "unknown kind of host 'pnig': did you mean 'ping'?"),
        (
            '[hosts.h1]\nkind = "ping"\nto = "h2"\ncont = 3',
            "'cont' in [hosts.h1]: did you mean 'count'",
        ),
        ("[faults]\ndrops = true", "invalid drops = true in [faults]: must be an integer of at least 0."),
        ('[switches]\nreorder = "between-bariers"', "did you mean 'between-barriers'?"),
        ("[symbolic]\nmessages = 3", "invalid messages = 3 in [symbolic]: must be a list of"),
        ("propertis = []", "unknown key 'propertis' in the scenario: did you mean 'properties'?"),
        (
            "properties = [3]",
            "invalid properties[0] = 3 in the scenario: must be a string, a table or a Property.",
        ),
    ],
)
def test_what_is_wrong_is_named_with_what_is_expected(text: str, sentence: str, folder: Path) -> None:
    native = "" if "[controller]" in text else '\n[controller]\nnative = "silent.py:Silent"\n'
    file = folder / "wrong.toml"
    file.write_text(f"{text}\n{native}")
    assert sentence in refused_or_taken(lambda: load_scenario(file))


def test_a_single_value_stands_for_a_list_of_one(folder: Path) -> None:
    table = {
        "controller": {"native": "silent.py:Silent"},
        "properties": "NoBlackHoles",
        "search": {"strategies": "no-delay", "reductions": "ample"},
        "fuzz": {"invariants": "NoForwardingLoops", "masks": "role"},
        "verify": {"properties": "NoForwardingLoops"},
        "faults": {"targets": "s1"},
        "symbolic": {"messages": "statistics"},
    }
    file = folder / "lists.toml"
    file.write_text(toml_of(table))
    scenario = load_scenario(file)
    assert scenario.properties == ("NoBlackHoles",)
    assert scenario.limits().strategies == ("no-delay",) and scenario.limits().reductions == ("ample",)
    assert scenario.fuzzing().invariants == ("NoForwardingLoops",)
    assert options_of(scenario.verify).properties == ("NoForwardingLoops",)
    assert Apps("x.py").apps == ("x.py",)  # type: ignore[arg-type]
    assert refused_or_taken(lambda: replace(scenario, symbolic={})) == ""


class Marked(Controller):
    """A controller as an object."""


def test_objects_are_taken_in_python_where_files_have_names() -> None:
    scenario = Scenario(Marked(), properties=[], hosts={"h1": KINDS["host"]})
    assert refused_or_taken(lambda: scenario) == ""
    with pytest.raises(PenstockError, match="invalid controller = 3 in the scenario: must be a table"):
        Scenario(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"fuzz": {"sead": 3}}, "unknown key 'sead' in [fuzz]: did you mean 'seed'?"),
        ({"verify": {"mood": "x"}}, "unknown key 'mood' in [verify]: did you mean 'mode'?"),
        ({"faults": {"drop": 1}}, "unknown key 'drop' in [faults]: did you mean 'drops'?"),
        ({"search": {"state": 1}}, "unknown key 'state' in [search]: did you mean 'states'?"),
        ({"switches": {"buffer": 1}}, "unknown key 'buffer' in [switches]: did you mean 'buffers'?"),
        ({"switches": {"version": 1}}, "version does not belong in [switches]: write openflow = "),
        ({"controller": {"aps": ["x.py"]}}, "unknown key 'aps' in [controller]: did you mean 'apps'?"),
        (
            {"controller": {"apps": ["x.py"], "native": "x.py:X"}},
            "[controller] has both apps and native: keep one of them.",
        ),
        (
            {"controllers": {"c1": {"apps": ["x.py"], "cmd": "x"}}},
            "[controllers.c1] has both apps and cmd: keep one of them.",
        ),
        ({"link_failures": 1}, "The key 'link_failures' belongs in [faults], not"),
        (
            {"seconds": 1},
            "The key 'seconds' belongs in [symbolic] or [search] or [fuzz], not",
        ),
    ],
    ids=str,
)
def test_a_table_that_a_command_has_no_use_for_is_held_against_its_fields_all_the_same(
    table: dict[str, object], sentence: str
) -> None:
    with pytest.raises(PenstockError, match=f"^{re.escape(sentence)}"):
        scenario_of(table, Path())
