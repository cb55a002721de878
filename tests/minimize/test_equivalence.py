"""Two events are equivalent if they differ in masked values only."""

import pytest

from penstock._replay.recording import mask_values_of, masked, masked_log


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("h1:0 h1#3 [ICMP echo request]", "h1:0 h1#17 [ICMP echo request]"),
        ("h1:0 h1~3 [odd]", "h1:0 [odd]"),
        ("s1 still holds h1#2 in buffer 0", "s1 still holds h1#4 in buffer 3"),
        ("Barrier(xid=7)", "Barrier(xid=0x1f)"),
        ("FlowMod(cookie=1 add)", "FlowMod(cookie=2 add)"),
        ("time c0:3000", "time c0:4000"),
    ],
)
def test_numbers_of_packets_and_transactions_do_not_count(one: str, other: str) -> None:
    assert masked(one) == masked(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("deliver s1:2", "deliver s1:3"),
        ("[ICMP echo request 10.0.0.1 > 10.0.0.2]", "[ICMP echo request 10.0.0.1 > 10.0.0.3]"),
        ("FlowMod(add priority=1)", "FlowMod(add priority=2)"),
    ],
)
def test_what_is_said_counts(one: str, other: str) -> None:
    assert masked(one) != masked(other)


def test_a_scenario_can_name_values_that_do_not_count() -> None:
    mask_values_of(["role"])
    assert masked("(role=master, id=1)") == masked("(role=slave, id=1)") != masked("(role=slave, id=2)")
    mask_values_of([])
    assert masked("role=master") != masked("role=slave")


def test_of_a_log_line_only_the_statement_counts() -> None:
    assert masked_log("switch 3 joined after 0x1f ms") == masked_log("switch 12 joined after 0x20 ms")
    assert masked_log("switch 3 joined") != masked_log("switch 3 left")
