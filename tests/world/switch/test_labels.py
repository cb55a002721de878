"""MPLS label stacks: how deep they are, and what turns one into another."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock._world.switch.labels import BOTTOM, MOST_LABELS, Change, LabelStack, changes
from penstock.openflow.fields import ETH_IPV4, ETH_MPLS

INNER, OUTER = 0x2000 | BOTTOM, 0x1000

label = st.integers(1, 0xFFFFF).map(lambda number: number << 12)


@st.composite
def stacks(draw: st.DrawFn) -> LabelStack:
    labels = draw(st.lists(label, max_size=MOST_LABELS))
    if not labels:
        return LabelStack(ETH_IPV4)
    labels[-1] |= BOTTOM
    first, second, third = (*labels, 0, 0)[:MOST_LABELS]
    return LabelStack(ETH_MPLS, (first, second, third))


def carried_out(real: LabelStack, done: list[Change]) -> tuple[int, list[int]]:
    """Return the type and labels after changes, as a packet's bytes would have them."""
    ethertype, labels = real.ethertype, list(real.labels[: real.depth])
    for change in done:
        ethertype = change.ethertype
        if change.kind in ("pop", "set"):
            labels.pop(0)
        if change.kind in ("push", "set"):
            labels.insert(0, change.label)
    return ethertype, labels


def test_the_bottom_bit_ends_a_stack() -> None:
    assert LabelStack(ETH_MPLS, (OUTER, INNER, 0x3000)).depth == 2


def test_there_are_no_labels_under_another_type() -> None:
    assert LabelStack(ETH_IPV4, (OUTER, INNER, 0)).depth == 0


def test_a_stack_without_a_bottom_is_as_deep_as_it_has_labels() -> None:
    assert LabelStack(ETH_MPLS, (OUTER, OUTER, 0)).depth == 2


def test_pushing_and_popping_undo_each_other() -> None:
    stack = LabelStack(ETH_MPLS, (INNER, 0, 0))
    assert stack.pushed(ETH_MPLS, OUTER).popped(ETH_MPLS) == stack


def test_changing_the_outermost_label_sets_it_in_place() -> None:
    stack = LabelStack(ETH_MPLS, (OUTER, INNER, 0))
    assert changes(stack, stack.with_top(0x9000)) == [Change("set", ETH_MPLS, 0x9000)]


def test_all_labels_go_when_no_label_is_to_follow() -> None:
    stack = LabelStack(ETH_MPLS, (OUTER, INNER, 0))
    assert changes(stack, stack.popped(ETH_IPV4)) == [Change("pop", ETH_MPLS), Change("pop", ETH_IPV4)]


@given(stacks())
def test_nothing_is_done_where_nothing_changed(stack: LabelStack) -> None:
    assert changes(stack, stack) == []


@given(stacks(), stacks())
def test_changes_lead_from_one_stack_to_the_other(real: LabelStack, meant: LabelStack) -> None:
    done = changes(real, meant)
    ethertype, labels = carried_out(real, done)
    assert labels == list(meant.labels[: meant.depth])
    assert ethertype == meant.ethertype
