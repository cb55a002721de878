"""Every path of a program is found once, with inputs that take it."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from tests.hash_seeds import printed_under_hash_seeds

from penstock._concolic.paths import Exploration, explore
from penstock._concolic.run import MOST_DECISIONS, Run, lose
from penstock._concolic.solving.solver import Solver
from penstock._concolic.space import Inputs, Space, Variable
from penstock._concolic.terms import Term, add, bits, const, eq, evaluate, lt, mul, negation

X, Y = Variable("x", 8), Variable("y", 8)
SPACE = Space((X, Y))


def ask(condition: Term, inputs: Inputs) -> bool:
    """Decide as a value that depends on inputs would."""
    assert Run.current is not None
    return Run.current.decide(condition, bool(evaluate(condition, inputs)))


def look_up(key: Term, table: Iterable[Term], inputs: Inputs) -> int | None:
    """Return where in a table a key is, comparing it with one entry after the other."""
    return next((index for index, known in enumerate(table) if ask(eq(key, known), inputs)), None)


def check_representatives(program: Callable[[Inputs], object], found: Exploration[Any]) -> None:
    """Assert that inputs of a path take it, and no two paths share theirs."""
    for path in found.paths:
        with Run() as run:
            assert program(path.inputs) == path.result
        assert run.decisions == list(path.decisions)
        assert all(evaluate(condition, path.inputs) for condition in path.condition)
    assert len({tuple(path.inputs.items()) for path in found.paths}) == len(found.paths)


def learning_switch(known: int) -> tuple[Callable[[Inputs], str], Space]:
    """Return a program that decides as Ryu's `simple_switch_13` with so many known addresses."""
    addresses = range(1, known + 1)
    kind = Variable("eth_type", 16, (0x0800, 0x88CC), "hex")
    src = Variable("eth_src", 48, (*addresses, 0xFE), "mac")
    dst = Variable("eth_dst", 48, (*addresses, 0xFE, (1 << 48) - 1), "mac")

    def program(inputs: Inputs) -> str:
        if ask(eq(kind.term, const(0x88CC)), inputs):
            return "ignored"
        table = [const(address) for address in addresses]
        if look_up(src.term, table, inputs) is None:
            table.append(src.term)
        return "flooded" if look_up(dst.term, table, inputs) is None else "forwarded"

    return program, Space((kind, src, dst), (eq(bits(src.term, 40, 1), const(0)),))


@pytest.mark.parametrize("known", [0, 1, 2, 5, 10])
def test_a_learning_switch_has_a_path_for_each_pair_of_keys_met(known: int) -> None:
    program, space = learning_switch(known)
    found = explore(program, space)
    # One ignored; with a known source each destination or none; with a new one its own key too.
    assert len(found.paths) == 1 + known * (known + 1) + known + 2
    assert found.complete
    assert found.remarks == ()
    check_representatives(program, found)


def test_a_program_that_asks_nothing_has_one_path() -> None:
    found = explore(lambda inputs: sum(inputs.values()), SPACE)
    (path,) = found.paths
    assert (path.inputs, path.result, path.condition) == ({"x": 0, "y": 0}, 0, ())
    assert found.complete
    assert (found.runs, found.queries) == (1, 2)


def test_impossible_combinations_are_no_paths() -> None:
    def program(inputs: Inputs) -> int:
        small = ask(lt(X.term, const(10)), inputs)
        large = ask(lt(const(100), X.term), inputs)
        even = ask(eq(bits(X.term, 0, 1), const(0)), inputs)
        return small + 2 * large + 4 * even

    found = explore(program, SPACE)
    assert sorted(path.result or 0 for path in found.paths) == [0, 1, 2, 4, 5, 6]
    check_representatives(program, found)


def test_decisions_over_arithmetic_that_needs_a_solver_are_turned_round() -> None:
    wide = Variable("w", 32)

    def program(inputs: Inputs) -> str:
        if not ask(eq(mul(bits(wide.term, 0, 16), bits(wide.term, 16, 16)), const(143)), inputs):
            return "no product"
        return "factors" if ask(lt(const(1), bits(wide.term, 16, 16)), inputs) else "trivial"

    found = explore(program, Space((wide,)))
    assert [path.result for path in found.paths] == ["no product", "trivial", "factors"]
    assert found.paths[2].inputs == {"w": 11 << 16 | 13}
    check_representatives(program, found)


def test_a_loop_over_an_input_has_a_path_for_each_length() -> None:
    def program(inputs: Inputs) -> int:
        count = 0
        while ask(lt(const(count), bits(X.term, 0, 4)), inputs):
            count += 1
        return count

    found = explore(program, SPACE)
    assert [path.result for path in found.paths] == list(range(16))
    check_representatives(program, found)


def test_the_inputs_of_a_path_do_not_depend_on_how_it_was_met() -> None:
    program, space = learning_switch(3)
    used = Solver(space)
    for number in range(20):
        used.solve([negation(eq(space.variables[1].term, const(number)))])
    again = explore(program, space, solver=used)
    assert [path.inputs for path in again.paths] == [path.inputs for path in explore(program, space).paths]
    for path in again.paths:
        assert path.inputs == Solver(space).solve(reversed(path.condition))


def test_the_search_stops_at_a_number_of_paths_and_says_so() -> None:
    program, space = learning_switch(10)
    found = explore(program, space, paths=20)
    assert len(found.paths) == 20
    assert not found.complete
    assert found.remarks == ("The search stopped at 20 paths; there are more.",)
    everything = explore(program, space)
    assert [path.inputs for path in found.paths] == [path.inputs for path in everything.paths[:20]]


def test_a_number_of_paths_that_is_just_enough_is_no_bound() -> None:
    program, space = learning_switch(2)
    assert explore(program, space, paths=11).complete


def test_the_search_stops_after_a_time_and_says_so() -> None:
    program, space = learning_switch(10)
    found = explore(program, space, seconds=0)
    assert len(found.paths) == 1
    assert not found.complete
    assert found.remarks == ("The search stopped after 0 s; there may be more paths.",)


def test_a_run_that_goes_on_deciding_is_cut_short() -> None:
    wide = Variable("n", 32)

    def program(inputs: Inputs) -> int:
        count = 0
        while not ask(eq(wide.term, const(count + 1)), inputs):
            count += 1
        return count

    found = explore(program, Space((wide,)), paths=3)
    assert [path.cut for path in found.paths] == [True, False, False]
    assert [path.result for path in found.paths] == [None, 0, 1]
    assert len(found.paths[0].decisions) == MOST_DECISIONS
    assert (
        found.remarks[-1]
        == f"A run was cut short after {MOST_DECISIONS} decisions once; paths may be missing."
    )


def test_a_run_that_leaves_its_predicted_path_is_noticed() -> None:
    calls = []

    def program(inputs: Inputs) -> bool:
        calls.append(inputs)
        # Something other than the inputs decides which question comes first.
        return ask(eq((X if len(calls) == 1 else Y).term, const(3)), inputs)

    found = explore(program, SPACE)
    assert not found.complete
    assert found.remarks == ("A run left its predicted path once; paths may be missing.",)
    assert len(found.paths) == 3


def test_inputs_that_were_lost_on_the_way_keep_a_path_at_those_that_took_it() -> None:
    def program(inputs: Inputs) -> str:
        if ask(lt(const(5), X.term), inputs):
            return "large"
        lose("x was hashed")
        return "zero" if inputs["x"] == 0 and ask(eq(Y.term, const(1)), inputs) else "other"

    found = explore(program, SPACE)
    for path in found.paths:
        with Run():
            assert program(path.inputs) == path.result
    assert {loss.what for loss in found.losses} == {"x was hashed"}
    assert found.losses.total() == sum(path.losses.total() for path in found.paths)


def test_the_solver_giving_up_is_no_proof() -> None:
    left, right = Variable("p", 64), Variable("q", 64)

    def program(inputs: Inputs) -> bool:
        product = mul(add(left.term, const(2)), add(right.term, const(2)))
        return ask(eq(product, const(1_000_003 * 999_983)), inputs)

    space = Space((left, right))
    found = explore(program, space, solver=Solver(space, seconds_per_query=0))
    assert not found.complete
    assert found.remarks == ("The solver gave up once; paths may be missing.",)


def test_a_space_without_inputs_has_no_paths() -> None:
    empty = Space((X,), (lt(X.term, const(3)), lt(const(5), X.term)))
    found = explore(lambda inputs: None, empty)
    assert found.paths == ()
    assert found.complete


def test_an_error_of_the_program_reaches_whoever_asked() -> None:
    def program(inputs: Inputs) -> None:
        if not ask(eq(X.term, const(0)), inputs):
            raise ZeroDivisionError("of the program")

    with pytest.raises(ZeroDivisionError, match="of the program"):
        explore(program, SPACE)
    assert Run.current is None


PROGRAM = """
from test_paths import explore, learning_switch
for path in explore(*learning_switch(4)).paths:
    print(path.inputs, path.result, *path.condition)
"""


def test_paths_and_their_order_do_not_depend_on_the_hash_seed() -> None:
    printed = printed_under_hash_seeds(PROGRAM)
    assert len(printed) == 1
    assert printed.pop().count("forwarded") == 4 * 4 + 5
