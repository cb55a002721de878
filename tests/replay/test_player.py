"""A trace is played step by step, forward and back, and the first step that goes another way is told."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock._check.check import check
from penstock._cli.main import commands
from penstock._replay.player import TracePlayer, playable
from penstock._scenario.scenario import load_scenario
from penstock._trace.consent import Consent, consent_given
from penstock._trace.trace import AnyTrace, FuzzTrace, ProofTrace, SearchTrace, read_trace, trace_file
from penstock._verify.proof import prove
from penstock.errors import PenstockError

EXAMPLES = Path(__file__).parents[2] / "examples"
KINDS = {"search": SearchTrace, "run": FuzzTrace, "proof": ProofTrace}


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search in which a host moves, and the learning switch sends to where it was."""
    scenario = load_scenario(EXAMPLES / "nice" / "bug_01.toml")
    (finding,) = check(scenario, output=tmp_path_factory.mktemp("search")).findings
    assert finding.trace is not None
    return finding.trace


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fuzzing run on virtual time."""
    folder = tmp_path_factory.mktemp("run")
    scenario = EXAMPLES / "fuzz" / "host_moves.toml"
    result = CliRunner().invoke(commands, ["fuzz", str(scenario), "-o", str(folder)], standalone_mode=False)
    assert result.return_value == 1, result.output
    return folder / "host_moves-1"


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A proof that failed."""
    scenario = load_scenario(EXAMPLES / "mocs" / "bug_nesting.toml")
    found = prove(scenario, output=tmp_path_factory.mktemp("proof")).findings[0].trace
    assert found is not None
    return found


def read(path: Path) -> tuple[AnyTrace, Path]:
    """Return a trace, and the folder that it is in."""
    file = trace_file(path)
    return read_trace(file), file.parent


@pytest.mark.parametrize("runs", [False, True], ids=["silent", "with consent"])
@pytest.mark.parametrize("kind", ["search", "run"])
def test_all_steps_go_as_recorded(kind: str, runs: bool, request: pytest.FixtureRequest) -> None:
    trace, base = read(request.getfixturevalue(kind))
    assert type(trace) is KINDS[kind]
    consent: Consent | None = consent_given(trace) if runs else None
    player = TracePlayer(playable(trace, base, consent))
    assert bool(player.playable.silent) != runs
    assert [played.line for played in player.steps()] == list(trace.lines)
    assert player.is_at_end and player.difference is None


def test_a_proof_is_played_in_its_lifted_network_and_by_consent_only(proof: Path) -> None:
    trace, base = read(proof)
    assert isinstance(trace, ProofTrace)
    assert not [played.difference for played in _player(proof).steps() if played.difference]
    with pytest.raises(PenstockError, match="The trace of a proof has sets of packets"):
        playable(trace, base)


def _player(path: Path) -> TracePlayer:
    trace, base = read(path)
    return TracePlayer(playable(trace, base, consent_given(trace)))


@pytest.mark.parametrize("kind", KINDS)
def test_back_and_forth_leads_to_the_same_states(kind: str, request: pytest.FixtureRequest) -> None:
    player = _player(request.getfixturevalue(kind))
    start = player.world.snapshot()
    after = {played.line.number: player.world.snapshot() for played in player.steps()}
    for line in [*list(after)[:: max(1, len(after) // 7)], max(after)]:
        player.go_to(line)
        assert player.line == line and player.world.snapshot() == after[line]
    player.go_back(len(after))
    assert player.line == 0 and player.world.snapshot() == start


def test_a_step_that_does_something_else_is_told(search: Path) -> None:
    trace, base = read(search)
    place = next(n for n, line in enumerate(trace.lines) if line.sends)
    lines = [*trace.lines]
    lines[place] = replace(lines[place], sends=("s9:1 something else",))
    player = TracePlayer(playable(replace(trace, lines=tuple(lines)), base, consent_given(trace)))
    played = list(player.steps())
    assert [step.line.number for step in played if step.differs] == [lines[place].number]
    assert player.difference is not None and player.difference.line == lines[place].number
    assert player.difference.how.startswith("it is now ")


def test_a_step_that_cannot_be_taken_is_told_and_not_raised(search: Path) -> None:
    trace, base = read(search)
    first = replace(trace.lines[0], transition="deliver nobody:1")
    player = TracePlayer(
        playable(replace(trace, lines=(first, *trace.lines[1:])), base, consent_given(trace))
    )
    played = player.forward()
    assert played.record is None and "nobody" in played.failure
    assert player.difference is not None and player.difference.how == played.failure
