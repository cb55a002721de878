"""A real Chromium that opens reports, and reports of real runs for it to open.

One browser serves a module; each test has a page of its own.  Whatever a page complains of, and any request
that it makes, fails the test at its end.

While a browser is there, nothing else in the thread may run an event loop, which fuzzing does.  So the
reports are of the whole session, and all tests of a module ask for them or none does: they are made before
the browser.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect, sync_playwright
from tests.browser.report_reading import OpenReport
from tests.required_tools import find_tool

from penstock._cli.main import commands
from penstock._report.document import report_on
from penstock._report.page import render
from penstock._trace.consent import consent_to
from penstock._trace.trace import trace_file

# A condition is waited for; how long it takes is no part of any test.
expect.set_options(timeout=30_000)
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = find_tool("chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def open_report(browser: Browser, tmp_path: Path) -> Iterator[OpenReport]:
    """Open a document in a page of its own; options are those of a browser's context."""
    problems: list[str] = []
    contexts: list[BrowserContext] = []

    def note(request: Request) -> None:
        if not request.url.startswith(("file:", "data:")):
            problems.append(f"asked for {request.url}")

    def opened(document: dict[str, Any], address: str = "", **options: Any) -> Page:
        file = tmp_path / f"report-{len(contexts)}.html"
        file.write_text(render(document), encoding="utf-8")
        size = {"width": 1400, "height": 900}
        contexts.append(browser.new_context(**{"viewport": size, "reduced_motion": "reduce", **options}))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: problems.append(f"error {error}"))
        page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
        page.on("request", note)
        page.goto(file.as_uri() + address)
        page.wait_for_selector("html[data-ready=true]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []


def penstock(*arguments: str | Path) -> None:
    """Run a command that tells of a violation."""
    texts = [str(each) for each in arguments]
    done = CliRunner().invoke(commands, texts, standalone_mode=False, catch_exceptions=False)
    assert done.return_value == 1, done.output


@pytest.fixture(scope="session")
def fuzzed(tmp_path_factory: pytest.TempPathFactory, ryu_sources: Path) -> Path:
    """The folder of a fuzzing run that found a violation."""
    folder = tmp_path_factory.mktemp("fuzzed")
    penstock("fuzz", EXAMPLES / "fuzz" / "host_moves.toml", "-o", folder)
    return folder / "host_moves-1"


def whole_report(path: Path) -> dict[str, Any]:
    """Return the report on a run of our own, with what its controller knew."""
    return report_on(path, consent_to(trace_file(path))).as_json()


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory, fuzzed: Path) -> dict[str, dict[str, Any]]:
    """One document of each engine, made by running it."""
    folder = tmp_path_factory.mktemp("runs")
    penstock("check", EXAMPLES / "nice" / "bug_01.toml", "-o", folder)
    penstock("verify", EXAMPLES / "mocs" / "bug_nesting.toml", "-o", folder)
    found = {
        "check": whole_report(folder / "bug_01-1.jsonl"),
        "verify": whole_report(folder / "bug_nesting-1.jsonl"),
        "fuzz": whole_report(fuzzed),
    }
    run = shutil.copytree(fuzzed, folder / fuzzed.name)
    penstock("minimize", run)
    return {**found, "minimised": whole_report(run / "minimal")}
