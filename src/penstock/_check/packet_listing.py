"""The classes of packets that a controller tells apart, for people and for scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock._concolic.pretty_print import condition_in_words
from penstock._concolic.run import Decision, Place
from penstock._symbolic.classes import PacketClass
from penstock._symbolic.discovery import Discovery
from penstock._world.hosts import Host
from penstock.packet import describe

_NOT_IN: Final = re.compile(r"\bnot in\b")


@dataclass(frozen=True, slots=True)
class HostClasses:
    """What one host could send: the classes, in a fixed order."""

    host: str
    classes: tuple[PacketClass, ...]


def classes_of(discovery: Discovery, states: Mapping[str, Any], only: str | None = None) -> list[HostClasses]:
    """Return the classes of packets of every host, or of one, in a state of the network."""
    hosts = [made for made in discovery.network.components if isinstance(made, Host)]
    return [
        HostClasses(made.name, discovery.classes(made, states))
        for made in hosts
        if only is None or made.name == only
    ]


def classes_as_text(found: list[HostClasses], discovery: Discovery) -> Iterator[str]:
    """Yield the classes in words, one packet of each, and the branches that it takes."""
    for host in found:
        many = len(host.classes)
        where = f" ({many} class{'es' if many != 1 else ''} of packets)" if many else ""
        yield f"{host.host}{where}" if many else f"{host.host}: nothing it sends reaches the controller"
        for number, known in enumerate(host.classes, 1):
            yield f"  {number}. {_words(known, discovery)}"
            yield f"     for example [{describe(known.data)}]"
            at = known.arrival
            yield f"     reaches the controller from {at.switch}, port {at.port}{_outcome(known)}"
            for decision in known.path.decisions:
                yield f"       {_branch(decision)}"
        yield ""
    yield from discovery.sentences()


def _words(known: PacketClass, discovery: Discovery) -> str:
    return condition_in_words(known.condition, known.space, discovery.names) or "any packet"


def _outcome(known: PacketClass) -> str:
    """Return what is remarkable about a class's path."""
    kinds = set(_events(known))
    return "; the handler fails" if "crashed" in kinds else "; the handler hangs" if "hung" in kinds else ""


def _events(known: PacketClass) -> list[str]:
    return [event.kind for event in known.path.result.events] if known.path.result else ["cut"]


def _branch(decision: Decision) -> str:
    return f"{_where(decision.place)}  {decision.place.expression}: {'yes' if _taken(decision) else 'no'}"


def _taken(decision: Decision) -> bool:
    """Return whether the expression in the source was true; a look-up decides key by key what is in."""
    return decision.taken != bool(_NOT_IN.search(decision.place.expression))


def _where(place: Place) -> str:
    return f"{Path(place.file).name}:{place.line}"


def classes_as_json(found: list[HostClasses], discovery: Discovery) -> str:
    """Return the classes as one JSON object."""
    hosts = [
        {
            "host": host.host,
            "classes": [
                {
                    "condition": _words(known, discovery),
                    "packet": describe(known.data),
                    "data": known.data.hex(),
                    "switch": known.arrival.switch,
                    "port": known.arrival.port,
                    "branches": [
                        {
                            "file": decision.place.file,
                            "line": decision.place.line,
                            "expression": decision.place.expression,
                            "taken": _taken(decision),
                        }
                        for decision in known.path.decisions
                    ],
                    "sends": [str(send.message) for send in known.path.result.sends]
                    if known.path.result
                    else [],
                    "events": _events(known),
                }
                for known in host.classes
            ],
        }
        for host in found
    ]
    losses = [
        {
            "file": loss.place.file,
            "line": loss.place.line,
            "expression": loss.place.expression,
            "what": loss.what,
            "times": times,
        }
        for loss, times in discovery.losses.items()
    ]
    return json.dumps({"hosts": hosts, "losses": losses, "remarks": list(discovery.remarks)})
