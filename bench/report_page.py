"""How fast a report of a long run opens in Chromium, and how it answers while it is read.

    python -m bench.report_page [--inputs 5000] [--least 20000] [--seed 1] [--json]

A fuzzing run on virtual time with at least `--least` events is made, unfolded and written as a page.
Chromium (Debian's, without a screen) opens it `ROUNDS` times: `open_ms` is the median time from the start of
the navigation until the first frame with everything in it has been painted, as the page marks it.  Each time
the reader jumps to steps all over the run by the slider (`jump_ms`, until the frame with the new step is
done), scrolls the list by a screen each frame, zooms the diagram in and out and moves it: for these,
`…_frame_ms` is the time from frame to frame.  Of each the median, the 95th percentile and for jumps the
slowest are given, of the round in which that was quickest, because other work on the machine only slows it
down.  `…_cpu_ms` is what the main thread of the page had to do for one of them.

It fails, with 1, where the page opens later than `LATEST_OPEN_MS`, a jump takes longer than
`LONGEST_JUMP_MS`, or more than one frame in twenty takes longer than `LONGEST_FRAME_MS`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from penstock._fuzz.fuzzing import fuzz
from penstock._report.document import report_on
from penstock._report.page import render
from penstock._scenario.scenario import Scenario
from penstock._trace.consent import consent_to
from penstock._trace.trace import trace_file
from penstock.errors import PenstockError

EXAMPLES = Path(__file__).parent.parent / "examples"
ROUNDS = 3
JUMPS = 60
FRAMES = 90
LATEST_OPEN_MS = 3_000
LONGEST_JUMP_MS = 100
LONGEST_FRAME_MS = 100

JUMP = """async (places) => {
    const slider = document.getElementById("slider");
    const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const taken = [];
    for (const place of places) {
        await painted();
        const begin = performance.now();
        slider.value = place;
        slider.dispatchEvent(new Event("input"));
        await painted();
        taken.push(performance.now() - begin);
    }
    return taken;
}"""

SCROLL = """async (frames) => {
    const list = document.getElementById("steps");
    list.scrollTop = 0;
    const taken = [];
    let before = await new Promise(requestAnimationFrame);
    for (let at = 0; at < frames; at++) {
        list.scrollTop += 900;
        const now = await new Promise(requestAnimationFrame);
        taken.push(now - before);
        before = now;
    }
    return taken;
}"""

ZOOM = """async (frames) => {
    const canvas = document.getElementById("canvas");
    const { left, top, width } = canvas.getBoundingClientRect();
    const taken = [];
    let before = await new Promise(requestAnimationFrame);
    for (let at = 0; at < frames; at++) {
        const deltaY = at < frames / 2 ? 60 : -60;
        const spot = { clientX: left + width / 2, clientY: top + 90, bubbles: true, cancelable: true };
        canvas.dispatchEvent(new WheelEvent("wheel", { ...spot, deltaY, shiftKey: at % 3 === 2 }));
        const now = await new Promise(requestAnimationFrame);
        taken.push(now - before);
        before = now;
    }
    return taken;
}"""


def long_run(folder: Path, inputs: int, seed: int) -> Path:
    """Fuzz the learning switch of the examples, and return the run's folder."""
    scenario = Scenario(
        controller={"native": "controllers/learning_switch.py:LearningSwitch"},
        topology="linear,3",
        folder=EXAMPLES,
        fuzz={"events": inputs, "seed": seed, "profile": "everything"},
    )
    return asyncio.run(fuzz(scenario, folder)).trace.parent


def opened(browser: Browser, address: str) -> tuple[Page, float]:
    """Open the page, and return it with the time until it was ready."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address)
    page.wait_for_selector("html[data-ready=true]", timeout=60_000)
    ready: float = page.evaluate("performance.getEntriesByName('penstock-ready')[0].startTime")
    return page, ready


def taken(page: Page, script: str, given: Any) -> dict[str, float]:
    """Run a script that returns times, and return their spread and the work of the main thread for each."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = main_thread(session)
    ordered = sorted(page.evaluate(script, given))
    work = (main_thread(session) - before) * 1000 / len(ordered)
    return {
        "": round(statistics.median(ordered), 1),
        "p95_": round(ordered[int(len(ordered) * 0.95)], 1),
        "slowest_": round(ordered[-1], 1),
        "cpu_": round(work, 1),
    }


def main_thread(session: CDPSession) -> float:
    """Return for how many seconds the main thread of the page has worked."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    found: float = next(each["value"] for each in metrics if each["name"] == "TaskDuration")
    return found


def read(browser: Browser, address: str, steps: int, seed: int) -> dict[str, Any]:
    """Open the page several times, read in it each time, and return the best of each."""
    choose = random.Random(seed)
    opens: list[float] = []
    rounds: dict[str, list[dict[str, float]]] = {"jump": [], "scroll_frame": [], "zoom_frame": []}
    for _ in range(ROUNDS):
        page, ready = opened(browser, address)
        opens.append(ready)
        rounds["jump"].append(taken(page, JUMP, [choose.randint(0, steps) for _ in range(JUMPS)]))
        rounds["scroll_frame"].append(taken(page, SCROLL, FRAMES))
        page.get_by_role("button", name="all", exact=True).click()
        rounds["zoom_frame"].append(taken(page, ZOOM, FRAMES))
        page.close()
    best = {name: min(found, key=lambda each: each["p95_"]) for name, found in rounds.items()}
    return {
        "open_ms": round(statistics.median(opens)),
        "opens_ms": [round(each) for each in opens],
        **{f"{name}_{part}ms": value for name, parts in best.items() for part, value in parts.items()},
    }


def measure(inputs: int, least: int, seed: int) -> dict[str, Any]:
    chromium = shutil.which("chromium")
    if chromium is None:
        raise PenstockError("chromium is missing: install the Debian package chromium.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = long_run(folder, inputs, seed)
        report = report_on(run, consent_to(trace_file(run)))
        steps = len(report.steps)
        if steps < least:
            raise PenstockError(f"The run has {steps} events, not {least}: give more --inputs.")
        begin = time.perf_counter()
        text = render(report.as_json())
        rendered = time.perf_counter() - begin
        file = folder / "report.html"
        file.write_text(text, encoding="utf-8")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            found = read(browser, file.as_uri(), steps, seed)
            version = browser.version
            browser.close()
    return {
        "steps": steps,
        "page_mb": round(len(text) / 1e6, 1),
        "render_ms": round(rendered * 1000),
        "chromium": version,
        **found,
    }


def holds(found: dict[str, Any]) -> bool:
    """Tell whether the page was quick enough."""
    limits = {
        "open_ms": LATEST_OPEN_MS,
        "jump_slowest_ms": LONGEST_JUMP_MS,
        "scroll_frame_p95_ms": LONGEST_FRAME_MS,
        "zoom_frame_p95_ms": LONGEST_FRAME_MS,
    }
    return all(found[name] < limit for name, limit in limits.items())


def story(found: dict[str, Any]) -> str:
    return (
        "{steps} steps, a page of {page_mb} MB made in {render_ms} ms, Chromium {chromium}\n"
        "  opens in    {open_ms:>7} ms (each time: {opens_ms})\n"
        "  a jump      {jump_ms:>7} ms, 95 % in {jump_p95_ms} ms, the slowest in {jump_slowest_ms} ms; "
        "work {jump_cpu_ms} ms\n"
        "  scrolling   {scroll_frame_ms:>7} ms a frame, 95 % in {scroll_frame_p95_ms} ms; "
        "work {scroll_frame_cpu_ms} ms\n"
        "  zooming     {zoom_frame_ms:>7} ms a frame, 95 % in {zoom_frame_p95_ms} ms; "
        "work {zoom_frame_cpu_ms} ms"
    ).format(**found)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.report_page", description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=5_000, help="what the fuzzer does")
    parser.add_argument("--least", type=int, default=20_000, help="how many events there must be")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        found = measure(options.inputs, options.least, options.seed)
    except PenstockError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(found) if options.json else story(found))
    return 0 if holds(found) else 1


if __name__ == "__main__":
    sys.exit(main())
