"""A topology as plain data, so that whoever reads it needs neither the shape nor the file that drew it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from penstock._world.topology.builder import TopologyBuilder
from penstock._world.topology.value import Link, LinkOption, Topology
from penstock.addresses import ipv4_text, mac_text
from penstock.errors import PenstockError

MOST_PARTS: Final = 100_000
"""How large a network may be that a stranger describes."""


def topology_as_json(drawing: Topology) -> dict[str, Any]:
    """Return a topology as plain data."""
    return {
        "hosts": [
            {"name": node.name, "mac": mac_text(node.mac), "ip": f"{ipv4_text(node.ip)}/{node.prefix_length}"}
            for node in drawing.hosts
        ],
        "switches": [asdict(node) for node in drawing.switches],
        "links": [_link_as_json(link) for link in drawing.links],
    }


def _link_as_json(link: Link) -> dict[str, Any]:
    found: dict[str, Any] = {"a": list(link.a), "b": list(link.b)}
    return {**found, "options": dict(link.options)} if link.options else found


def topology_from_json(given: object) -> Topology:
    """Return the topology that plain data describes; a stranger may have written it."""
    builder = TopologyBuilder()
    try:
        assert isinstance(given, Mapping)
        if sum(len(given[part]) for part in ("hosts", "switches", "links")) > MOST_PARTS:
            raise PenstockError(f"The network of the trace has more than {MOST_PARTS:,} parts.")
        for node in given["hosts"]:
            builder.add_host(_text(node["name"]), mac=_text(node["mac"]), ip=_text(node["ip"]))
        for node in given["switches"]:
            ports = map(_number, node["ports"])
            builder.add_switch(_text(node["name"]), dpid=_number(node["dpid"]), ports=ports)
        for link in given["links"]:
            (a, a_port), (b, b_port) = link["a"], link["b"]
            options: Any = {_text(name): _option(value) for name, value in _options(link).items()}
            builder.add_link(_text(a), _text(b), _number(a_port), _number(b_port), **options)
        return builder.build()
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError):
        raise PenstockError("The trace is damaged: its network is invalid.") from None


def _options(link: Any) -> Mapping[str, Any]:
    options = link.get("options", {})
    assert isinstance(options, Mapping)
    return options


def _text(value: object) -> str:
    assert isinstance(value, str)
    return value


def _number(value: object) -> int:
    assert type(value) is int
    return value


def _option(value: object) -> LinkOption:
    assert value is None or isinstance(value, str | int | float | bool)
    return value
