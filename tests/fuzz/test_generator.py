"""The generator draws by rate and by seed, and only what is possible."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from tests.fuzz.fuzz_lab import Flooder, opened, perform, scenario

from penstock._fuzz import building
from penstock._fuzz.building import KINDS, PROFILES, build_setting, rates_of
from penstock._fuzz.generator import Generator
from penstock._fuzz.harness import Harness
from penstock._fuzz.inputs import InjectFrame, Input, Wait
from penstock._scenario.options import FuzzOptions
from penstock.errors import PenstockError
from penstock.packet import describe


def drawn(stage: Harness, seed: int, count: int, *, performed: bool = True) -> list[Input]:
    generator = Generator(stage.setting, seed)

    async def draw() -> list[Input]:
        found = []
        for _ in range(count):
            found.append(generator.next(stage.possible()))
            if performed:
                await stage.perform(found[-1])
        return found

    return asyncio.run(draw())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("topology", ["linear,2", "ring,3", "single,1"])
def test_whatever_is_drawn_can_be_performed(tmp_path: Path, topology: str, seed: int) -> None:
    """The stage refuses what is impossible, so a run without an exception shows that nothing was."""
    stage = opened(tmp_path, scenario(Flooder(), topology=topology, fuzz={"deliveries": 4}))
    assert len(drawn(stage, seed, 250)) == 250


def test_every_kind_of_the_fullest_profile_is_drawn_sooner_or_later(tmp_path: Path) -> None:
    given = scenario(topology="linear,3", fuzz={"deliveries": 4, "profile": "everything"})
    stage = opened(tmp_path, given)
    verbs = Counter(what.verb for what in drawn(stage, 1, 1500))
    every = "fail recover crash restart disconnect reconnect partition heal send inject drop duplicate"
    every += " delay hold release move limit unlimit forget ignore check wait"
    assert set(every.split()) <= set(verbs), verbs


def test_the_same_seed_draws_the_same_and_another_seed_something_else(tmp_path: Path) -> None:
    texts = []
    for seed in (5, 5, 6):
        stage = opened(tmp_path, scenario())
        texts.append([str(what) for what in drawn(stage, seed, 120)])
    assert texts[0] == texts[1] != texts[2]


def test_rates_decide_how_often_a_kind_is_drawn(tmp_path: Path) -> None:
    fuzz = {
        "profile": "traffic",
        "rates": {"packet": 3, "check": 1, "broadcast": 0, "odd_packet": 0, "wait": 0},
    }
    stage = opened(tmp_path, scenario(fuzz=fuzz))
    verbs = Counter(what.verb for what in drawn(stage, 1, 400, performed=False))
    assert set(verbs) == {"send", "check"}
    assert 2 < verbs["send"] / verbs["check"] < 4.5


def test_where_nothing_else_is_possible_time_passes(tmp_path: Path) -> None:
    rates = {**dict.fromkeys(PROFILES["links"], 0), "link_recovery": 1}
    stage = opened(tmp_path, scenario(fuzz={"profile": "links", "rates": rates}))
    assert all(isinstance(what, Wait) for what in drawn(stage, 1, 5))
    perform(stage, "fail s1-s2")
    assert [str(what) for what in drawn(stage, 1, 1)] == ["recover s1-s2"]


def test_packets_of_the_classes_that_the_controller_tells_apart_are_drawn_on_request(tmp_path: Path) -> None:
    rates = {**dict.fromkeys(PROFILES["traffic"], 0), "class_packet": 1}
    stage = opened(tmp_path, scenario(topology="single,2", fuzz={"profile": "traffic", "rates": rates}))
    packets = drawn(stage, 1, 12)
    assert all(isinstance(what, InjectFrame) for what in packets)
    phrases = {describe(what.data) for what in packets if isinstance(what, InjectFrame)}
    assert len(phrases) > 2


def test_classes_of_packets_need_a_controller_that_can_be_asked() -> None:
    given = scenario({"cmd": "true"}, fuzz={"rates": {"class_packet": 1}})
    with pytest.raises(PenstockError, match=r"class_packet .* in process"):
        build_setting(given)


def test_profiles_name_only_kinds_and_are_all_documented() -> None:
    assert building.__doc__ is not None
    for name, rates in PROFILES.items():
        assert f"`{name}`" in building.__doc__
        assert set(rates) <= set(KINDS)
        assert rates_of(name, {}) == {kind: rates[kind] for kind in KINDS if kind in rates}


@pytest.mark.parametrize(
    ("profile", "rates", "hint"),
    [
        ("link", {}, "did you mean 'links'"),
        ("links", {"link_failures": 1}, "did you mean 'link_failure'"),
        ("links", {"link_failure": -1}, "link_failure.* must be a number of at least 0"),
        ("links", {"link_failure": float("inf")}, "link_failure.* must be a number of at least 0"),
        ("links", {"link_failure": "often"}, "link_failure.* must be a number of at least 0"),
        ("links", dict.fromkeys(PROFILES["links"], 0), "All rates"),
    ],
)
def test_rates_that_make_no_sense_are_refused(profile: str, rates: dict[str, float], hint: str) -> None:
    with pytest.raises(PenstockError, match=hint):
        rates_of(profile, FuzzOptions(profile=profile, rates=rates).rates)
