"""Which reasons to send a packet nowhere mean that it was dropped on purpose."""

from __future__ import annotations

import pytest

from penstock._world.switch import budgets, drops
from penstock._world.switch.drops import Ended
from penstock.errors import PenstockError

MEANT = (drops.NO_OUTPUT, drops.no_bucket(1, live=False), drops.exceeds(100, 1))
LOST = (
    drops.ONLY_CHANGED,
    drops.NO_TIME_TO_LIVE,
    drops.NO_CONTROLLER,
    drops.TOO_MANY_LABELS,
    *map(str, budgets.PACKET_BUDGETS),
    drops.no_port(9),
    drops.port_down(2),
    drops.not_forwarding(2),
    drops.ingress_port(1),
    drops.no_group(7),
    drops.learned_there(1),
    drops.BETWEEN_BRIDGES,
    drops.FROM_NOWHERE,
    drops.no_bucket(1, live=True),
    drops.no_rule(1),
    drops.no_rule(0, handed_over=True),
)


@pytest.mark.parametrize("reason", MEANT)
def test_what_was_meant(reason: str) -> None:
    assert drops.kind_of(reason) is Ended.DROPPED


@pytest.mark.parametrize("reason", LOST)
def test_what_is_lost(reason: str) -> None:
    assert drops.kind_of(reason) is Ended.LOST
    assert drops.kind_of(drops.together([drops.NO_OUTPUT, reason])) is Ended.LOST


def test_a_flood_without_another_port_says_nothing() -> None:
    assert drops.kind_of(drops.NO_OTHER_PORT) is Ended.ASTRAY


@pytest.mark.parametrize(
    ("ends", "hole"),
    [
        ((Ended.ASTRAY,), True),
        ((Ended.LOST,), True),
        ((Ended.DROPPED,), False),
        ((Ended.ASTRAY, Ended.DROPPED), False),
        ((Ended.LOST, Ended.DROPPED), True),
        ((Ended.KEPT, Ended.LOST), False),
    ],
)
def test_a_packet_is_lost_if_no_copy_of_it_was_dropped_on_purpose_or_another_was_lost(
    ends: tuple[Ended, ...], hole: bool
) -> None:
    assert drops.is_black_hole(ends) is hole


def test_what_a_scenario_may_say() -> None:
    assert drops.given_drops({}, "NoBlackHoles") == "meant"
    with pytest.raises(
        PenstockError,
        match='invalid drops = "maybe" of NoBlackHoles: must be "meant" or "lost"'.replace(
            '"maybe"', "'maybe'"
        ),
    ):
        drops.given_drops({"drops": "maybe"}, "NoBlackHoles")
