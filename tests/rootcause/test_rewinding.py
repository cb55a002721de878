"""A run's OpenFlow messages are played to its switches alone, which end up as they did."""

import json
from pathlib import Path

import pytest
from tests.rootcause.rootcause_lab import EXAMPLES, process, recorded

from penstock._check.check import walk
from penstock._replay.player import load_switches
from penstock._rootcause.reduction import Rewind
from penstock._scenario.scenario import load_scenario
from penstock._trace.consent import consent_given
from penstock._trace.trace import read_header
from penstock._world.transition import ACT
from penstock.errors import PenstockError

INPUTS = (
    "send h1 to h2 ping 1",
    "wait 200",
    "fail s1-s2",
    "wait 50",
    "recover s1-s2",
    "wait 50",
    "limit s1 to 9",
)
LEARNT = "table 0: priority=1 in_port=1,eth_dst=00:00:00:00:00:02,eth_src=00:00:00:00:00:01 -> output:2"
MISS = "table 0: priority=0 any -> output:controller"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("runs"), *INPUTS)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("live"), *INPUTS, controller=process())


@pytest.mark.parametrize("kind", ["run", "live"])
def test_switches_alone_do_what_they_did(kind: str, request: pytest.FixtureRequest) -> None:
    rewind = Rewind(load_switches(request.getfixturevalue(kind)))
    rewind.go_to(rewind.playable.end)
    assert rewind.difference is None
    assert LEARNT in list(rewind.flows("s1"))
    assert list(rewind.flows("s2"))[-1] == MISS


def test_no_controller_takes_part(run: Path) -> None:
    recording = load_switches(run)
    rewind = Rewind(recording)
    acted = []
    rewind.world.observe(lambda record: acted.append(record) if record.transition.verb == ACT else None)
    rewind.go_to(recording.end)
    assert {record.node for record in acted} == {"fabric"}
    assert rewind.world.state("c0") == "elsewhere"


def test_one_can_go_back_and_forth(run: Path) -> None:
    rewind = Rewind(load_switches(run))
    rewind.go_to(40)
    forty = rewind.world.snapshot()
    rewind.go_to(10_000)
    assert rewind.is_at_end
    with pytest.raises(PenstockError, match="last step"):
        rewind.forward()
    rewind.go_to(40)
    assert (rewind.line, rewind.world.snapshot()) == (40, forty)
    rewind.go_back(3)
    rewind.go_to(40)
    assert rewind.world.snapshot() == forty
    rewind.go_back(1_000)
    assert rewind.line == 0 and list(rewind.flows("s1")) == ["s1 has no rules"]


def test_ports_and_paths_are_those_of_the_moment(run: Path) -> None:
    recording = load_switches(run)
    rewind = Rewind(recording)
    (failure,) = (line.number for line in recording.trace.lines if line.transition == "fabric fail s1-s2")
    rewind.go_to(failure - 2)
    assert "port 2: up, to s2:2" in list(rewind.ports("s1"))
    assert [record.node for record in rewind.path("h1", "h2")] == ["h1", "s1", "s2", "h2"]
    rewind.go_to(failure)
    assert "port 2: up, leads nowhere" in list(rewind.ports("s1"))
    assert any("Carrier" in text for text in rewind.queues())
    assert [record.node for record in rewind.path("h1", "h2")] == ["h1", "s1"]


def test_unknown_names_are_refused(run: Path) -> None:
    rewind = Rewind(load_switches(run))
    with pytest.raises(PenstockError, match="unknown switch 's9'"):
        list(rewind.flows("s9"))
    with pytest.raises(PenstockError, match="unknown host 'h9'"):
        rewind.path("h1", "h9")
    with pytest.raises(PenstockError, match="nothing to send"):
        rewind.path("h1", "h2", "smoke")


def test_a_walk_of_a_search_is_played_as_well(tmp_path: Path) -> None:
    scenario = load_scenario(EXAMPLES / "scenarios" / "host_moves.toml")
    trace = walk(scenario, 1, walks=50, longest=200, output=tmp_path).findings[0].trace
    assert trace is not None
    rewind = Rewind(load_switches(trace))
    rewind.go_to(rewind.playable.end)
    assert rewind.difference is None and rewind.is_at_end
    assert any("priority=" in text for text in rewind.flows("s1"))


def changed(run: Path, into: Path, step: str, **changes: object) -> Path:
    """Return a copy of a trace in which the first step of a transition says something else."""
    lines = (run / "trace.jsonl").read_text().splitlines()
    header = json.loads(lines[0])
    header["folder"] = str(EXAMPLES)
    place = next(n for n, line in enumerate(lines) if json.loads(line).get("transition") == step)
    lines[0], lines[place] = json.dumps(header), json.dumps({**json.loads(lines[place]), **changes})
    path = into / "trace.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_controller_that_does_otherwise_is_told_of(run: Path, tmp_path: Path) -> None:
    path = changed(run, tmp_path, "c0 join s1", sends=["c0:s1 Hello"])
    rewind = Rewind(load_switches(path))
    rewind.go_to(1)
    assert rewind.difference is not None and "its bytes say c0:s1 " in rewind.difference.how
    with pytest.raises(PenstockError, match="diverges at line 1,"):
        load_switches(path, consent_given(read_header(path)))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"wire": "04"}, "no OpenFlow message"),
        ({"wire": "04ff0008fd56b25c"}, "no OpenFlow message"),
        ({"wire": "0402ffff" + "00" * 4}, None),
        ({"wire": "0402000000000000"}, "no OpenFlow message"),
        ({"transition": "inject nowhere"}, "is not a port"),
        ({"at": 10**15}, "a time out of range"),
        ({"transition": "deliver s1:" + "9" * 5000}, None),
        ({"transition": "inject fabric:s1", "causes": [10**30]}, None),
    ],
)
def test_a_strangers_bytes_are_refused_or_told_of(
    live: Path, tmp_path: Path, changes: dict[str, object], why: str | None
) -> None:
    path = changed(live, tmp_path, "inject c0:s1", **changes)
    if why is not None:
        with pytest.raises(PenstockError, match=why):
            load_switches(path)
        return
    rewind = Rewind(load_switches(path))
    rewind.go_to(10_000)
    assert rewind.is_at_end


def test_a_step_that_cannot_be_is_told_of(live: Path, tmp_path: Path) -> None:
    path = changed(live, tmp_path, "fabric fail s1-s2", transition="fabric fail s1-s9")
    rewind = Rewind(load_switches(path))
    rewind.go_to(10_000)
    assert rewind.is_at_end and rewind.difference is not None
    assert "s1-s9" in rewind.difference.how


def test_rules_time_out_at_their_moments(tmp_path: Path) -> None:
    app = tmp_path / "brief.py"
    app.write_text(
        "from penstock._controllers.native import Controller\n"
        "from penstock.openflow.actions import Output\n\n\n"
        "class Brief(Controller):\n"
        "    def switch_join(self, switch):\n"
        "        self.install(switch, actions=(Output(1),), hard_timeout=1)\n\n"
        "    def packet_in(self, switch, message):\n"
        "        pass\n"
    )
    folder = recorded(tmp_path, "wait 900", "check", "wait 900", controller={"native": f"{app}:Brief"})
    recording = load_switches(folder)
    rewind = Rewind(recording)
    expiry = next(turn.line.number for turn in recording.turns if turn.falls_due)
    rewind.go_to(expiry - 1)
    assert any("output:1" in text for text in rewind.flows("s1"))
    rewind.go_to(10_000)
    assert rewind.difference is None
    assert list(rewind.flows("s1")) == ["s1 has no rules"]
