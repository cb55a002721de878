"""Answers about classes of packets, worked out again only where what they rest on has changed.

An answer rests on what some switches do with some classes.  When a switch does something else with a
class, or the packets of a class have changed, the answers that rest on that are stale.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from penstock._forwarding.classes import Changed, Event, Joined, PacketClass, Split

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")

Grounds = dict[tuple[PacketClass, str], None]
"""What an answer rests on: a class, and a switch that it comes to; "" stands for its packets alone."""


class Answers(Generic[Key, Answer]):
    """Answers to some questions, each under its key."""

    def __init__(self, work_out: Callable[[Key, Grounds], Answer]) -> None:
        self._work_out = work_out
        self._known: dict[Key, Answer] = {}
        self._grounds: dict[Key, tuple[tuple[PacketClass, str], ...]] = {}
        self._readers: dict[PacketClass, dict[str, dict[Key, None]]] = {}
        self._stale: dict[Key, None] = {}

    def __getitem__(self, key: Key) -> Answer:
        return self._known[key]

    def __contains__(self, key: Key) -> bool:
        return key in self._grounds or key in self._stale

    def ask(self, keys: Iterable[Key]) -> None:
        """Have some questions answered from now on."""
        for key in keys:
            if key not in self:
                self._stale[key] = None

    def drop(self, keys: Iterable[Key]) -> None:
        """Have some questions answered no more."""
        for key in keys:
            self._stale.pop(key, None)
            self._known.pop(key, None)
            self._unground(key)

    def refresh(self) -> Iterable[Key]:
        """Work out what is stale; return the keys."""
        done: dict[Key, None] = {}
        while self._stale:
            key = next(iter(self._stale))
            grounds: Grounds = {}
            answer = self._work_out(key, grounds)
            self._unground(key)
            if key not in self._stale:
                continue  # It is asked no more: what was worked out split classes.
            del self._stale[key]
            self._known[key] = answer
            self._grounds[key] = tuple(grounds)
            for packets, switch in grounds:
                self._readers.setdefault(packets, {}).setdefault(switch, {})[key] = None
            done[key] = None
        return done

    def _unground(self, key: Key) -> None:
        for packets, switch in self._grounds.pop(key, ()):
            readers = self._readers.get(packets)
            if readers is not None and switch in readers:
                readers[switch].pop(key, None)
                if not readers[switch]:
                    del readers[switch]
                    if not readers:
                        del self._readers[packets]

    # What makes answers stale.

    def all_stale(self, is_concerned: Callable[[Key], bool]) -> None:
        """Have the answers to some questions worked out again."""
        self._stale.update(dict.fromkeys(key for key in self._grounds if is_concerned(key)))

    def all_stale_of(self, keys: Iterable[Key]) -> None:
        """Have the answers to these questions worked out again, as far as they were asked."""
        self._stale.update(dict.fromkeys(key for key in keys if key in self._grounds))

    def switch_changed(self, switch: str, packets: PacketClass) -> None:
        """Take in that a switch does something else with a class."""
        readers = self._readers.get(packets)
        if readers is not None:
            self._stale.update(readers.get(switch, {}))

    def note(self, events: Iterable[Event], nodes_of: Callable[[int, PacketClass], Iterable[str]]) -> None:
        """Take in what happened to classes."""
        for event in events:
            match event:
                case Changed(where, element):
                    if where in self._readers:
                        for switch in nodes_of(element, where):
                            self.switch_changed(switch, where)
                case Split(_, old):
                    self._packets_changed(old)
                case Joined(left, _, _):
                    self._packets_changed(left)

    def _packets_changed(self, packets: PacketClass) -> None:
        # Only where a question begins does it matter which packets a class has; further on, what a write
        # leads to is something that a switch does.
        self._stale.update(self._readers.get(packets, {}).get("", {}))
