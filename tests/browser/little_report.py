"""A report written by hand: two hosts, a switch, a controller, and as much as a test wants to say."""

from __future__ import annotations

from typing import Any

LANES = ["h1", "h2", "s1", "c0"]
KINDS = {"h": "host", "s": "switch", "c": "controller"}


class Texts:
    """Texts that are known by their number."""

    def __init__(self) -> None:
        self.known: list[str] = []

    def __call__(self, text: str) -> int:
        if text not in self.known:
            self.known.append(text)
        return self.known.index(text)


def written(text: Texts, number: int, lane: str, title: str, **more: Any) -> dict[str, Any]:
    """Return one step; what is not said is empty."""
    return {
        "n": number,
        "kind": KINDS[lane[0]],
        "lane": LANES.index(lane),
        "at": None,
        "title": text(title),
        "told": [],
        "packet": None,
        "message": None,
        "sends": [],
        "from": None,
        "causes": [],
        "events": [],
        "lost": [],
        "relevant": True,
        "changes": [],
        **more,
    }


def little_report(**more: Any) -> dict[str, Any]:
    """Return a run in which h1 sends a packet that s1 loses after the controller gave it a rule."""
    text = Texts()
    packet = text("h1#1")
    rule = text("priority=1 any -> output:2")
    steps = [
        written(text, 1, "h1", "h1 sends h1#1.", packet=packet, sends=[[2, text("h1#1 [UDP]")]]),
        written(
            text,
            2,
            "s1",
            "s1 gets h1#1.",
            packet=packet,
            message=text("h1#1 [UDP]"),
            causes=[1],
            sends=[[3, text("PacketIn(h1#1)")]],
            told=[text("sends a packet-in to controller c0")],
            changes=[[text("s1"), text("buffers"), [], [text("0: h1#1")]]],
            **{"from": 1},
        ),
        written(
            text,
            3,
            "c0",
            "c0 handles the packet-in.",
            packet=packet,
            causes=[2],
            sends=[[2, text("FlowMod(add)")]],
            **{"from": 2},
        ),
        written(
            text,
            4,
            "s1",
            "s1 handles the FlowMod.",
            causes=[3],
            changes=[
                [text("s1"), text("flow table 0"), [], [rule]],
                [text("s1"), text("buffers"), [text("0: h1#1")], []],
            ],
            **{"from": 3},
        ),
        written(text, 5, "h2", "h2 does something else.", relevant=False),
        written(text, 6, "s1", "s1 loses h1#1.", packet=packet, lost=[text("s1:2 h1#1 [UDP]")]),
    ]
    document = {
        "format": "penstock-report",
        "version": 1,
        "penstock": "0",
        "title": "A little run",
        "engine": "check",
        "source": "little.jsonl",
        "verdict": {"property": "NoBlackHoles", "message": "h1#1 is lost at s1.", "step": 6},
        "cut_short": False,
        "remarks": [],
        "topology": {
            "nodes": [
                {"name": "h1", "kind": "host", "x": 0.0, "y": 0.9},
                {"name": "s1", "kind": "switch", "x": 0.5, "y": 0.9},
                {"name": "h2", "kind": "host", "x": 1.0, "y": 0.9},
                {"name": "c0", "kind": "controller", "x": 0.5, "y": 0.0},
            ],
            "links": [
                {"a": "h1", "a_port": 0, "b": "s1", "b_port": 1},
                {"a": "h2", "a_port": 0, "b": "s1", "b_port": 2},
            ],
            "control": [{"switch": "s1", "controller": "c0"}],
        },
        "lanes": LANES,
        "steps": steps,
        "start": [[text("s1"), text("ports"), [text("port 1: up"), text("port 2: up")]]],
        "states": True,
        "states_until": None,
        "loop": 0,
        "story": None,
        "minimised": None,
        "coverage": None,
        "conclusion": None,
        "summary": None,
        "frames": None,
        "live": False,
        "strings": text.known,
    }
    return {**document, **more}


def with_every_text(document: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the document with a text added to whatever may come from a stranger."""
    verdict = {
        key: f"{value}{text}" if key != "step" else value for key, value in document["verdict"].items()
    }
    nodes = [{**node, "name": f"{node['name']}{text}"} for node in document["topology"]["nodes"]]
    links = [
        {**link, "a": f"{link['a']}{text}", "b": f"{link['b']}{text}"}
        for link in document["topology"]["links"]
    ]
    control = [
        {key: f"{name}{text}" for key, name in each.items()} for each in document["topology"]["control"]
    ]
    return {
        **document,
        "title": f"{document['title']}{text}",
        "engine": f"{document['engine']}{text}",
        "source": f"{document['source']}{text}",
        "penstock": text,
        "verdict": verdict,
        "remarks": [text],
        "topology": {"nodes": nodes, "links": links, "control": control},
        "lanes": [f"{lane}{text}" for lane in document["lanes"]],
        "strings": [f"{known}{text}" for known in document["strings"]],
        "story": list(range(len(document["strings"]))),
        "coverage": {
            "states": 1,
            "transitions": 1,
            "seconds": 0.5,
            "result": text,
            "strategies": [text],
            "reductions": [text],
            "properties": [{"name": text, "exercised": None, "why": text}],
            "not_covered": [text],
        },
        "conclusion": {"result": text, "told": text, "reasons": [text], "next_steps": [text], "judged": True},
        "minimised": {
            "before": {"inputs": 2, "steps": 9},
            "after": {"inputs": 1, "steps": 5},
            "inputs_before": [0, 1],
            "inputs_after": [1],
            "replays": 3,
            "seconds": 0.1,
            "progress": [[0, 2], [3, 1]],
        },
        "summary": {text: text, "by_kind": {text: 3, "send": 2}},
    }
