"""Commands that no longer show in the tables are left out, and no others."""

from pathlib import Path
from typing import Any

import pytest
from tests.rootcause.rootcause_lab import recorded

from penstock._replay.player import load_switches
from penstock._rootcause.reduction import Reduced, reduce_commands

APP = """\
from penstock._controllers.controller import Controller
from penstock.openflow.actions import Output
from penstock.openflow.match import ANYTHING
from penstock.openflow.messages import FlowCommand, FlowMod


class Wavering(Controller):
    def switch_join(self, switch):
        self.install(switch, actions=(Output(1),), priority=7)
        self.install(switch, actions=(Output(2),), priority=7)
        self.install(switch, actions=(Output(1),), priority=5)
        self.send(switch, FlowMod(FlowCommand.DELETE, ANYTHING{flush}))
        self.install(switch, actions=(Output(1),), priority=3, hard_timeout=1)
        self.install(switch, actions=(Output(2),), priority=2)
        self.install(switch, actions=(Output(2),), priority=2)

    def packet_in(self, switch, message):
        pass
"""


CALM: dict[str, Any] = {"invariants": ["NoForwardingLoops"]}
"""Nothing is found that a run would wait for to pass: its time is that of its inputs."""


def reduced(folder: Path, *inputs: str, flush: str = "", line: int | None = None) -> Reduced:
    """Return what is left of the commands of an app that cannot make up its mind, to one switch."""
    app = folder / "wavering.py"
    app.write_text(APP.replace("{flush}", flush))
    run = recorded(folder, *inputs, controller={"native": f"{app}:Wavering"}, topology="single,2", **CALM)
    return reduce_commands(load_switches(run), line)


def priorities(found: Reduced) -> list[str]:
    return [str(command.message).split("priority=")[1].split()[0] for command in found.kept]


def test_what_was_flushed_overwritten_or_timed_out_is_left_out(tmp_path: Path) -> None:
    found = reduced(tmp_path, "wait 1500")
    assert found.all_commands == 7
    assert priorities(found) == ["2"]
    assert found.kept[0].switch == "s1" and found.kept[0].controller == "c0"


def test_what_still_counts_is_kept(tmp_path: Path) -> None:
    found = reduced(tmp_path, "wait 10")
    assert priorities(found) == ["3", "2"]


def test_without_a_flush_the_last_word_on_each_rule_is_kept(tmp_path: Path) -> None:
    found = reduced(tmp_path, "wait 1500", flush=", priority=99, table_id=3")
    assert priorities(found) == ["7", "5", "2"]
    assert "output:2" in str(found.kept[0].message)


def test_the_tables_of_an_earlier_line_take_other_commands(tmp_path: Path) -> None:
    whole = reduced(tmp_path, "wait 10")
    earlier = reduced(tmp_path, "wait 10", line=whole.kept[0].line - 1)
    assert earlier.all_commands == 4 and earlier.kept == ()


def test_a_switch_that_lost_its_power_needs_nothing(tmp_path: Path) -> None:
    found = reduced(tmp_path, "wait 10", "fail s1", "wait 10")
    assert found.kept == () and found.all_commands == 7


@pytest.mark.parametrize("count", [1, 2])
def test_commands_that_a_faulty_switch_swallowed_in_place_of_others_are_kept(
    tmp_path: Path, count: int
) -> None:
    inputs = (f"ignore s1 {count}", "disconnect s1-c0", "wait 10", "reconnect s1-c0", "wait 10")
    found = reduced(tmp_path, *inputs)
    assert found.all_commands == 14
    # The rule that times out is the second one, which has to come after what is swallowed.
    assert len(found.kept) == count + 2


def test_packets_that_keep_a_rule_alive_are_reckoned_with(tmp_path: Path) -> None:
    app = tmp_path / "idle.py"
    app.write_text(
        "from penstock._controllers.native import Controller\n"
        "from penstock.openflow.actions import Output\n\n\n"
        "class Idle(Controller):\n"
        "    def switch_join(self, switch):\n"
        "        self.install(switch, actions=(Output(2),), priority=4, idle_timeout=1)\n\n"
        "    def packet_in(self, switch, message):\n"
        "        pass\n"
    )
    inputs = ("wait 700", "send h1 to h2 arp 1", "wait 700")
    run = recorded(tmp_path, *inputs, controller={"native": f"{app}:Idle"}, topology="single,2", **CALM)
    assert priorities(reduce_commands(load_switches(run))) == ["4"]
    rested = recorded(
        tmp_path, *inputs, "wait 1500", controller={"native": f"{app}:Idle"}, topology="single,2", **CALM
    )
    assert reduce_commands(load_switches(rested)).kept == ()
