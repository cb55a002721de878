"""`penstock trace-packet`, `openflow`, `diff` and `plot`, as a user types them."""

import json
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.rootcause.rootcause_lab import recorded

from penstock._cli.main import commands
from penstock._minimize.progress import Progress
from penstock._replay.guided import Attempt
from penstock.errors import PenstockError


def penstock(*words: str, typed: str = "") -> tuple[int, str]:
    """Run a command; return its exit status and what it printed."""
    result = CliRunner().invoke(commands, words, input=typed, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert isinstance(result.return_value, int)
    return result.return_value, result.stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    inputs = ("send h1 to h2 ping 1", "wait 10", "fail s1-s2", "wait 10")
    return str(recorded(tmp_path_factory.mktemp("runs"), *inputs))


def test_packets_are_listed_and_followed(run: str) -> None:
    status, printed = penstock("trace-packet", run)
    assert status == 0 and "ARP who has 10.0.0.2" in printed
    line = printed.split()[0]
    _, printed = penstock("trace-packet", run, line)
    assert "⇒ h2 receives it" in printed and "that rule came in line" in printed
    _, printed = penstock("trace-packet", run, line, "--json")
    hops = json.loads(printed)
    assert hops[0]["line"] == int(line) and hops[1]["rules"][0]["table"] == "0"


def test_a_packet_is_tried_at_any_line(run: str) -> None:
    _, printed = penstock("trace-packet", run, "--from", "h1", "--to", "h2")
    assert "dropped" in printed
    _, printed = penstock("trace-packet", run, "--from", "h1", "--to", "h2", "--at", "1", "--json")
    found = json.loads(printed)
    assert found["line"] == 1 and [hop["node"] for hop in found["hops"]] == ["h1", "s1"]


@pytest.mark.parametrize("words", [("--from", "h1"), ("--at", "3"), ("1", "--from", "h1", "--to", "h2")])
def test_half_a_question_is_refused(run: str, words: tuple[str, ...]) -> None:
    with pytest.raises(PenstockError, match="--from"):
        penstock("trace-packet", run, *words)


def test_switches_are_looked_at_and_commands_reduced(run: str) -> None:
    _, printed = penstock("openflow", run)
    assert "  port 2: down, leads nowhere" in printed and "priority=0 any -> output:controller" in printed
    found = json.loads(penstock("openflow", run, "--at", "0", "--json")[1])
    assert found["flows"]["s1"] == ["s1 has no rules"] and found["difference"] is None
    _, printed = penstock("openflow", run, "--reduce")
    assert "none of them can be left out" in printed
    reduced = json.loads(penstock("openflow", run, "--reduce", "--json")[1])
    assert len(reduced["kept"]) == reduced["commands"] == 6


def test_the_console_goes_back_and_forth(run: str) -> None:
    typed = "next 2\n\ngo end\nflows s1\nports s1\nqueues\npath h1 h2 tcp\nback\nflows\nhelp\nquit\n"
    status, printed = penstock("openflow", run, "--interactive", "--at", "1", typed=typed)
    assert status == 0 and printed.startswith("After line 1;")
    for text in (
        "  2. s1 handles c0's Hello",
        "  4. ",
        "nothing is in flight",
        "port 2: down",
        "s2  table 0",
    ):
        assert text in printed


def test_the_console_explains_what_it_does_not_take(run: str) -> None:
    typed = "dance\nports\ngo up\nback -1\npath h1 nobody\nflows s\x1b[2J9\npath h1 h2 arp arp\n"
    _, printed = penstock("openflow", run, "--interactive", typed=typed)
    for text in (
        "type help",
        "see help",
        "'up' is not a number",
        "'-1' is not a number",
        "unknown host 'nobody'",
    ):
        assert text in printed
    assert r"unknown switch 's\x1b[2J9'" in printed
    with pytest.raises(PenstockError, match="--json"):
        penstock("openflow", run, "--interactive", "--json")


def test_traces_are_compared(run: str, tmp_path: Path) -> None:
    assert penstock("diff", run, run)[0] == 0
    other = str(recorded(tmp_path, "send h1 to h2 ping 1", "wait 10", "send h2 to h1 arp 1", "wait 10"))
    status, printed = penstock("diff", run, other, "--most", "1")
    assert status == 1
    assert "- line" in printed and "input fail s1-s2" in printed and "more (--most shows more)" in printed
    found = json.loads(penstock("diff", other, run, "--json")[1])
    assert "input fail s1-s2" in [event["text"] for event in found["only_second"]]


def test_an_inversion_is_told_with_its_lines(run: str, tmp_path: Path) -> None:
    lines = (Path(run) / "trace.jsonl").read_text().splitlines()
    swapped = tmp_path / "swapped.jsonl"
    swapped.write_text("\n".join([lines[0], lines[4], *lines[1:4], *lines[5:]]) + "\n")
    renumbered = []
    for number, text in enumerate(swapped.read_text().splitlines()):
        found = json.loads(text)
        renumbered.append(json.dumps({**found, **({"step": number} if number else {})}))
    swapped.write_text("\n".join(renumbered) + "\n")
    status, printed = penstock("diff", run, str(swapped))
    assert status == 1 and "The first two that come in another order:" in printed
    assert json.loads(penstock("diff", run, str(swapped), "--json")[1])["inversion"]["second"][0]["line"] == 1


def test_a_minimisation_is_drawn(tmp_path: Path) -> None:
    progress = Progress("digest", tmp_path)
    for size in (40, 8):
        progress.answer(str(size), size, partial(Attempt, reproduced=True, needed=size, seconds=0.1))
    status, printed = penstock("plot", str(tmp_path))
    assert status == 0 and "40 inputs became 8 in 2 replays" in printed
    assert (tmp_path / "progress.svg").read_text().startswith("<svg")
    penstock("plot", str(tmp_path), "-o", str(tmp_path / "other.svg"))
    assert (tmp_path / "other.svg").is_file()
    with pytest.raises(PenstockError, match="cannot be written"):
        penstock("plot", str(tmp_path), "-o", str(tmp_path / "none" / "x.svg"))
