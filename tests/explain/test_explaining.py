"""Explanations on small programs: what decided, which code, which events it takes, what did not matter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from penstock._check.check import check, walk
from penstock._controllers import origins
from penstock._engine.conclusion import Finding
from penstock._scenario.scenario import Scenario
from penstock._story.explanation import Code, Explanation, Needed
from penstock._story.story import LONG, tell
from penstock._world.switch import budgets

BEFORE = """
from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Group, Output, SetField
from penstock.openflow.match import Match
from penstock.openflow.messages import (
    NO_BUFFER, Bucket, FlowCommand, FlowMod, GroupCommand, GroupMod, GroupType, PacketOut, PortNo
)


class App(Controller):
"""

CLIENTS = {"h1": {"kind": "client", "to": "h2"}, "h2": {"kind": "server"}}


def found(folder: Path, body: str, **fields: object) -> Finding:
    """Return the first violation of a native program with these handlers."""
    app = folder / "app.py"
    app.write_text(BEFORE + "\n".join(f"    {line}" for line in dedent(body).strip().splitlines()) + "\n")
    table: dict[str, object] = {
        "controller": {"native": "app.py:App"},
        "topology": "single,2",
        "hosts": CLIENTS,
        "properties": ["NoBlackHoles", "ControllerCrash"],
        **fields,
    }
    report = check(Scenario(name="app", folder=folder, **table))  # type: ignore[arg-type]
    return report.findings[0]


def line_of(folder: Path, text: str) -> int:
    lines = (folder / "app.py").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.parametrize(
    ("actions", "why"),
    [
        ("(Output(message.in_port),)", "output:1 is the port that it came in by, which is ignored: "),
        ("(Output(9),)", "there is no port 9"),
        ("(Group(7),)", "it refused that with action-bad-out-group (there is no group 7)"),
        ('(SetField("eth_dst", 7),)', "its actions change it, and none outputs it"),
    ],
)
def test_what_a_packet_out_does_in_vain_is_named(tmp_path: Path, actions: str, why: str) -> None:
    finding = found(
        tmp_path,
        f"""
        def switch_join(self, switch):
            self.install(switch, Match(), (Output(PortNo.CONTROLLER, 65535),), priority=0)
        def packet_in(self, switch, message):
            self.packet_out(switch, message, {actions})
        """,
    )
    explanation = finding.explanation
    assert f"did not send h1#1 on: {why}" in explanation.why
    assert [str(code.places[0]) for code in explanation.code] == [
        f"app.py:{line_of(tmp_path, 'self.packet_out')}"
    ]


TWICE_EACH = """
        def switch_join(self, switch):
            for number in range(1, 41):
                inner = (Bucket((Group(number - 1),)),) * 2 if number > 1 else (Bucket(()),)
                self.send(switch, GroupMod(GroupCommand.ADD, GroupType.ALL, number, inner))
            self.install(switch, Match(), {actions}, priority=0)
        def packet_in(self, switch, message):
            self.packet_out(switch, message, (Output(2), Group(40)))
"""


@pytest.mark.parametrize(
    ("body", "budget", "codes"),
    [
        (
            TWICE_EACH.format(actions="(Output(2), Group(40))"),
            budgets.BUCKETS,
            {"self.install": "sent that rule", "GroupMod(GroupCommand": "sent group 40"},
        ),
        (
            TWICE_EACH.format(actions="(Output(PortNo.CONTROLLER, 65535),)"),
            budgets.BUCKETS,
            {"self.packet_out": "sent that", "GroupMod(GroupCommand": "sent group 40"},
        ),
        (
            """
            def switch_join(self, switch):
                self.install(switch, Match(), (Output(PortNo.TABLE), Output(2)), priority=0)
            """,
            budgets.DEPTH,
            {"self.install": "sent that rule"},
        ),
    ],
)
def test_a_budget_of_the_switch_that_a_packet_is_over_is_named(
    tmp_path: Path, body: str, budget: budgets.Budget, codes: dict[str, str]
) -> None:
    finding = found(tmp_path, body, openflow="1.3")
    assert finding.message.startswith("h1#1 (")
    assert f"never reached h2: s1 dropped it when it came in on port 1, because {budget}" in finding.message
    assert f"did not send h1#1 on: {budget}" in finding.explanation.why
    assert {str(code.places[0]): code.did for code in finding.explanation.code} == {
        f"app.py:{line_of(tmp_path, text)}": did for text, did in codes.items()
    }
    assert any(f"dropped: {budget}" in line for line in tell(finding.records))


def test_a_packet_out_with_neither_data_nor_buffer_is_named(tmp_path: Path) -> None:
    finding = found(
        tmp_path,
        """
        def switch_join(self, switch):
            self.install(switch, Match(), (Output(PortNo.CONTROLLER, 65535),), priority=0)
        def packet_in(self, switch, message):
            self.send(switch, PacketOut(NO_BUFFER, message.in_port, FLOOD, b"", message.tag))
        """,
    )
    assert "the packet-out has neither data nor a buffer" in finding.explanation.why


def test_a_missing_table_miss_rule_is_named(tmp_path: Path) -> None:
    finding = found(tmp_path, "pass")
    assert finding.explanation.why == (
        "s1 did not send h1#1 on: no rule of table 0 matches it, and there is no table-miss rule"
    )


def test_a_rule_that_decides_is_told_with_the_code_that_sent_it_before_the_story_began(
    tmp_path: Path,
) -> None:
    finding = found(
        tmp_path,
        """
        def switch_join(self, switch):
            self.add(switch)
        def add(self, switch):
            self.install(switch, Match.of(in_port=1), (Output(1),), priority=5)
        """,
    )
    assert "s1's rule priority=5 in_port=1 -> output:1 (added before step 1)" in finding.explanation.why
    (code,) = finding.explanation.code
    assert [place.function for place in code.places] == ["add", "switch_join"]


def test_the_line_where_a_silent_handler_returned_is_told(tmp_path: Path) -> None:
    finding = found(
        tmp_path,
        """
        def switch_join(self, switch):
            self.install(switch, Match(), (Output(PortNo.CONTROLLER, 65535),), priority=0)
        def packet_in(self, switch, message):
            if message.in_port == 1:
                return  # here
            self.packet_out(switch, message, FLOOD)
        """,
    )
    (code,) = finding.explanation.code
    assert str(code) == f"app.py:{line_of(tmp_path, '# here')} in packet_in returned and sent nothing."


def test_the_line_that_raised_is_told(tmp_path: Path) -> None:
    finding = found(
        tmp_path,
        """
        def packet_in(self, switch, message):
            self.look_up(message)
        def look_up(self, message):
            return {}[message.in_port]
        def switch_join(self, switch):
            self.install(switch, Match(), (Output(PortNo.CONTROLLER, 65535),), priority=0)
        """,
    )
    (code,) = finding.explanation.code
    assert str(code) == (
        f"app.py:{line_of(tmp_path, '{}[')} in look_up "
        f"(called by packet_in at app.py:{line_of(tmp_path, 'self.look_up')}) raised KeyError: 1."
    )


RACE = """
def switch_join(self, switch):
    self.install(switch, Match(), (Output(PortNo.CONTROLLER, 65535),), priority=0)
def packet_in(self, switch, message):
    if message.in_port == 1:
        self.install(switch, Match.of(in_port=2), (Output(2),), priority=5)
        self.packet_out(switch, message, FLOOD)
    else:
        self.packet_out(switch, message, FLOOD)
"""


def test_the_order_that_decides_is_told_and_holds_when_tried(tmp_path: Path) -> None:
    both = {"h1": {"kind": "client", "to": "h2"}, "h2": {"kind": "client", "to": "h1"}}
    explanation = found(tmp_path, RACE, hosts=both).explanation
    assert explanation.moved is not None
    assert "s1" in explanation.moved.what and explanation.moved.after is not None
    assert explanation.moved.step < explanation.moved.after
    assert [event.what for event in explanation.left_out if not event.is_subject] == ["h1 sends h1#1"]


def test_steps_that_did_not_matter_are_folded_in_a_long_story(tmp_path: Path) -> None:
    hosts: dict[str, Mapping[str, Any]] = {
        "h1": {"kind": "client", "to": "h2", "count": 1},
        "h2": {"kind": "server"},
        "h3": {"kind": "client", "to": "h4", "count": 4},
        "h4": {"kind": "server"},
    }
    app = tmp_path / "app.py"
    app.write_text(
        BEFORE
        + """
    def switch_join(self, switch):
        self.install(switch, Match.of(in_port=3), (Output(4),), priority=5)
        self.install(switch, Match.of(in_port=4), (Output(3),), priority=5)
        self.install(switch, Match(), (Output(PortNo.CONTROLLER, 65535),), priority=0)

    def packet_in(self, switch, message):
        pass
"""
    )
    scenario = Scenario(
        name="app",
        folder=tmp_path,
        controller={"native": "app.py:App"},
        topology="single,4",
        hosts=hosts,
        properties=["NoBlackHoles"],
    )
    finding = max(
        (walk(replace(scenario), seed, walks=20).findings[0] for seed in range(6)),
        key=lambda each: len(each.records),
    )
    needless = finding.explanation.needless
    about_h3 = {
        number
        for number, record in enumerate(finding.records, 1)
        if "h3" in str(record) or "h4" in str(record)
    }
    assert needless and set(needless) <= about_h3
    padded = finding.records * (LONG // len(finding.records) + 1)
    folded = [line for line in tell(padded, needless=needless) if "did not matter" in line]
    assert folded, "a long story says how much it leaves out"
    assert sum("did not matter" in line for line in tell(finding.records[:LONG], needless=needless)) == 0


def test_a_search_is_not_slowed_by_notes_of_code(tmp_path: Path) -> None:
    assert not origins.is_recording()
    with origins.recorded():
        assert origins.is_recording()
    assert not origins.is_recording()


def test_an_explanation_is_told_in_sentences_and_as_data() -> None:
    code = Code("app.py:7:send<my%20app.py:9:handler", "sent that")
    explanation = Explanation(
        "s1's rule decided",
        (code,),
        Needed(2, "s1 handles it", 4, "h1#1 comes"),
        (Needed(1, "h1 sends h1#1", is_subject=True), Needed(3, "h2 moves")),
        needless=(5, 6),
    )
    assert list(explanation.lines("P")) == [
        "Why: s1's rule decided.",
        "Code: app.py:7 in send (called by handler at my app.py:9) sent that.",
        "Order: had step 2 (s1 handles it) come after step 4 (h1#1 comes), P would hold.",
        "Needed: without step 3 (h2 moves), P would hold.",
    ]
    told = explanation.as_json()
    assert isinstance(told["code"], list)
    assert told["code"][0]["places"][1] == {"file": "my app.py", "line": 9, "function": "handler"}
    assert told["needless"] == [5, 6] and "untried" not in told
    assert not Explanation() and list(Explanation().lines("P")) == []


def test_places_that_make_no_sense_are_left_out() -> None:
    assert origins.places_of("app.py:x:f<:3:g<<app.py:99999999999:h") == ()
    assert origins.places_of("") == ()


OSKEN = """
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.ofproto import ofproto_v1_3


class App(app_manager.OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def joined(self, ev):
        dp = ev.msg.datapath
        o, p = dp.ofproto, dp.ofproto_parser
        out = [p.OFPActionOutput(o.OFPP_CONTROLLER, o.OFPCML_NO_BUFFER)]
        apply = [p.OFPInstructionActions(o.OFPIT_APPLY_ACTIONS, out)]
        dp.send_msg(p.OFPFlowMod(datapath=dp, priority=0, match=p.OFPMatch(), instructions=apply))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        dp, msg = ev.msg.datapath, ev.msg
        o, p = dp.ofproto, dp.ofproto_parser
        BODY
"""


def osken(folder: Path, body: str, **fields: object) -> Finding:
    (folder / "app.py").write_text(OSKEN.replace("BODY", body))
    table: dict[str, object] = {"hosts": CLIENTS, "properties": ["NoBlackHoles", "ControllerCrash"], **fields}
    scenario = Scenario(name="app", folder=folder, controller={"apps": ["app.py"]}, **table)  # type: ignore[arg-type]
    return check(scenario).findings[0]


def test_what_became_of_a_message_is_told_with_who_sent_it(tmp_path: Path) -> None:
    actions = "[p.OFPActionOutput(o.OFPP_FLOOD)]"
    body = f"dp.send_msg(p.OFPPacketOut(dp, o.OFP_NO_BUFFER, 1, {actions}, None))  # empty"
    explanation = osken(tmp_path, body).explanation
    assert explanation.why.endswith("; s1 dropped that: the packet-out has neither data nor a buffer")
    assert str(explanation.code[0].places[0]) == f"app.py:{line_of(tmp_path, '# empty')}"


def test_what_is_wrong_with_a_match_is_told_by_its_prerequisite(tmp_path: Path) -> None:
    match = "p.OFPMatch(eth_type=0x0800, tcp_dst=80)"
    explanation = osken(tmp_path, f"dp.send_msg(p.OFPFlowMod(datapath=dp, match={match}))").explanation
    assert explanation.why.endswith(
        "sent only a FlowMod to s1; s1 refused that: match-bad-prereq (tcp_dst needs ip_proto=6 in the match)"
    )


def test_a_controller_that_answers_with_rules_alone_is_told_what_they_are_for(tmp_path: Path) -> None:
    body = "dp.send_msg(p.OFPFlowMod(datapath=dp, match=p.OFPMatch(in_port=2)))"
    why = osken(tmp_path, body).explanation.why
    assert why.endswith(
        "sent only a FlowMod to s1; a FlowMod without a buffer is for packets to come, and sends none on"
    )


@pytest.mark.parametrize(
    ("made", "waits"),
    [
        ("threading.Lock()", "self.acquire(); self.acquire()"),
        ("queue.Queue()", "self.get()"),
        ("threading.Event()", "self.wait()"),
        ("threading.Condition()", "self.acquire(); self.wait()"),
        ("hub.Event()", "self.wait()"),
        ("hub.Queue()", "self.get()"),
        ("hub.Semaphore(0)", "self.acquire()"),
    ],
    ids=lambda text: text.partition("(")[0],
)
def test_a_handler_that_waits_for_ever_is_told_with_its_line(tmp_path: Path, made: str, waits: str) -> None:
    body = (
        "import queue, threading; from os_ken.lib import hub\n"
        f"        self.thing = {made}\n"
        "        self.wait()\n\n"
        "    def wait(self):\n"
        f"        {waits.replace('self.', 'self.thing.')}  # here"
    )
    finding = osken(tmp_path, body, properties=["ControllerHang"])
    assert "threading." not in finding.message and "app.wait waits for ever" in finding.message
    (code,) = finding.explanation.code
    handler = f"called by packet_in at app.py:{line_of(tmp_path, 'self.wait()')}"
    assert str(code) == (f"app.py:{line_of(tmp_path, '# here')} in wait ({handler}) does not return.")


def test_an_exception_without_words_is_told_by_its_kind(tmp_path: Path) -> None:
    finding = osken(tmp_path, "assert False")
    assert finding.message.startswith("c0 raised AssertionError, while it handled ")
    assert str(finding.explanation.code[0]).endswith(" raised AssertionError.")


def test_a_rule_that_hides_another_is_told_with_it(tmp_path: Path) -> None:
    finding = found(
        tmp_path,
        """
        def switch_join(self, switch):
            self.install(switch, Match.of(in_port=1, eth_dst=2), (Output(2),), priority=5)
            self.install(switch, Match.of(in_port=1, eth_dst=9), (Output(2),), priority=6)
            self.install(switch, Match.of(in_port=1), (Output(7),), priority=10)
        """,
    )
    assert finding.explanation.why.endswith(
        "there is no port 7; it hides priority=5 in_port=1,eth_dst=00:00:00:00:00:02 -> output:2 "
        "(added before step 1), which matches too, at a lower priority"
    )


def test_who_removed_a_rule_that_is_missed_is_told(tmp_path: Path) -> None:
    finding = found(
        tmp_path,
        """
        def switch_join(self, switch):
            self.install(switch, Match.of(in_port=1), (Output(2),), priority=5)
            self.send(switch, FlowMod(FlowCommand.DELETE, Match()))  # all
        """,
    )
    assert finding.explanation.why.endswith(
        "(the rule priority=5 in_port=1 -> output:2 was removed before step 1 by FlowMod(delete any))"
    )
    (code,) = finding.explanation.code
    assert code.places[0].line == line_of(tmp_path, "# all")


def test_what_it_takes_is_told_where_a_flood_goes_round_for_ever(tmp_path: Path) -> None:
    finding = found(
        tmp_path,
        """
        def switch_join(self, switch):
            self.install(switch, Match(), FLOOD, priority=1)
            if switch == "s3":
                self.install(switch, Match.of(in_port=1), (Output(1),), priority=5)
        """,
        topology="ring,3",
        hosts={"h1": {"kind": "client", "to": "h2"}, "h3": {"kind": "client", "to": "h2"}},
        properties=["NoBlackHoles"],
    )
    assert "output:1 is the port that it came in by" in finding.explanation.why
    told = list(finding.explanation.lines("NoBlackHoles"))
    assert told[-1] == "Needed: nothing but step 1 (h3 sends h3#1)."


def test_a_crash_while_switches_join_is_told_with_its_line(tmp_path: Path) -> None:
    app = OSKEN.replace("dp = ev.msg.datapath\n        o, p", "{}[1]  # here\n        o, p").replace(
        "BODY", "pass"
    )
    (tmp_path / "app.py").write_text(app)
    scenario = Scenario(folder=tmp_path, controller={"apps": ["app.py"]}, properties=["ControllerCrash"])
    (code,) = check(scenario).findings[0].explanation.code
    assert str(code) == f"app.py:{line_of(tmp_path, '# here')} in joined raised KeyError: 1."


def test_a_changed_header_is_what_a_host_ignores(tmp_path: Path) -> None:
    finding = found(
        tmp_path,
        """
        def switch_join(self, switch):
            if switch == "s1":
                self.install(switch, Match.of(in_port=1), (SetField("eth_dst", 9), Output(2)))
            else:
                self.install(switch, Match.of(in_port=2), (Output(1),))
        """,
        topology="linear,2",
    )
    assert "s1's rule" in finding.explanation.why and "which h2 then ignored" in finding.explanation.why
    (code,) = finding.explanation.code
    assert code.places[0].line == line_of(tmp_path, "(SetField(")


def test_the_copy_that_a_controller_did_not_send_on_counts_and_not_a_bystander_s(tmp_path: Path) -> None:
    finding = found(
        tmp_path,
        """
        def switch_join(self, switch):
            if switch == "s1":
                self.install(switch, Match.of(in_port=1), FLOOD)
            else:
                self.install(switch, Match(), (Output(PortNo.CONTROLLER, 65535),), priority=0)
        def packet_in(self, switch, message):
            return  # silent
        """,
        topology="linear,2,2",
        hosts={"h1s1": {"kind": "client", "to": "h1s2"}, "h1s2": {"kind": "server"}},
    )
    assert "was handed h1s1#1 by s2 and sent nothing" in finding.explanation.why


def test_what_is_enough_is_told_where_no_single_event_is_needed(tmp_path: Path) -> None:
    several = Explanation(enough=(Needed(1, "h1 sends"), Needed(3, "h2 sends")))
    assert list(several.lines("P")) == ["Needed: nothing but step 1 (h1 sends), step 3 (h2 sends)."]
    assert list(replace(several, untried=True).lines("P")) == [
        "Needed: nothing but step 1 (h1 sends), step 3 (h2 sends). (Not all was tried.)"
    ]


def test_a_handler_that_another_app_will_notify_does_not_hang(tmp_path: Path) -> None:
    (tmp_path / "shared_flag.py").write_text("import threading\n\nFLAG = threading.Event()\n")
    osken_app = f"import shared_flag{OSKEN}"
    waiter = osken_app.replace("BODY", "shared_flag.FLAG.wait()")
    later = "self.met = getattr(self, 'met', 0) + 1\n        self.met == 2 and shared_flag.FLAG.set()"
    setter = osken_app.replace("BODY", later)
    (tmp_path / "waiter.py").write_text(waiter)
    (tmp_path / "setter.py").write_text(setter.replace("class App", "class Setter"))
    scenario = Scenario(
        folder=tmp_path,
        controller={"apps": ["waiter.py", "setter.py"]},
        hosts={"h1": {"kind": "client", "to": "h2", "count": 2}, "h2": {"kind": "server"}},
        properties=["ControllerHang"],
    )
    assert not check(scenario).findings


def test_a_handler_that_still_sleeps_at_the_end_is_told_with_its_line(tmp_path: Path) -> None:
    body = "from os_ken.lib import hub\n        while not self.known:\n            hub.sleep(1)  # here"
    app = OSKEN.replace("BODY", body).replace("    @set", "    known = False\n\n    @set", 1)
    (tmp_path / "app.py").write_text(app)
    report = check(Scenario(folder=tmp_path, controller={"apps": ["app.py"]}, hosts=CLIENTS))
    line = line_of(tmp_path, "# here")
    told = f"the program was still in packet_in, app.py:{line}: hub.sleep(1)"
    assert any(str(reason).startswith(told) for reason in report.verdict.reasons)


def test_a_port_that_is_down_is_told_with_the_event_that_cut_it_off_and_no_other(tmp_path: Path) -> None:
    finding = found(
        tmp_path,
        """
        def switch_join(self, switch):
            self.install(switch, Match.of(in_port=1), (Output(2),), priority=5)
            self.install(switch, Match.of(in_port=2), (Output(1),), priority=5)
        """,
        topology="single,3",
        hosts={
            "h1": {"kind": "client", "to": "h2"},
            "h2": {"kind": "server", "mobility": {"places": ["s1:4"], "carrier": True}},
            "h3": {"kind": "server", "mobility": {"places": ["s1:5"], "carrier": True}},
        },
        properties=["NoBlackHoles"],
    )
    assert re.search(r"port 2 .* since step \d+ \(h2 moves to s1:4\)", finding.explanation.why)
