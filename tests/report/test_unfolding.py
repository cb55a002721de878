"""A run is taken again, and each step's changes lead from the state before it to the state after it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.report.report_lab import EXAMPLES, State

from penstock._engine.building import build
from penstock._replay.player import TracePlayer, playable
from penstock._report.states import IN_FLIGHT
from penstock._report.unfolding import Unfolded, Watching, unfold
from penstock._trace.consent import consent_given, runnable
from penstock._trace.trace import AnyTrace, FuzzTrace, ProofTrace, Trace, read_trace, trace_file
from penstock._verify.replaying import lifted_again
from penstock._world.world import World


def taken_again(trace: Trace, base: Path) -> Iterator[World]:
    """Yield the world of a run at its start and after each of its steps."""
    take: Callable[[int], object]
    consent = consent_given(trace)
    if isinstance(trace, FuzzTrace):
        player = TracePlayer(playable(trace, base, consent))
        world, start = player.world, player.playable.start
        take = lambda _: player.forward()  # noqa: E731
    else:
        if isinstance(trace, ProofTrace):
            model = lifted_again(trace, base, consent).model
            network, start = model.network, model.start
        else:
            built = build(runnable(trace, base, consent))
            network, start = built.network, built.start
        world = World(network)
        take = lambda number: world.take(trace.lines[number].transition)  # noqa: E731
    world.restore(start)
    yield world
    for number in range(len(trace.lines)):
        take(number)
        yield world


def seen_afresh(world: World) -> State:
    """Return a state as somebody describes it who has seen none before."""
    return {(name, section): list(lines) for name, section, lines in Watching(world).start()}


def applied(trace: Trace, unfolded: Unfolded) -> Iterator[State]:
    state: State = {(name, section): list(lines) for name, section, lines in unfolded.start}
    yield state
    for line in trace.lines:
        for change in unfolded.changes.get(line.number, ()):
            lines = state.setdefault((change.component, change.section), [])
            for text in change.removed:
                lines.remove(text)
            lines += change.added
            if not lines:
                del state[change.component, change.section]
        yield state


def by_channel(state: State) -> object:
    """Return a state in which only the order that means something counts."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for (name, section), lines in state.items():
        if section == IN_FLIGHT:
            for line in lines:
                found.setdefault((name, section, line.partition(":")[0]), []).append(line)
        else:
            found[name, section, ""] = sorted(lines)
    return found


@pytest.mark.parametrize("kind", ["search", "run", "live_run", "proof"])
def test_changes_lead_from_each_state_to_the_next(kind: str, request: pytest.FixtureRequest) -> None:
    file = trace_file(request.getfixturevalue(kind))
    trace = read_trace(file)
    unfolded = unfold(trace, file.parent, consent_given(trace))
    assert (unfolded.until, unfolded.remarks) == (None, [])
    compared = 0
    for world, state in zip(taken_again(trace, file.parent), applied(trace, unfolded), strict=True):
        assert by_channel(state) == by_channel(seen_afresh(world))
        compared += 1
    assert compared == len(trace.lines) + 1 > 5


@pytest.mark.parametrize("kind", ["search", "run", "live_run"])
def test_without_the_controller_all_else_changes_as_it_did(kind: str, request: pytest.FixtureRequest) -> None:
    file = trace_file(request.getfixturevalue(kind))
    trace = read_trace(file)
    inert, run = unfold(trace, file.parent), unfold(trace, file.parent, consent_given(trace))
    assert (inert.until, inert.remarks) == (None, [])
    assert not [each for each in inert.start if each[0] == "c0" and each[1] != IN_FLIGHT]
    for one, other in zip(applied(trace, inert), applied(trace, run), strict=True):
        assert one == {key: lines for key, lines in other.items() if key[0] != "c0" or key[1] == IN_FLIGHT}


def test_a_proof_has_no_states_without_its_controller(proof: Path) -> None:
    unfolded = unfold(read_trace(proof), proof.parent)
    assert not unfolded.has_states
    (remark,) = unfolded.remarks
    assert remark.startswith("States are not shown, since the run cannot be replayed")
    assert "--run runs stateful_firewall.py" in remark


def test_what_a_controller_learns_is_told_where_it_learns_it(search: Path) -> None:
    trace = read_trace(search)
    unfolded = unfold(trace, search.parent, consent_given(trace))
    learnt = {
        number: change.added
        for number, changes in unfolded.changes.items()
        for change in changes
        if (change.component, change.section) == ("c0", "state")
    }
    assert learnt[3] == ("mac_to_port[1]['00:00:00:00:00:02'] = 2",)
    assert learnt[8] == ("mac_to_port[1]['00:00:00:00:00:01'] = 1",)


def test_a_rule_appears_in_its_table_when_the_switch_takes_it(search: Path) -> None:
    unfolded = unfold(read_trace(search), search.parent)
    (added,) = [change.added for change in unfolded.changes[9] if change.section == "flow table 0"]
    assert added == ("priority=1 in_port=1,eth_dst=00:00:00:00:00:02,eth_src=00:00:00:00:00:01 -> output:2",)


def changed_trace(trace: Path, into: Path, number: int = 0, **changes: object) -> AnyTrace:
    """Return a trace whose header (0) or one of its steps says something else."""
    lines = trace_file(trace).read_text().splitlines()
    header = {**json.loads(lines[0]), "folder": str(EXAMPLES / "nice")}
    lines[0] = json.dumps(header)
    lines[number] = json.dumps({**json.loads(lines[number]), **changes})
    path = into / "changed.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return read_trace(path)


def test_states_end_where_the_run_goes_another_way(search: Path, tmp_path: Path) -> None:
    trace = changed_trace(search, tmp_path, 8, sends=["c0:s1 Hello"])
    unfolded = unfold(trace, tmp_path, consent_given(trace))
    assert unfolded.until == 7
    assert max(unfolded.changes) == 7
    (remark,) = unfolded.remarks
    assert remark.startswith("States are shown up to step 7: at step 8 the replay diverges: now it is ")


def test_states_end_where_a_step_is_not_possible(search: Path, tmp_path: Path) -> None:
    trace = changed_trace(search, tmp_path, 4, transition="deliver s1:7")
    unfolded = unfold(trace, tmp_path)
    assert unfolded.until == 3
    assert "is no transition of this network" in unfolded.remarks[0]


def test_an_app_that_is_not_there_leaves_a_report_without_states(search: Path, tmp_path: Path) -> None:
    scenario = {**read_trace(search).scenario, "controller": {"apps": ["gone.py"]}}
    trace = changed_trace(search, tmp_path, scenario=scenario)
    assert unfold(trace, tmp_path).has_states, "what is looked at needs no app"
    unfolded = unfold(trace, tmp_path, consent_given(trace))
    assert not unfolded.has_states and not unfolded.changes
    assert unfolded.remarks[0].startswith("States are not shown, since the run cannot be replayed: ")
    assert "gone.py" in unfolded.remarks[0]


def test_a_run_that_takes_too_long_is_left(search: Path) -> None:
    unfolded = unfold(read_trace(search), search.parent, seconds=0)
    assert unfolded.until == 0
    assert "takes longer than 0 s" in unfolded.remarks[0]


def test_a_run_that_waits_for_days_is_left(run: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (run / "trace.jsonl").read_text().splitlines()]
    lines[0]["folder"] = str(EXAMPLES / "fuzz")
    late = next(place for place, line in enumerate(lines) if line.get("step") == 30)
    for line in lines[late:]:
        line["at"] = line.get("at", 0) + 500_000_000
    path = tmp_path / "late.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    unfolded = unfold(read_trace(path), tmp_path)
    assert unfolded.until is not None and unfolded.until < 40
    assert "nothing happens for 500,0" in unfolded.remarks[0]
