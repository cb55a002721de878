"""The page of a campaign shows all of it, runs nothing, and no name in it can become markup."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from penstock._campaign.campaign import Campaign
from penstock._campaign.comparison import FIXED, NEW, Standing
from penstock._campaign.job import FAILED, Found, Outcome
from penstock._campaign.page import page_of, read_page, worst, write_page
from penstock._campaign.plan import Job, Plan
from penstock._campaign.sources import LeftOut
from penstock._campaign.store import Bug
from penstock._report.serving import serving_page

HOSTILE = "</td><script>alert(1)</script><img src=x onerror=\"alert('2')\">\x1b]0;x\x07\u202e\ud800{{script}}"


class Reader(HTMLParser):
    """Collects the elements, attributes and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += (name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        if self.elements[-1:] != ["style"]:
            self.text += f"{data}\n"


def campaign(name: str) -> Campaign:
    jobs = tuple(
        Job(name, "check", name, name, None, "key", name, command=f"penstock check {name}") for _ in range(3)
    )
    found = Found(name, name, name, name, (name,))
    bug = Bug(1, name, name, name, name, (name,), True, Path(f"runs/{name}/trace.jsonl"), 1)
    return Campaign(
        2,
        Plan(name, name, jobs, (LeftOut(name, name),)),
        {
            0: Outcome("violated", found=(found,), judged=1, properties=2, work=name),
            1: Outcome(FAILED, (name,)),
        },
        1,
        (Standing(bug, NEW, name, (0,)), Standing(bug, FIXED, name)),
        going={2: 0.0},
    )


def test_no_text_becomes_markup(tmp_path: Path) -> None:
    plain, hostile = (Reader(page_of(campaign(name), tmp_path, over=False)) for name in ("app", HOSTILE))
    assert hostile.elements == plain.elements
    assert hostile.attributes == plain.attributes
    assert "script" not in hostile.elements
    assert not any(name.startswith("on") for name in hostile.attributes)
    assert "<script>alert(1)</script>" in hostile.text, "it is shown as the text that it is"


def test_what_steers_or_misleads_is_spelt_out(tmp_path: Path) -> None:
    page = page_of(campaign(HOSTILE), tmp_path)
    assert not {"\x1b", "\x07", "\u202e", "\ud800"} & set(page)
    assert page.encode()


def test_the_page_may_run_nothing_and_ask_nobody(tmp_path: Path) -> None:
    page = page_of(campaign("app"), tmp_path)
    policy = page.partition('Content-Security-Policy" content="')[2].partition('"')[0]
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "<script" not in page


@pytest.mark.parametrize("over", [False, True])
def test_it_is_loaded_again_only_while_the_campaign_goes_on(tmp_path: Path, over: bool) -> None:
    assert ('http-equiv="refresh"' in page_of(campaign("app"), tmp_path, over=over)) is not over


def test_it_tells_jobs_bugs_and_what_was_left_out(tmp_path: Path) -> None:
    text = Reader(page_of(campaign("app.py"), tmp_path, over=False)).text
    for told in ("Campaign 2 of app.py", "2 of 3 jobs done", "1 new", "1 fixed", "Compared with campaign 1"):
        assert told in text, told
    for told in ("going on", "1 of 2", "Left out", "penstock check app.py", "first in campaign 1"):
        assert told in text, told


def test_the_worst_result_is_told_of_several() -> None:
    assert worst(["proved", "bounded", "exhausted"]) == "bounded"
    assert worst(["failed", "violated", "bounded"]) == "violated"
    assert worst(["exhausted", "proved"]) == "exhausted"


def test_it_is_served_as_it_is_now_and_under_its_own_name_only(tmp_path: Path) -> None:
    def asked(path: str, **headers: str) -> tuple[int, str]:
        connection = HTTPConnection(urlsplit(address).netloc, timeout=60)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        found = answer.status, answer.read().decode()
        connection.close()
        return found

    with serving_page(lambda: read_page(tmp_path)) as address:
        assert asked("/")[0] == 500, "there is none yet"
        for number, over in ((1, False), (2, True)):
            now = replace(campaign("app"), number=number)
            write_page(now, tmp_path, over=over)
            assert asked("/") == (200, page_of(now, tmp_path, over=over))
        assert asked("/campaign.sqlite")[0] == 404
        assert asked("/../campaign.html")[0] == 404
        assert asked("/", Host="elsewhere.example")[0] == 403
