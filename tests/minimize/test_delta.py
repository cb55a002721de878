"""Delta debugging keeps what a test needs, and nothing that can be left out."""

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock._minimize.delta import ddmin, one_by_one

FEW = settings(derandomize=True, deadline=None, max_examples=150)
needs = st.sets(st.integers(0, 39), max_size=6)


@FEW
@given(st.integers(1, 40), needs)
def test_what_is_needed_is_all_that_is_left(size: int, wanted: set[int]) -> None:
    needed = {number for number in wanted if number < size}
    found = ddmin(range(size), lambda some: needed <= set(some))
    assert set(found) == needed or (not needed and len(found) <= 1)


@FEW
@given(
    st.integers(2, 24), st.lists(st.sets(st.integers(0, 23), min_size=1, max_size=4), min_size=1, max_size=4)
)
def test_the_result_is_one_minimal_whatever_the_test_says(size: int, ways: list[set[int]]) -> None:
    def passes(some: tuple[int, ...]) -> bool:
        kept = set(some)
        # Some of the ways only work while an odd number of other things is there, so less may be too little.
        return (
            any(way <= kept and (len(kept - way) % 2 == 0 or len(kept) > 6) for way in within)
            or kept == whole
        )

    whole = set(range(size))
    within = [{number % size for number in way} for way in ways]
    found = ddmin(range(size), passes)
    assert passes(found)
    assert not any(passes(found[:index] + found[index + 1 :]) for index in range(len(found)))


def test_the_order_of_what_is_left_stays() -> None:
    assert ddmin("abcdefgh", lambda some: {"g", "b"} <= set(some)) == ("b", "g")


def test_nothing_is_left_out_of_what_all_is_needed_for() -> None:
    assert ddmin(range(9), lambda some: len(some) == 9) == tuple(range(9))


def test_one_by_one_begins_again_after_it_left_something_out() -> None:
    # 0 can only go once 1 is gone.
    def passes(some: tuple[int, ...]) -> bool:
        return some in ((0, 1, 2), (0, 2), (2,))

    assert one_by_one((0, 1, 2), passes) == (2,)


def test_two_neighbours_that_can_only_go_together_go() -> None:
    def passes(some: tuple[str, ...]) -> bool:
        """Pass at an even moment: two that pass the time may be left out, one may not."""
        return some[-2:] == ("crash", "fail") and len(some) % 2 == 0

    assert ddmin(("send", "check", "crash", "fail"), passes) == ("crash", "fail")
    assert ddmin(("send", "check", "send", "check", "crash", "fail"), passes) == ("crash", "fail")
