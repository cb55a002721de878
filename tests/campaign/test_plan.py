"""A plan has one job for each app, configuration, topology, engine and seed, and knows what it depends on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.campaign.campaign_lab import CRASHING, MENDED, scenario

from penstock._campaign.campaign import planned
from penstock._campaign.plan import Plan
from penstock.errors import PenstockError

LIST = """
apps = ["*.toml", "hub.py"]
engines = ["check", "fuzz"]
topologies = ["linear,2", "ring,3"]
seeds = [1, 2]
seconds = 5

[configs.plain]

[configs.cold]
search = {start = "cold"}
"""


def plan_of(path: Path, **changes: Any) -> Plan:
    return planned(path, changes)[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    scenario(tmp_path / "apps", "loop", CRASHING)
    (tmp_path / "apps" / "hub.py").write_text(CRASHING)
    (tmp_path / "apps" / "all.list").write_text(LIST)
    (tmp_path / "apps" / "all.list").rename(tmp_path / "apps" / "list.toml")
    return tmp_path / "apps"


def test_a_folder_is_run_by_every_engine(folder: Path) -> None:
    plan = plan_of(folder)
    assert [job.name for job in plan.jobs] == [
        f"{app} · {engine}" for app in ("hub.py:Hub", "loop.toml") for engine in ("check", "verify", "fuzz")
    ]
    assert [left.name for left in plan.left_out] == ["list.toml", "loop_program.py"]


def test_a_list_is_the_product_of_what_it_names_and_a_scenario_keeps_its_topology(folder: Path) -> None:
    names = [job.name for job in plan_of(folder / "list.toml").jobs]
    engines = ("check", "fuzz · seed 1", "fuzz · seed 2")
    hub = [
        f"hub.py:Hub · {config} · {topology} · {engine}"
        for config in ("plain", "cold")
        for topology in ("linear,2", "ring,3")
        for engine in engines
    ]
    loop = [f"loop.toml · {config} · {engine}" for config in ("plain", "cold") for engine in engines]
    assert names == [*hub, *loop]


def test_configurations_topologies_seeds_and_times_reach_the_scenario(folder: Path) -> None:
    jobs = {job.name: job.scenario for job in plan_of(folder / "list.toml").jobs}
    cold = jobs["hub.py:Hub · cold · ring,3 · fuzz · seed 2"]
    assert cold is not None
    assert cold.limits().start == "cold"
    assert (cold.topology, cold.fuzzing().seed, cold.fuzzing().seconds) == ("ring,3", 2, 5)
    assert cold.fuzzing().events == 1000, "the number of inputs stays what decides"
    plain = jobs["loop.toml · plain · check"]
    assert plain is not None
    assert (plain.limits().start, plain.limits().seconds, plain.topology) == ("joined", 5, "single,2")


def test_a_scenario_that_is_quicker_stays_so(tmp_path: Path) -> None:
    scenario(tmp_path, "loop", CRASHING, "\n[search]\nseconds = 2\n")
    (job,) = plan_of(tmp_path, engines=("check",), seconds=9).jobs
    assert job.scenario is not None
    assert job.scenario.limits().seconds == 2


def test_options_of_the_command_take_the_place_of_the_lists(folder: Path) -> None:
    plan = plan_of(folder / "list.toml", engines=("verify",), topologies=("single,3",))
    assert {job.engine for job in plan.jobs} == {"verify"}
    assert {job.topology for job in plan.jobs} == {"single,3", ""}


def test_a_key_changes_with_the_code_and_with_nothing_else(folder: Path) -> None:
    before = {job.name: job.key for job in plan_of(folder).jobs}
    assert before == {job.name: job.key for job in plan_of(folder).jobs}
    (folder / "loop_program.py").write_text(MENDED.replace("class Hub", "class _Hub"))
    after = {job.name: job.key for job in plan_of(folder).jobs}
    assert {name for name in before if before[name] != after[name]} == {
        "loop.toml · check",
        "loop.toml · verify",
        "loop.toml · fuzz",
    }
    assert plan_of(folder).digest != plan_of(folder, seconds=7).digest


def test_one_program_is_the_same_however_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "hub.py").write_text(CRASHING)
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "it.toml").write_text("controller = {native = '../hub.py:Hub'}\n")
    assert len({job.program for job in plan_of(tmp_path).jobs}) == 1


def test_a_process_is_for_fuzz_alone_which_is_told(tmp_path: Path) -> None:
    (tmp_path / "live.toml").write_text('[controller]\ncmd = "x {port}"\nport = 6653\n')
    plan = plan_of(tmp_path)
    assert [job.name for job in plan.jobs] == ["live.toml · fuzz"]
    assert [(left.name, left.why) for left in plan.left_out] == [
        (f"live.toml by {engine}", "its controller is a process of its own, which only fuzz runs")
        for engine in ("check", "verify")
    ]


def test_a_scenario_that_is_wrong_is_a_job_with_its_error(tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text("topolgy = 'ring,3'\n[controller]\napps = ['x.py']\n")
    (job,) = plan_of(tmp_path, engines=("check",)).jobs
    assert job.scenario is None
    assert "'topolgy'" in job.error


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("apps = ['x.py'", "is not valid TOML"),
        ("", "names nothing to run"),
        ("[controller]\napps = ['x.py']\n", "is a scenario and no list"),
        ("apps = ['x.py']\nenginess = ['check']\n", "unknown key 'enginess' in .*: did you mean 'engines'"),
        ("apps = ['x.py']\nengines = ['chekc']\n", "did you mean 'check'"),
        ("apps = ['x.py']\nengines = []\n", "leaves nothing to do"),
        ("apps = ['x.py']\nseconds = 0\n", "seconds = 0 .* must be a number above 0"),
        ("apps = ['x.py']\n[configs.a]\ntopologie = 'x'\n", "did you mean 'topology'"),
        ("apps = ['missing.py']\n", "There is no file"),
    ],
)
def test_a_list_that_is_wrong_is_one_sentence(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "list.toml").write_text(text)
    (tmp_path / "x.py").write_text(CRASHING)
    with pytest.raises(PenstockError, match=told):
        plan_of(tmp_path / "list.toml")
