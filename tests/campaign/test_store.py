"""What came of jobs is kept whole, is taken over by the next campaign, and is not taken from a stranger."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from tests.disk_lab import fill, small_disk

from penstock._base.files import UnwritableError
from penstock._campaign.job import FAILED, Found, Outcome
from penstock._campaign.plan import Job, Plan
from penstock._campaign.sources import FILE
from penstock._campaign.store import opened
from penstock.errors import PenstockError

JOBS = tuple(
    Job(app, "check", "", "", None, key=f"key of {app}", program=f"program of {app}")
    for app in ("a.py", "b.py")
)
PLAN = Plan("apps", "/apps", JOBS, ())
LOOP = Found(
    "NoForwardingLoops", "it \ud800 loops", "runs/1/trace.jsonl", "NoForwardingLoops-1", ("h1 send",)
)
FOUND = Outcome("violated", (), (LOOP,), 1, 2, "7 states", 0.5, ("NoForwardingLoops", "ControllerCrash"))
BOUNDED = Outcome("bounded", ("it <stopped>",))


def test_what_is_recorded_is_read_again(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        campaign = store.begin(PLAN, fresh=False)
        store.record(campaign, 0, JOBS[0], FOUND)
        store.record(campaign, 1, JOBS[1], BOUNDED)
    with opened(tmp_path) as store:
        assert store.begin(PLAN, fresh=False) == campaign, "it goes on with the same"
        found = store.outcomes(campaign)
        ((bug, jobs),) = store.bugs_of(campaign).values()
    assert found[1] == BOUNDED
    (loop,) = found[0].found
    assert (loop.bug, loop.sequence, loop.message) == (
        "NoForwardingLoops-1",
        ("h1 send",),
        "it \\ud800 loops",
    )
    assert replace(found[0], found=()) == replace(FOUND, found=())
    assert (bug.program, bug.first, jobs) == ("program of a.py", campaign, [0])
    assert sorted(path.name for path in tmp_path.iterdir()) == [FILE], "all of it is in one file"


def test_a_new_campaign_takes_over_what_has_not_changed(tmp_path: Path) -> None:
    changed = replace(PLAN, jobs=(JOBS[0], replace(JOBS[1], key="another")))
    with opened(tmp_path) as store:
        first = store.begin(PLAN, fresh=False)
        for number, job in enumerate(JOBS):
            store.record(first, number, job, FOUND if not number else BOUNDED)
        second = store.begin(changed, fresh=False)
        assert second != first
        assert set(store.outcomes(second)) == {0}
        third = store.begin(changed, fresh=True)
        assert third != second
        assert store.outcomes(third) == {}


def test_what_has_failed_is_done_again(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        campaign = store.begin(PLAN, fresh=False)
        store.record(campaign, 0, JOBS[0], Outcome(FAILED, ("there is no os-ken",)))
        store.record(campaign, 1, JOBS[1], BOUNDED)
        store.finish(campaign)
        assert store.begin(PLAN, fresh=False) == campaign
        assert set(store.outcomes(campaign)) == {1}
        assert not store.is_finished(campaign)
        again = store.begin(replace(PLAN, jobs=(JOBS[0],)), fresh=False)
        assert store.outcomes(again) == {}


def test_campaigns_of_other_folders_are_not_compared(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        first = store.begin(PLAN, fresh=False)
        store.finish(first)
        other = store.begin(replace(PLAN, what="elsewhere"), fresh=False)
        assert store.before(other) is None
        unfinished = store.begin(PLAN, fresh=True)
        assert store.before(unfinished) == first
        assert store.before(store.begin(PLAN, fresh=True)) == first, (
            "one that was not finished is passed over"
        )


def test_one_bug_of_two_jobs_is_one_and_of_two_programs_two(tmp_path: Path) -> None:
    jobs = (JOBS[0], replace(JOBS[0], engine="fuzz", key="other key"), JOBS[1])
    with opened(tmp_path) as store:
        campaign = store.begin(replace(PLAN, jobs=jobs), fresh=False)
        for number, job in enumerate(jobs):
            store.record(campaign, number, job, FOUND)
        found = [(bug.program, numbers) for bug, numbers in store.bugs_of(campaign).values()]
    assert found == [("program of a.py", [0, 1]), ("program of b.py", [2])]


def test_kill_9_loses_nothing_that_was_recorded(tmp_path: Path) -> None:
    if not (child := os.fork()):
        try:
            with opened(tmp_path) as store:
                campaign = store.begin(PLAN, fresh=False)
                store.record(campaign, 0, JOBS[0], FOUND)
                store._database.execute("BEGIN IMMEDIATE")
                store._database.execute("DELETE FROM runs")
                os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    with opened(tmp_path) as store:
        assert set(store.outcomes(store.begin(PLAN, fresh=False))) == {0}


def test_a_folder_is_for_one_campaign_at_a_time(tmp_path: Path) -> None:
    with (
        opened(tmp_path),
        pytest.raises(PenstockError, match="Another campaign is going on in"),
        opened(tmp_path),
    ):
        pass
    with opened(tmp_path) as store:
        assert store.folder == tmp_path


def damaged(path: Path) -> None:
    with opened(path.parent) as store:
        campaign = store.begin(PLAN, fresh=False)
        for number, job in enumerate(JOBS):
            store.record(campaign, number, job, FOUND)
    data = bytearray(path.read_bytes())
    data[4096 : 3 * 4096] = b"x" * 2 * 4096
    path.write_bytes(data)


def triggered(path: Path) -> None:
    with opened(path.parent):
        pass
    database = sqlite3.connect(path)
    database.execute("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END")
    database.commit()
    database.close()


def others(path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE notes (text TEXT)")
    database.commit()
    database.close()


@pytest.mark.parametrize(
    "spoil",
    [lambda path: path.write_text("no database at all, but some text"), damaged, triggered, others],
    ids=["text", "damaged", "with a trigger", "another's"],
)
def test_what_is_no_file_of_campaigns_is_refused_and_left_alone(tmp_path: Path, spoil: object) -> None:
    assert callable(spoil)
    spoil(tmp_path / FILE)
    before = (tmp_path / FILE).read_bytes()
    told = r"campaign\.sqlite is no file of campaigns, or damaged: move it away"
    with pytest.raises(PenstockError, match=told), opened(tmp_path) as store:
        store.outcomes(store.begin(PLAN, fresh=False))
    assert (tmp_path / FILE).read_bytes() == before


def test_a_reason_that_is_no_list_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        campaign = store.begin(PLAN, fresh=False)
        store.record(campaign, 0, JOBS[0], FOUND)
        store._database.execute("UPDATE runs SET reasons = '{'")
        with pytest.raises(PenstockError, match="or damaged"):
            store.outcomes(campaign)


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "campaign").mkdir()
    (tmp_path / "campaign" / FILE).symlink_to(tmp_path / "victim")
    with pytest.raises(UnwritableError, match="it is a link"), opened(tmp_path / "campaign"):
        pass
    assert (tmp_path / "victim").read_text() == "mine"


def test_a_disk_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with (
        small_disk(tmp_path / "disk", "ro") as disk,
        pytest.raises(UnwritableError, match=r"Read-only file system; write elsewhere\.$"),
        opened(disk),
    ):
        pass


def test_a_disk_that_is_full_is_one_sentence_and_what_was_there_stays(tmp_path: Path) -> None:
    with opened(tmp_path / "elsewhere") as store:
        campaign = store.begin(PLAN, fresh=False)
        store.record(campaign, 0, JOBS[0], FOUND)
    with small_disk(tmp_path / "disk", "size=400k") as disk:
        shutil.copy(tmp_path / "elsewhere" / FILE, disk)
        fill(disk)
        with pytest.raises(UnwritableError, match=r"campaign\.sqlite"), opened(disk) as store:
            for _ in range(100):
                store.record(campaign, 1, JOBS[1], BOUNDED)
    with opened(tmp_path / "elsewhere") as store:
        assert set(store.outcomes(campaign)) == {0}


def test_a_file_of_the_first_format_is_taken_over(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        campaign = store.begin(PLAN, fresh=False)
        store.record(campaign, 0, JOBS[0], FOUND)
    database = sqlite3.connect(tmp_path / FILE)
    database.executescript("DROP TABLE watched; PRAGMA user_version = 1;")
    database.close()
    with opened(tmp_path) as store:
        assert store.begin(PLAN, fresh=False) == campaign
        found = store.outcomes(campaign)[0]
        assert (found.result, found.watched) == ("violated", ()), "what it judged is not known"
        store.record(campaign, 1, JOBS[1], replace(BOUNDED, watched=("ControllerCrash",)))
        assert store.outcomes(campaign)[1].watched == ("ControllerCrash",)
