"""Light and dark, paper and phones: the same report wherever it is read."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from tests.browser.little_report import little_report
from tests.browser.report_reading import OpenReport, pixels_of, press, settled

from penstock._report.layout import Drawing
from penstock._world.component import Endpoint

CONTRAST = """() => {
    const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const style = getComputedStyle(document.documentElement);
    const light = (name) => {
        probe.fillStyle = style.getPropertyValue(name);
        probe.fillRect(0, 0, 1, 1);
        const parts = [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3).map((each) => each / 255);
        const linear = parts.map((part) =>
            part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    };
    const ratio = (one, other) => {
        const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    };
    const inks = ["ink", "soft", "faint", "accent", "host", "switch", "controller", "fault", "packet", "bad",
        "good"];
    const pairs = inks.flatMap((ink) => ["card", "paper"].map((ground) => [ink, ground]));
    pairs.push(["ink", "accent-soft"], ["ink", "bad-soft"], ["bad", "bad-soft"], ["good", "good-soft"],
        ["soft", "accent-soft"], ["soft", "bad-soft"]);
    return pairs.map(([ink, ground]) => [ink, ground, ratio(`--${ink}`, `--${ground}`)]);
}"""


def ground(page: Page) -> str:
    colour: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return colour


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_can_be_read_on_their_ground(scheme: str, open_report: OpenReport) -> None:
    page = open_report(little_report(), color_scheme=scheme)
    weak = [(ink, on, round(ratio, 2)) for ink, on, ratio in page.evaluate(CONTRAST) if ratio < 4.5]
    assert weak == []


def test_the_theme_follows_the_system_until_the_reader_chooses(open_report: OpenReport) -> None:
    page = open_report(little_report(), color_scheme="dark")
    dark = ground(page)
    assert pixels_of(page, "--host") > 0, "the diagram is drawn in the colours of the theme"
    page.get_by_role("button", name="Switch to light").click()
    light = ground(page)
    assert light != dark
    press(page, "t")
    assert ground(page) == dark
    assert pixels_of(page, "--host") > 0
    page.emulate_media(color_scheme="light")
    assert ground(page) == dark, "what the reader chose stays"


def test_paper_has_the_verdict_the_network_and_the_story(open_report: OpenReport) -> None:
    page = open_report(little_report(), color_scheme="dark")
    page.emulate_media(media="print")
    for part in ("#verdict", "#topology svg", "#tale"):
        expect(page.locator(part)).to_be_visible()
    for part in (".transport", "#steps", "#canvas", "#theme", "#state"):
        expect(page.locator(part)).to_be_hidden()
    told = page.locator("#tale").inner_text()
    assert "s1 loses h1#1." in told
    assert "h2 does something else." not in told, "only what led to the violation is told"
    assert ground(page) == "rgb(255, 255, 255)"
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("width", [360, 768, 1100, 1920])
def test_nothing_is_wider_than_the_window(width: int, open_report: OpenReport) -> None:
    page = open_report(little_report(), viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    press(page, "Home", "j")
    for part in ("#topology", "#steps", "#canvas", "#state", "#slider"):
        box = page.locator(part).bounding_box()
        assert box is not None
        assert box["width"] > 100
        assert box["height"] > 4


def test_messages_move_unless_the_reader_wants_calm(open_report: OpenReport) -> None:
    page = open_report(little_report(), "#1", reduced_motion="no-preference")
    expect(page.locator(".flight")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".flight")).to_have_count(2)
    moving = page.locator(".flight.control")
    expect(moving).not_to_have_attribute("transform", moving.get_attribute("transform") or "")

    calm = open_report(little_report(), "#2", reduced_motion="reduce")
    places = "(all) => all.map((each) => each.getAttribute('transform'))"
    before = calm.locator(".flight").evaluate_all(places)
    press(calm)
    after = calm.locator(".flight").evaluate_all(places)
    assert before == after
    assert len(before) == 2, "the packet that came and the question to the controller"


def test_a_cut_link_is_dashed_and_a_host_that_moved_has_a_new_link(open_report: OpenReport) -> None:
    document = little_report()
    texts = document["strings"]
    texts += ["fabric", "wiring", "the link at h1:0 is cut", "h2 is at s1:7"]
    fabric, wiring, cut, moved = range(len(texts) - 4, len(texts))
    document["steps"][1]["changes"].append([fabric, wiring, [], [cut]])
    document["steps"][3]["changes"].append([fabric, wiring, [cut], [moved]])
    page = open_report(document, "#1")
    down = page.locator(".links path.down")
    assert down.count() == 0
    press(page, "j")
    assert down.count() == 1
    assert down.evaluate("(line) => getComputedStyle(line).strokeDasharray") != "none"
    press(page, "j", "j")
    assert down.count() == 0
    assert "7" in page.locator(".port").all_text_contents()


CROSSINGS = """() => {
    const found = [];
    const nodes = [...document.querySelectorAll("#topology .node")].map((node) => {
        const { e: x, f: y } = node.transform.baseVal.consolidate().matrix;
        return { name: node.dataset.name, x, y, radius: node.querySelector(".body").getBBox().width / 2 };
    });
    for (const path of document.querySelectorAll("#topology .links path, #topology .sessions path")) {
        const length = path.getTotalLength();
        const ends = [path.getPointAtLength(0), path.getPointAtLength(length)];
        for (const node of nodes) {
            if (ends.some((end) => Math.hypot(end.x - node.x, end.y - node.y) < 1)) continue;
            for (let at = 0; at <= length; at += 1) {
                const { x, y } = path.getPointAtLength(at);
                if (Math.hypot(x - node.x, y - node.y) < node.radius) {
                    found.push(node.name);
                    break;
                }
            }
        }
    }
    return found;
}"""
"""What is crossed by a line that does not end there."""


@pytest.mark.parametrize("size", [(1400, 900), (390, 844)], ids=["desktop", "phone"])
@pytest.mark.parametrize("place", ["s1", "s2", "s3", "s4"])
def test_no_link_is_drawn_across_a_node_wherever_a_host_moves(
    place: str, size: tuple[int, int], open_report: OpenReport
) -> None:
    document = little_report()
    pairs = [("h1", "s1"), ("s1", "s2"), ("s2", "s3"), ("s3", "s4"), ("h4", "s4")]
    kinds = {name: "host" if name[0] == "h" else "switch" for pair in pairs for name in pair}
    links = tuple((Endpoint(a, 0), Endpoint(b, place)) for place, (a, b) in enumerate(pairs))
    control = tuple((name, "c0") for name, kind in kinds.items() if kind == "switch")
    document["topology"] = Drawing({**kinds, "c0": "controller"}, links, control).as_json()
    texts = document["strings"]
    texts += ["fabric", "wiring", f"h1 is at {place}:7"]
    fabric, wiring, moved = range(len(texts) - 3, len(texts))
    document["steps"][1]["changes"].append([fabric, wiring, [], [moved]])
    page = open_report(document, "#1", viewport={"width": size[0], "height": size[1]})
    settled(page)
    assert page.evaluate(CROSSINGS) == []
    press(page, "j")
    assert "7" in page.locator(".port").all_text_contents()
    assert page.evaluate(CROSSINGS) == []


def test_the_arrow_of_a_flow_mod_is_not_called_by_a_packets_name(open_report: OpenReport) -> None:
    page = open_report(little_report())
    labels = page.evaluate(
        """() => ["h1#1 [UDP]", "FlowMod(add)", "PacketIn(port=1)", "PacketOut(h1#1)"].map((message) =>
            Penstock.Run.prototype.labelOf.call(
                { steps: [{ packet: 0, message: 1 }], text: (number) => ["h1#1", message][number] }, 0))"""
    )
    assert labels == ["h1#1", "FlowMod", "PacketIn h1#1", "PacketOut h1#1"]


def test_a_network_built_in_layers_is_drawn_in_layers(open_report: OpenReport) -> None:
    document = little_report()
    hosts = [("h1", "s1"), ("h2", "s2"), ("h3", "s2")]
    names = {"h1": "host", "h2": "host", "h3": "host", "s1": "switch", "s2": "switch", "core": "switch"}
    pairs = [*hosts, ("s1", "core"), ("s2", "core")]
    document["topology"] = {
        "nodes": [
            {"name": name, "kind": kind, "x": 0.5, "y": 0.5}
            for name, kind in {**names, "c0": "controller"}.items()
        ],
        "links": [{"a": a, "a_port": 0, "b": b, "b_port": port} for port, (a, b) in enumerate(pairs)],
        "control": [],
    }
    page = open_report(document)
    boxes = {name: page.locator(f".node[data-name={name}] .body").bounding_box() for name in [*names, "c0"]}
    height = {name: box["y"] for name, box in boxes.items() if box is not None}
    assert height["c0"] < height["core"] < height["s1"] < height["h1"]
    assert height["s2"] == height["s1"]
    across = {name: box["x"] for name, box in boxes.items() if box is not None}
    assert across["h1"] < across["h2"] < across["h3"]


def test_a_run_without_steps_shows_what_was_searched(open_report: OpenReport) -> None:
    covered = {"states": 73, "transitions": 91, "seconds": 0.1, "result": "All was searched."}
    told = {
        "result": "exhausted",
        "told": "None can be broken.",
        "reasons": [],
        "next_steps": [],
        "judged": True,
    }
    document = little_report(steps=[], verdict=None, coverage=covered, conclusion=told)
    page = open_report(document)
    expect(page.locator("#workbench")).to_be_hidden()
    said = page.locator("#verdict").inner_text()
    assert "✓" in said and "None can be broken." in said
    assert "73" in page.get_by_role("region", name="What was searched").inner_text()
