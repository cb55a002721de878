"""Find, prove, shrink and explain bugs in SDN controllers.

    import penstock

    result = penstock.check("my_app.py", topology="linear,2", seconds=10)
    print(result.result, [violation.message for violation in result.violations])
    result.assert_holds()

`check`, `verify`, `fuzz`, `replay` and `minimize` do what the commands of the same names do.  A scenario is
named as on the command line (a `.toml` file, an app's `.py` file, a module), or is a `Scenario`; keywords are
the fields of scenario files.  A violation is a result and raises nothing; `PenstockError` says in one
sentence what was wrong with the input.

What a scenario is made of can be written in Python: a `Controller`, a `Host`, a `Property`, a `Topology`.
OpenFlow messages are in `penstock.openflow`, packets in `penstock.packet`, MAC and IP addresses in
`penstock.addresses`.  Everything whose name begins with an underscore is internal.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from penstock import _old_names
from penstock._base.version import VERSION
from penstock.errors import PenstockError, TraceCutShort

if TYPE_CHECKING:
    from penstock._api import check, fuzz, minimize, replay, verify
    from penstock._controllers.controller import FLOOD, Controller
    from penstock._controllers.static import StaticController
    from penstock._explore.strategies.base import Narrowing, Ordering
    from penstock._explore.strategies.kinds import TransitionKind
    from penstock._properties import Property, Violated, at_rest, invariant
    from penstock._results import Broken, Minimised, Result, Violation
    from penstock._scenario.scenario import Scenario, load_scenario
    from penstock._world.assembly import build_network
    from penstock._world.component import Event
    from penstock._world.frame import Frame
    from penstock._world.hosts import ASK, Address, ClientConnection, Host, TcpClient, TcpServer, Turn, host
    from penstock._world.network import Network
    from penstock._world.signals import FABRIC
    from penstock._world.switch import Switch
    from penstock._world.topology import Topology, TopologyBuilder, load_mininet, topology
    from penstock._world.world import World

__version__ = VERSION

__all__ = [
    "ASK",
    "FABRIC",
    "FLOOD",
    "Address",
    "Broken",
    "ClientConnection",
    "Controller",
    "Event",
    "Frame",
    "Host",
    "Minimised",
    "Narrowing",
    "Network",
    "Ordering",
    "PenstockError",
    "Property",
    "Result",
    "Scenario",
    "StaticController",
    "Switch",
    "TcpClient",
    "TcpServer",
    "Topology",
    "TopologyBuilder",
    "TraceCutShort",
    "TransitionKind",
    "Turn",
    "Violated",
    "Violation",
    "World",
    "at_rest",
    "build_network",
    "check",
    "fuzz",
    "host",
    "invariant",
    "load_mininet",
    "load_scenario",
    "minimize",
    "replay",
    "topology",
    "verify",
]

_HOMES: Final = {
    **dict.fromkeys(("check", "fuzz", "minimize", "replay", "verify"), "_api"),
    **dict.fromkeys(("FLOOD", "Controller"), "_controllers.controller"),
    "StaticController": "_controllers.static",
    **dict.fromkeys(("Narrowing", "Ordering"), "_explore.strategies.base"),
    "TransitionKind": "_explore.strategies.kinds",
    **dict.fromkeys(("Property", "Violated", "at_rest", "invariant"), "_properties"),
    **dict.fromkeys(("Broken", "Minimised", "Result", "Violation"), "_results"),
    **dict.fromkeys(("Scenario", "load_scenario"), "_scenario.scenario"),
    "build_network": "_world.assembly",
    "Event": "_world.component",
    "Frame": "_world.frame",
    **dict.fromkeys(("ASK", "Address", "ClientConnection", "Host"), "_world.hosts"),
    **dict.fromkeys(("TcpClient", "TcpServer", "Turn", "host"), "_world.hosts"),
    "Network": "_world.network",
    "FABRIC": "_world.signals",
    "Switch": "_world.switch",
    **dict.fromkeys(("Topology", "TopologyBuilder", "load_mininet", "topology"), "_world.topology"),
    "World": "_world.world",
}
"""The module of each name, imported when the name is first used: `import penstock` alone is quick."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    value = getattr(import_module(f"penstock.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


_old_names.install()


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
