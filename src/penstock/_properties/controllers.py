"""What is a bug by itself: a controller's handler that raises, or that does not come to an end."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import ClassVar

from penstock._properties.base import UPHELD, Property, Violated
from penstock._world.component import Event
from penstock._world.fabric import Fabric
from penstock._world.hosts import Host
from penstock._world.network import Network
from penstock._world.switch import Switch
from penstock._world.transition import TIME, Record


@dataclass(eq=False)
class _NoMishap(Property):
    """No step of a controller emits the event `mishap`: its name, what happened, and the traceback."""

    mishap: ClassVar[str]
    did: ClassVar[str]
    needs = "a controller that handles something"

    _controllers: frozenset[str] = field(init=False, repr=False, default=frozenset())

    def start(self, network: Network, /) -> None:
        """Begin with controllers that are well."""
        known = (Switch, Host, Fabric)
        self._controllers = frozenset(p.name for p in network.components if not isinstance(p, known))

    def see(self, record: Record, /) -> Hashable | None:
        """See a handler end well or badly."""
        for event in record.events:
            match event:
                case Event(self.mishap, (str(controller), str(what), *_)):
                    return controller, " ".join(what.split()).rstrip("."), _occasion(record)
        return UPHELD if record.node in self._controllers else None

    def next(self, _state: None, seen: tuple[str, str, str], /) -> None:
        """A mishap is a violation."""
        controller, what, occasion = seen
        raise Violated(f"{controller} {self.did} {what}, while it {occasion}.")


def _occasion(record: Record) -> str:
    if record.transition.verb == TIME:
        return "let a timer go off"
    if record.at is None:
        return f"did {str(record.transition.what)!r}"
    return f"handled {record.message} from {record.at.port}"


@dataclass(eq=False)
class ControllerCrash(_NoMishap):
    """No handler of a controller raises an exception."""

    sentence = "No handler of the controller raises an exception."
    mishap = "crashed"
    did = "raised"


@dataclass(eq=False)
class ControllerHang(_NoMishap):
    """Every handler of a controller comes to an end."""

    sentence = "Every handler of the controller comes to an end."
    mishap = "hung"
    did = "did not come to an end:"
