"""Inputs that belong together are left out together; what is left makes sense without the others."""

from penstock._fuzz.inputs import endpoint_of, input_of
from penstock._minimize.delta import cues_of, singles, units_of
from penstock._replay.recording import Action, RecordedInput, rewritten

HOMES = {"h1": endpoint_of("s1:1"), "h2": endpoint_of("s2:1")}


def cues(*texts: str) -> tuple[RecordedInput, ...]:
    return tuple(RecordedInput(input_of(text), line) for line, text in enumerate(texts, 1))


def test_a_failure_and_its_recovery_are_one_unit() -> None:
    given = cues("fail s1-s2", "send h1 to h2 ping 1", "fail s2", "recover s1-s2", "recover s2", "recover s3")
    assert [str(unit) for unit in units_of(given)] == [
        "fail s1-s2 … recover s1-s2",
        "send h1 to h2 ping 1",
        "fail s2 … recover s2",
        "recover s3",
    ]


def test_every_kind_of_pair_is_known() -> None:
    given = cues(
        *("crash c0", "restart c0", "disconnect s1-c0", "reconnect s1-c0", "partition c0", "heal c0"),
        *("hold s1:c0", "release s1:c0", "limit s1 to 3", "unlimit s1"),
    )
    assert [len(unit.inputs) for unit in units_of(given)] == [2] * 5


def test_what_the_fabric_did_in_a_search_is_paired_too() -> None:
    given = (
        RecordedInput(Action("fabric fail s1-s2"), 1),
        RecordedInput(Action("h1 send"), 2),
        RecordedInput(Action("fabric recover s1-s2"), 3),
    )
    assert [str(unit) for unit in units_of(given)] == ["fabric fail s1-s2 … fabric recover s1-s2", "h1 send"]


def test_a_strangers_text_may_say_less() -> None:
    given = (
        RecordedInput(Action("fabric"), 1),
        RecordedInput(Action("fabric fail"), 2),
        RecordedInput(Action("fabric recover"), 3),
    )
    assert [len(unit.inputs) for unit in units_of(given)] == [1, 2]


def test_units_go_back_to_the_inputs_in_their_order() -> None:
    given = cues("fail s1-s2", "check", "recover s1-s2", "check")
    assert cues_of(units_of(given)) == given
    assert cues_of(reversed(singles(units_of(given)))) == given


def test_a_move_to_where_the_host_still_is_means_nothing() -> None:
    away, back, ping = cues("move h1 to s2:5", "move h1 to s1:1", "send h1 to h2 ping 1")
    assert rewritten((away, back, ping), (away, back, ping), HOMES) == ((away, back, ping), ())
    assert rewritten((away, back, ping), (back, ping), HOMES) == ((ping,), (2,))


def test_the_link_of_a_host_that_did_not_move_has_its_old_name() -> None:
    given = cues("move h1 to s2:5", "fail h1-s2", "fail s1-s2", "move h1 to s1:1", "recover h1-s1")
    kept, idle = rewritten(given, given[1:], HOMES)
    assert [str(cue) for cue in kept] == ["fail h1-s1", "fail s1-s2", "recover h1-s1"]
    assert idle == (4,)
