"""`penstock campaign` finds, compares, goes on where it was, and ends with a status for CI."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from pathlib import Path

import pytest
from tests.campaign.campaign_lab import CRASHING, MENDED, answer, campaign, scenario, started

from penstock._api import replay
from penstock._campaign import campaign as campaigns
from penstock._campaign import job as jobs
from penstock._campaign.store import opened
from penstock._verdict.verdict import Result

SLOW = MENDED.replace("self.packet_out(", "self.seen = getattr(self, 'seen', 0) + 1; self.packet_out(")
"""A controller that counts, so that there is always something more to search."""


LOOK = """

def look():
    import os, stat

    for number in range(256):
        try:
            kind = os.fstat(number).st_mode
        except OSError:
            continue
        if stat.S_ISSOCK(kind):
            raise ValueError(number)
"""
"""Raises if its process has a socket."""


def results(told: dict[str, object]) -> dict[str, object]:
    jobs = told["jobs"]
    assert isinstance(jobs, list)
    return {job["name"]: job["result"] for job in jobs}


def standings(told: dict[str, object]) -> list[tuple[str, str]]:
    bugs = told["bugs"]
    assert isinstance(bugs, list)
    return [(bug["property"], bug["standing"]) for bug in bugs]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    scenario(tmp_path / "apps", "loop", CRASHING)
    return tmp_path


def test_a_bug_is_new_then_known_then_fixed_and_the_status_says_so(folder: Path) -> None:
    words = ("apps", "-e", "check", "--jobs", "1")
    first = campaign(folder, *words, status=1)
    assert standings(first) == [("ControllerCrash", "new")]
    (bug,) = first["bugs"]
    assert (bug["sequence"], bug["minimised"]) == (["h1 send ping h2"], True)
    assert (folder / bug["trace"]).is_file()

    scenario(folder / "apps", "loop", f"{CRASHING}\n# another comment\n")
    known = campaign(folder, *words, status=1)
    assert (known["campaign"], known["compared_with"]) == (2, 1)
    assert standings(known) == [("ControllerCrash", "known")]
    assert known["bugs"][0]["bug"] == bug["bug"]

    scenario(folder / "apps", "loop", MENDED)
    fixed = campaign(folder, *words, status=0)
    assert standings(fixed) == [("ControllerCrash", "fixed")]
    assert results(fixed) == {"loop.toml · check": "exhausted"}
    assert answer(campaign(folder, *words, status=0)) == answer(fixed), "nothing is done again"

    scenario(folder / "apps", "loop", f"{MENDED}\n# another comment\n")
    assert standings(campaign(folder, *words, status=0)) == [], "what is fixed is no longer told"


def test_a_search_that_stopped_early_does_not_mean_that_a_bug_is_fixed(folder: Path) -> None:
    campaign(folder, "apps", "-e", "check", status=1)
    # The same program, but the search has no chance to come that far.
    scenario(folder / "apps", "loop", CRASHING, "\n[search]\nstates = 1\n")
    told = campaign(folder, "apps", "-e", "check", status=1)
    assert results(told) == {"loop.toml · check": "bounded"}
    assert standings(told) == [("ControllerCrash", "known")]
    assert told["bugs"][0]["why"] == "its run, taken again, still violates the property"

    scenario(folder / "apps", "loop", MENDED, "\n[search]\nstates = 1\n")
    told = campaign(folder, "apps", "-e", "check", status=3)
    assert standings(told) == [("ControllerCrash", "fixed")]
    assert told["bugs"][0]["why"] == "its run no longer violates the property"


def test_a_bug_that_is_not_judged_any_more_is_not_fixed(folder: Path) -> None:
    words = ("apps", "-e", "check", "--jobs", "1")
    campaign(folder, *words, status=1)
    judged = scenario(folder / "apps", "loop", MENDED)
    judged.write_text(judged.read_text().replace('["ControllerCrash"]', '["NoForwardingLoops"]'))
    told = campaign(folder, *words, status=3)
    assert results(told) == {"loop.toml · check": "exhausted"}, "of what is judged nothing is broken"
    assert standings(told) == [("ControllerCrash", "unseen")]
    why = "not judged any more: no job of this campaign has judged ControllerCrash of its program"
    assert told["bugs"][0]["why"] == why

    judged.unlink()
    judged.write_text("topolgy = 1\n[controller]\nnative = 'loop_program.py:_Hub'\n")
    told = campaign(folder, *words, status=3)
    assert standings(told) == [("ControllerCrash", "unseen")]
    assert "not judged any more" in told["bugs"][0]["why"]

    scenario(folder / "apps", "loop", MENDED)
    told = campaign(folder, *words, status=0)
    assert standings(told) == [("ControllerCrash", "fixed")], "its run shows it once it is judged again"


RULE = """
from penstock import invariant


@invariant(reads=("s1",))
def NAME(s1):
    return len(s1.tables) == HOW_MANY


judged = NAME
"""
"""A rule of the user's own, which is called what its function is called."""


def rule(folder: Path, name: str, how_many: int) -> None:
    (folder / "apps" / "rules.py").write_text(RULE.replace("NAME", name).replace("HOW_MANY", str(how_many)))


def test_a_rule_that_is_another_one_now_or_gone_has_mended_nothing(tmp_path: Path) -> None:
    file = scenario(tmp_path / "apps", "loop", MENDED)
    file.write_text(
        file.read_text().replace('properties = ["ControllerCrash"]', 'properties = ["rules.py:judged"]')
    )
    rule(tmp_path, "no_tables", 0)
    words = ("apps", "-e", "check", "--jobs", "1")
    told = campaign(tmp_path, *words, status=1)
    assert standings(told) == [("no_tables", "new")]
    (trace,) = {tmp_path / bug["trace"] for bug in told["bugs"]}

    rule(tmp_path, "some_tables", 0)
    assert standings(campaign(tmp_path, *words, status=1)) == [
        ("some_tables", "new"),
        ("no_tables", "unseen"),
    ]
    for exact in (True, False):
        again = replay(trace, exact=exact, trust=True)
        assert again.verdict.result is Result.BOUNDED
        assert any("no_tables is not judged any more" in reason for reason in again.left_out)

    (tmp_path / "apps" / "rules.py").unlink()
    told = campaign(tmp_path, *words, status=3)
    assert standings(told) == [("no_tables", "unseen"), ("some_tables", "unseen")]
    assert all(bug["why"].startswith("not judged any more: ") for bug in told["bugs"])
    assert all("rules.py" in bug["why"] for bug in told["bugs"])


def test_jobs_are_done_again_only_if_their_code_has_changed(folder: Path) -> None:
    scenario(folder / "apps", "mended", MENDED)
    words = ("apps", "-e", "check")
    campaign(folder, *words, status=1)
    scenario(folder / "apps", "loop", MENDED)
    campaign(folder, *words, status=0)
    assert runs(folder) == ["exhausted", "exhausted", "violated"]
    campaign(folder, *words, "--fresh", status=0)
    assert len(runs(folder)) == 5


def runs(folder: Path) -> list[str]:
    """Return what the runs came to that are kept."""
    database = sqlite3.connect(folder / "penstock-campaign" / "campaign.sqlite")
    try:
        return sorted(result for (result,) in database.execute("SELECT result FROM runs"))
    finally:
        database.close()


def test_a_broken_app_is_a_row_with_its_error_and_the_rest_is_done(folder: Path) -> None:
    (folder / "apps" / "broken.py").write_text("def f(:\n")
    (folder / "apps" / "wrong.toml").write_text("topolgy = 'x'\n[controller]\napps = ['x.py']\n")
    (folder / "apps" / "exits.py").write_text(f"{CRASHING}\nimport os\nos._exit(0)\n")
    scenario(folder / "apps", "loop", MENDED)
    told = campaign(folder, "apps", "-e", "check", "--seconds", "20", status=3)
    found = results(told)
    assert found["loop.toml · check"] == "exhausted"
    assert {name for name, result in found.items() if result == "failed"} >= {
        "broken.py · check",
        "wrong.toml · check",
    }
    assert found["exits.py:Hub · check"] in ("failed", "bounded"), "leaving is no way to be well"
    reasons = {job["name"]: " ".join(job["reasons"]) for job in told["jobs"]}
    assert "SyntaxError" in reasons["broken.py · check"]
    assert "'topolgy'" in reasons["wrong.toml · check"]


def test_bugs_of_fuzzing_are_minimised_and_merged_over_seeds(tmp_path: Path) -> None:
    scenario(tmp_path / "apps", "loop", CRASHING)
    told = campaign(tmp_path, "apps", "-e", "fuzz", "--seed", "1", "--seed", "2", status=1)
    assert set(results(told)) == {"loop.toml · fuzz · seed 1", "loop.toml · fuzz · seed 2"}
    assert all(bug["minimised"] for bug in told["bugs"])
    assert len(told["bugs"]) == 1, [bug["sequence"] for bug in told["bugs"]]
    assert len(told["bugs"][0]["jobs"]) == 2


def test_kill_9_loses_nothing_that_was_told_and_the_answer_is_that_of_one_left_alone(tmp_path: Path) -> None:
    for place in ("alone", "killed"):
        for name, code in (("a", CRASHING), ("b", MENDED), ("c", CRASHING), ("d", MENDED)):
            scenario(tmp_path / place / "apps", name, code)
    words = ("apps", "-e", "check", "-e", "fuzz", "--jobs", "2")
    alone = campaign(tmp_path / "alone", *words, status=1)
    process = started(tmp_path / "killed", *words)
    page = tmp_path / "killed" / "penstock-campaign" / "campaign.html"
    wait_for(lambda: "2 of 8 jobs done" in text_of(page) or "3 of 8 jobs done" in text_of(page))
    process.kill()
    process.communicate()
    told = text_of(page)
    kept = len(runs(tmp_path / "killed"))
    assert f"{kept} of 8 jobs done" in told or kept > 2, "what the page told is kept"
    resumed = campaign(tmp_path / "killed", *words, status=1)
    assert answer(resumed) == answer(alone)
    assert len(runs(tmp_path / "killed")) == 8, "no job was done twice"


def test_a_program_has_no_line_to_the_campaign(tmp_path: Path) -> None:
    code = MENDED.replace("        self.packet_out(", "        look()\n        self.packet_out(")
    scenario(tmp_path / "apps", "looking", code + LOOK)
    told = campaign(tmp_path, "apps", "-e", "check", status=0)
    assert results(told) == {"looking.toml · check": "exhausted"}


def text_of(page: Path) -> str:
    try:
        return page.read_text()
    except FileNotFoundError:
        return ""


def wait_for(holds: object, seconds: float = 120.0) -> None:
    assert callable(holds)
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.01)


def test_ctrl_c_keeps_what_was_done_and_leaves_nothing_running(tmp_path: Path) -> None:
    scenario(tmp_path / "apps", "a_mended", MENDED)
    (tmp_path / "apps" / "slow.py").write_text(SLOW)
    process = started(tmp_path, "apps", "-e", "check", "--jobs", "1", "--seconds", "100")
    page = tmp_path / "penstock-campaign" / "campaign.html"
    wait_for(lambda: "1 of 2 jobs done" in text_of(page) and "going on" in text_of(page))
    mine = processes_of(process.pid)
    assert mine
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3, out + err
    assert "stopped; 1 of 2 jobs are done; run the same command to continue." in err
    assert "Traceback" not in err
    wait_for(lambda: not any(map(is_running, mine)))
    assert runs(tmp_path) == ["exhausted"]
    assert "refresh" not in text_of(page)


def processes_of(parent: int) -> list[int]:
    """Return the processes below one."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(place.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(place.parent.name))
        except OSError:
            continue
    return found + [each for child in found for each in processes_of(child)]


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("missing",), "missing is neither a folder nor a list"),
        (("missing.toml",), "missing.toml cannot be read (No such file or directory): check its path."),
        (("empty",), "There is nothing to run in empty"),
        (("apps", "-e", "chekc"), "did you mean 'check'"),
        (("apps", "--jobs", "0"), "--jobs"),
        (("list.toml",), "'appps' in [list.toml]: did you mean 'apps'?"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    folder: Path, words: tuple[str, ...], told: str
) -> None:
    (folder / "empty").mkdir()
    (folder / "list.toml").write_text("appps = ['x.py']\n")
    process = started(folder, *words)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, ""), out + err
    assert told in err
    assert len(err.strip().splitlines()) == 1
    assert not (folder / "penstock-campaign").exists()


def test_a_database_that_is_none_is_one_sentence(folder: Path) -> None:
    (folder / "penstock-campaign").mkdir()
    (folder / "penstock-campaign" / "campaign.sqlite").write_text("no database")
    process = started(folder, "apps", "-e", "check")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert err.strip() == (
        "penstock: penstock-campaign/campaign.sqlite is no file of campaigns, or damaged: move it away, "
        "or give another folder with -o."
    )


def test_a_job_that_does_not_end_in_its_time_is_ended_and_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario(tmp_path / "apps", "mended", MENDED)
    (tmp_path / "apps" / "slow.py").write_text(SLOW)
    monkeypatch.setattr(campaigns, "_MARGIN_S", -200.0)
    plan, options = campaigns.planned(
        tmp_path / "apps", {"engines": ("check",), "seconds": 50.1, "topologies": ("single,3",), "jobs": 1}
    )
    # Other tests of this process may have servers that stay.
    others = {*processes_of(os.getpid())}
    begun: set[int] = set()
    with opened(tmp_path / "out") as store:
        done = campaigns.run(
            plan, options, store, fresh=False, watch=lambda now: begun.update(processes_of(os.getpid()))
        )
    assert [outcome.result for outcome in done.outcomes.values()] == ["bounded", "bounded"]
    assert all("did not come to its end within 0.4 s" in each.reasons[0] for each in done.outcomes.values())
    assert done.status == 3
    assert begun - others
    wait_for(lambda: not any(map(is_running, begun - others)))


def test_a_violation_that_was_not_minimised_says_so_and_is_a_bug_of_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_LEAST_S", 1e9)
    plan, _ = campaigns.planned(folder / "apps", {"engines": ("check",)})
    (job,) = plan.jobs
    assert job.scenario is not None
    outcome = jobs.perform(jobs.Task("check", job.scenario, folder / "out", 30))
    (found,) = outcome.found
    assert (found.bug, found.minimised, found.sequence) == ("ControllerCrash-unminimised", False, ())
    assert Path(found.trace).is_file()
