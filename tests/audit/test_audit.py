"""What an audit finds in flow dumps, what it leaves out, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from penstock._audit.audit import NetworkAudit, Report
from penstock._audit.dumps import read_dump
from penstock._audit.gathering import drawn, gathered
from penstock._cli.auditing import audit_command, changes
from penstock._world.topology import topology
from penstock.errors import PenstockError

TO_H1 = "priority=5,dl_dst=00:00:00:00:00:01 actions="
TO_H2 = "priority=5,dl_dst=00:00:00:00:00:02 actions="
WORKING = {
    "s1": [f"{TO_H1}output:1", f"{TO_H2}output:2", "priority=0 actions=drop"],
    "s2": [f"{TO_H1}output:2", f"{TO_H2}output:1", "priority=0 actions=drop"],
}


def audited(shape: str, **tables: list[str]) -> Report:
    audit = NetworkAudit(topology(shape))
    for switch, lines in tables.items():
        audit.take(switch, read_dump(lines))
    return audit.report()


def kinds(report: Report) -> list[str]:
    return [one.kind for one in report.findings]


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(audit_command, arguments, standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    status: int = done.return_value
    return status, done.output


def written(folder: Path, **tables: list[str]) -> list[str]:
    for switch, lines in tables.items():
        (folder / f"{switch}.flows").write_text("\n".join(lines) + "\n")
    return [f"{switch}={folder / switch}.flows" for switch in tables]


def test_a_network_in_which_nothing_is_wrong() -> None:
    report = audited("linear,2", **WORKING)
    assert (report.findings, report.reasons, report.status) == ((), (), 0)
    assert report.reachability == {"h1": {"h2": "reached"}, "h2": {"h1": "reached"}}
    assert report.verdict == "nothing found"


def test_a_loop_is_told_with_a_packet_and_its_path() -> None:
    flood = ["actions=FLOOD"]
    report = audited("ring,3", s1=flood, s2=flood, s3=flood)
    assert kinds(report) == ["loop", "loop"]
    assert report.findings[0].details["path"] and report.status == 1


def test_a_black_hole_is_told_with_its_reason() -> None:
    report = audited("linear,2", s1=WORKING["s1"], s2=[f"{TO_H1}output:2"])
    assert kinds(report) == ["black hole"]
    assert "no rule of s2 table 0 matches it" in report.findings[0].message


def test_a_rule_that_others_cover_together_is_shadowed() -> None:
    halves = [
        "priority=9,ip,nw_dst=10.0.0.0/9 actions=drop",
        "priority=9,ip,nw_dst=10.128.0.0/9 actions=drop",
    ]
    report = audited("single,2", s1=[*halves, "priority=3,ip,nw_dst=10.0.0.0/8 actions=output:1"])
    (found,) = report.findings
    assert (found.kind, found.details["line"]) == ("shadowed rule", 3)
    assert len(found.details["covered_by"]) == 2


def test_a_rule_of_a_table_that_its_packets_never_come_to_is_shadowed() -> None:
    first = "table=0,priority=5,tcp actions=goto_table:1"
    report = audited(
        "single,2", s1=[first, "table=1,udp actions=output:2", "table=1,tcp,tp_dst=80 actions=output:2"]
    )
    (found,) = [one for one in report.findings if one.kind == "shadowed rule"]
    assert (found.details["table"], found.details["line"]) == (1, 2)


def test_where_packets_are_not_followed_later_tables_are_not_called_shadowed() -> None:
    report = audited("single,2", s1=["table=0,actions=resubmit(,1)", "table=1,udp actions=output:2"])
    assert kinds(report) == [] and report.status == 3
    assert any("resubmit(,1)" in reason for reason in report.reasons)
    assert any("Whether packets meet 1 rules" in reason for reason in report.reasons)


def test_ambiguous_rules_are_told_as_a_pair_with_their_lines() -> None:
    report = audited(
        "single,3", s1=["priority=4,tcp actions=output:2", "priority=4,ip,nw_src=10.0.0.1 actions=output:3"]
    )
    (found,) = report.findings
    assert found.kind == "ambiguous rules" and found.details["lines"] == [1, 2]


def test_rules_that_only_one_port_meets_are_ambiguous_even_if_it_is_the_local_one() -> None:
    rules = [
        "priority=4,in_port=LOCAL,tcp actions=1",
        "priority=4,in_port=LOCAL,ip,nw_src=10.0.0.1 actions=2",
    ]
    assert kinds(audited("single,2", s1=rules)) == ["ambiguous rules"]


def test_of_rules_of_one_priority_none_shadows_another() -> None:
    rules = ["priority=5,ip actions=1", "priority=5,ip,nw_dst=10.0.0.1 actions=1"]
    later = ["table=0,priority=9,arp actions=goto_table:1", *(f"table=1,{rule}" for rule in rules)]
    assert audited("single,2", s1=rules).status == 0
    lower = "priority=4,ip,nw_dst=10.0.0.2 actions=2"
    assert [one.details["line"] for one in audited("single,2", s1=[*rules, lower]).findings] == [3]
    never = [one for one in audited("single,2", s1=later).findings if one.kind == "shadowed rule"]
    assert [(one.details["line"], one.details["covered_by"]) for one in never] == [(2, []), (3, [])]


def test_where_packets_are_not_followed_rules_of_one_priority_are_not_called_shadowed() -> None:
    rules = ["table=0,actions=resubmit(,1)", "table=1,ip actions=1", "table=1,tcp actions=2"]
    report = audited("single,2", s1=rules)
    assert kinds(report) == [] and any("Whether packets meet 2 rules" in one for one in report.reasons)


def test_a_priority_in_a_tag_is_asked_of_tagged_packets_only() -> None:
    report = audited("single,2", s1=["priority=9,dl_vlan_pcp=0 actions=drop", "dl_vlan=0xffff actions=2"])
    assert report.findings == () and report.reachability["h1"]["h2"] == "reached"


def test_packets_are_not_followed_into_a_group_that_is_not_told() -> None:
    rules = ["ip actions=group:5"]
    report = audited("single,2", s1=rules)
    assert (report.findings, report.status) == ((), 3)
    assert "add dump-groups" in report.unknown[0]["action"]
    told = audited("single,2", s1=[*rules, " group_id=5,type=all,bucket=actions=output:2"])
    assert (told.status, told.reachability["h1"]["h2"]) == (0, "reached")


def test_ports_in_no_link_lead_out_of_what_is_looked_at() -> None:
    rules = ["in_port=1,ip actions=output:9", "in_port=9,ip actions=output:1"]
    report = audited("single,2", s1=rules)
    assert (report.findings, report.status) == ((), 3)
    assert report.reasons == ("Ports of s1 that rules name are in no link of the topology: 9.",)
    ports = [" 1(s1-eth1): addr:00", " 2(s1-eth2): addr:00"]
    gone = audited("single,2", s1=[*rules, *ports])
    assert kinds(gone) == ["black hole", "shadowed rule"] and not gone.reasons
    there = audited("single,2", s1=[*rules, *ports, " 9(uplink): addr:00"])
    assert (there.findings, there.status) == ((), 3)


def test_ports_that_do_not_flood_end_a_loop() -> None:
    flood = ["actions=FLOOD"]
    ports = [" 1(a): addr:00", " 2(b): addr:00", "   config: NO_FLOOD NO_RECV", " 3(c): addr:00"]
    report = audited("ring,3", s1=flood, s2=flood, s3=[*flood, *ports])
    assert not [one for one in report.findings if one.kind == "loop"]


def test_a_network_without_hosts_is_not_called_right(tmp_path: Path) -> None:
    written(tmp_path, s1=["actions=FLOOD"], s2=["actions=FLOOD"])
    path = tmp_path / "net.toml"
    path.write_text(
        'links = [["s1:1", "s2:1"], ["s1:2", "s2:2"]]\nflows = {s1 = "s1.flows", s2 = "s2.flows"}\n'
    )
    status, said = run(str(path))
    assert status == 3 and "has no host" in said


def test_lines_that_cannot_be_read_make_the_verdict_partial() -> None:
    tables = {**WORKING, "s2": [*WORKING["s2"], "nonsense", "priority=9,ct_state=+trk actions=drop"]}
    report = audited("linear,2", **tables)
    assert (report.findings, report.status, report.verdict) == ((), 3, "nothing found, partial")
    assert [(one["switch"], one["line"]) for one in report.unread] == [("s2", 4), ("s2", 5)]
    assert report.reasons == ("2 lines of s2 could not be read: 4, 5.",)


def test_findings_of_a_partial_audit_are_findings() -> None:
    report = audited("linear,2", s1=[*WORKING["s1"], "nonsense"], s2=[f"{TO_H1}output:2"])
    assert (report.status, report.verdict) == (1, "findings, partial")


def test_what_the_switch_learns_by_itself_is_not_followed() -> None:
    report = audited("single,2", s1=["priority=0 actions=NORMAL"])
    assert report.status == 3 and report.reachability["h1"]["h2"] == "undecided"
    assert any("NORMAL" in reason for reason in report.reasons)


def test_the_ports_that_a_switch_tells_count() -> None:
    down = [
        " 2(s1-eth2): addr:00:00:00:00:00:02",
        "     state: LINK_DOWN",
        " 1(s1-eth1): addr:00:00:00:00:00:01",
    ]
    report = audited("linear,2", s1=[*WORKING["s1"], *down], s2=WORKING["s2"])
    assert any(one.kind == "black hole" and "port 2 is down" in one.message for one in report.findings)


def test_an_audit_that_looks_again_tells_what_came_and_what_went() -> None:
    audit = NetworkAudit(topology("linear,2"))
    for switch, lines in WORKING.items():
        audit.take(switch, read_dump(lines))
    first = audit.report()
    audit.take("s2", read_dump([f"{TO_H1}output:2"]))
    broken = audit.report()
    audit.take("s2", read_dump(WORKING["s2"]))
    (come,), (gone,) = [*changes(first, broken)], [*changes(broken, audit.report())]
    assert come.startswith("+ black hole: ") and gone == come.replace("+", "-", 1)


def test_the_command_reads_files_and_ends_with_the_status(tmp_path: Path) -> None:
    status, said = run("linear,2", *written(tmp_path, **WORKING))
    assert status == 0
    assert said.splitlines()[-1] == "Nothing is wrong, and nothing was left out."
    status, said = run("linear,2", *written(tmp_path, s1=WORKING["s1"], s2=["nonsense"]), "--json")
    found: dict[str, Any] = json.loads(said)
    assert status == 1 and found["partial"]
    assert found["unread"] == [
        {"switch": "s2", "line": 1, "text": "nonsense", "why": "it is no flow, group or port"}
    ]
    assert found["reachability"]["h1"]["h2"] == "unreached" and len(found["black_holes"]) == 1


def test_the_command_tells_why_one_packet_goes_where_it_goes(tmp_path: Path) -> None:
    given = [*written(tmp_path, **WORKING), "--from", "h1", "--packet", "dl_dst=00:00:00:00:00:02"]
    status, said = run("linear,2", *given)
    assert status == 0 and "reaches h2" in said and "s2:2 table 0: priority=5" in said
    (one,) = json.loads(run("linear,2", *given, "--json")[1])["outcomes"]
    assert (one["fate"], one["node"], len(one["path"])) == ("delivered", "h2", 2)


def test_what_becomes_of_one_packet_is_partial_where_lines_are_unread(tmp_path: Path) -> None:
    tables = {**WORKING, "s2": [*WORKING["s2"], "priority=9,ct_state=+trk actions=drop"]}
    given = [*written(tmp_path, **tables), "--from", "h1", "--packet", "dl_dst=00:00:00:00:00:02"]
    status, said = run("linear,2", *given)
    assert status == 3 and "Left out: Line 4 of s2 could not be read" in said
    assert len(json.loads(run("linear,2", *given, "--json")[1])["reasons"]) == 1


def test_a_drawing_has_links_with_ports_and_says_where_tables_are(tmp_path: Path) -> None:
    written(tmp_path, core=["in_port=7 actions=output:9", "in_port=9 actions=output:7"])
    path = tmp_path / "net.toml"
    lines = ('links = [["web", "core:7"], ["db", "core:9"]]', "[hosts.web]", 'ip = "192.0.2.7"')
    path.write_text("\n".join((*lines, "[flows]", 'core = "core.flows"')))
    network = drawn(str(path), ())
    assert [(node.name, node.ports) for node in network.network.switches] == [("core", (7, 9))]
    status, said = run(str(path))
    assert status == 0, said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["linear,2", "s1=x"], "The tables of s2 are not given"),
        (["linear,2", "s1"], "'s1' names no switch"),
        (["linear,2", "s7=x"], "There is no switch 's7': the switches are s1, s2."),
        (["single,2", "s1=nowhere.flows"], "nowhere.flows"),
        (
            ["single,2", "s1=unix:/nowhere/s1.mgmt"],
            "The switch at unix:/nowhere/s1.mgmt does not tell its tables",
        ),
        (["single,2", "s1=empty", "--from", "h1", "--packet", "in_port=2"], "leave in_port out of --packet"),
        (["single,2", "s1=x", "--from", "h1"], "Give --from and --packet together"),
        (["circle,4", "s1=x"], "circle"),
        (["none.toml"], "none.toml"),
    ],
)
def test_bad_input_is_one_sentence(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").touch()
    with pytest.raises(PenstockError) as refused:
        run(*arguments)
    assert sentence in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["links = 3", 'links = [["h1"]]', 'links = [["h1", "s1:x"]]', "odd = 1"])
def test_a_drawing_that_makes_no_sense_is_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "net.toml").write_text(text)
    with pytest.raises(PenstockError):
        drawn(str(tmp_path / "net.toml"), ())


def test_lines_are_counted_as_an_editor_counts_them(tmp_path: Path) -> None:
    (tmp_path / "s1").write_bytes(b"\xef\xbb\xbfpriority=1 actions=drop\r\n\x0c\r\nnonsense\r\n")
    dump = gathered(str(tmp_path / "s1"), lambda _: None)
    assert [one.number for one in dump.unread] == [3] and len(dump.entries[0]) == 1


def test_a_watch_tells_changes_and_goes_on_past_a_source_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = written(tmp_path, s1=["priority=1 actions=2"])
    path = tmp_path / "s1.flows"
    looks: Iterator[Callable[[], object]] = iter(
        [path.unlink, lambda: None, lambda: path.write_text("priority=1 actions=2\nnonsense\n")]
    )

    def wait(_: float) -> None:
        look = next(looks, None)
        if look is None:
            raise KeyboardInterrupt
        look()

    monkeypatch.setattr("penstock._cli.auditing.time.sleep", wait)
    done = CliRunner().invoke(audit_command, ["single,2", *given, "--watch", "1", "--json"])
    first, error, last = map(json.loads, done.output.splitlines()[:3])
    assert not first["partial"] and "cannot be read" in error["error"]
    assert last["reasons"] == ["Line 2 of s1 could not be read: it is no flow, group or port."]


def test_bytes_that_are_no_text_are_unread_lines(tmp_path: Path) -> None:
    (tmp_path / "s1").write_bytes(b"\xff\xfe\nactions=drop\n")
    dump = gathered(str(tmp_path / "s1"), lambda _: None)
    assert [one.number for one in dump.unread] == [1] and len(dump.entries[0]) == 1
