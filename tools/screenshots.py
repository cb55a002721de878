"""Makes the pictures of README and the documentation from the present code: `python tools/screenshots.py`.

    docs/pictures/report-check.png   the report of a check, in the middle of its run
    docs/pictures/report-fuzz.png    the report of a fuzzing run, where its violation is
    docs/pictures/step.png           `penstock step`, after some steps

Runs are made anew in a temporary folder, opened in Debian's Chromium and photographed.  `--into FOLDER`
writes the pictures elsewhere.  One of more than 200 KB is refused: README would be slow to open.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, ViewportSize, sync_playwright

from penstock._api import check, fuzz
from penstock._cli.stepper.app import StepperApp
from penstock._cli.stepper.model import Run
from penstock._report.document import report_on
from penstock._report.page import render
from penstock._scenario.scenario import load_scenario
from penstock._trace.consent import consent_to
from penstock._trace.trace import trace_file

ROOT: Final = Path(__file__).resolve().parents[1]
EXAMPLES: Final = ROOT / "examples"
MOST_BYTES: Final = 200_000
SIZE: Final = ViewportSize(width=1280, height=800)


def main() -> None:
    """Make all pictures."""
    options = argparse.ArgumentParser(description="Make the pictures of README from the present code.")
    options.add_argument("--into", type=Path, default=ROOT / "docs" / "pictures")
    into: Path = options.parse_args().into
    into.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is missing: install the Debian package chromium (make setup does it as root).")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Whatever runs an event loop comes before the browser, which has one of its own.
        shots = [
            ("report-check", _report(_checked(folder), folder / "check.html"), ["Home", *["ArrowRight"] * 8]),
            ("report-fuzz", _report(_fuzzed(folder), folder / "fuzz.html"), ["r", "End"]),
            ("step", asyncio.run(_stepped(folder / "step.svg")), []),
        ]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            for shot, file, keys in shots:
                _photograph(browser, file, keys, into / f"{shot}.png")
            browser.close()


def _checked(folder: Path) -> Path:
    """Return the trace of a bug in Ryu's learning switch."""
    (found,) = check(EXAMPLES / "scenarios" / "delayed_path.toml", output=folder).violations
    assert found.trace is not None
    return found.trace


def _fuzzed(folder: Path) -> Path:
    """Return the folder of a run in which a host moves and is lost."""
    return fuzz(EXAMPLES / "fuzz" / "host_moves.toml", output=folder).details.folder


def _report(run: Path, file: Path) -> Path:
    file.write_text(render(report_on(run, consent_to(trace_file(run))).as_json()), encoding="utf-8")
    return file


async def _stepped(file: Path) -> Path:
    """Take some steps in the full-screen program, and keep what the screen shows."""
    app = StepperApp(Run(load_scenario(EXAMPLES / "scenarios" / "delayed_path.toml")))
    async with app.run_test(size=(130, 40)) as pilot:
        await pilot.pause()
        for _ in range(8):
            await pilot.press("enter")
            await pilot.pause()
        file.write_text(app.export_screenshot(title="penstock step"), encoding="utf-8")
    return file


def _photograph(browser: Browser, file: Path, keys: list[str], picture: Path) -> None:
    """Open a page or an SVG, press keys, and keep a picture of it."""
    context = browser.new_context(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
    page = context.new_page()
    page.goto(file.as_uri())
    if file.suffix == ".html":
        page.wait_for_selector("html[data-ready=true]")
        for key in keys:
            page.keyboard.press(key)
        page.screenshot(path=picture)
    else:
        page.locator("svg").first.screenshot(path=picture)
    context.close()
    size = picture.stat().st_size
    if size > MOST_BYTES:
        sys.exit(f"{picture.name} has {size:,} bytes, more than {MOST_BYTES:,}: show less.")
    print(f"{picture}: {size:,} bytes")


if __name__ == "__main__":
    main()
