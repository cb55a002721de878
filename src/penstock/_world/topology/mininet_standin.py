"""Just enough of Mininet's package for a topology file to be loaded without Mininet.

`mininet.topo` and `mininet.topolib` (see `mininet_topo`) and the address functions of
`mininet.util` do what Mininet 2.3 does.  Everything else a file may import (node and link classes,
the command line, logging) is an inert placeholder: it can be imported, subclassed, called and
passed on, and does nothing.  Only `Mininet` itself refuses to be made, because a file that starts a
network while it is being loaded has left out its `if __name__ == "__main__":`.
"""

from __future__ import annotations

from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

from penstock._world.topology.builder import NETWORK, PREFIX_LENGTH
from penstock._world.topology.mininet_topo import (
    LinearTopo,
    MinimalTopo,
    MultiGraph,
    SingleSwitchReversedTopo,
    SingleSwitchTopo,
    Topo,
    TorusTopo,
    TreeTopo,
    natural_seq,
)
from penstock._world.topology.value import natural
from penstock.addresses import ipv4, ipv4_text, mac_text
from penstock.errors import PenstockError

PACKAGE = "mininet"


class Placeholder:
    """Something of Mininet's that has no part in the shape of a network."""

    def __init__(self, *_args: Any, **_params: Any) -> None:
        pass


class Mininet(Placeholder):
    """The running network, which Penstock models instead of starting."""

    def __init__(self, *_args: Any, **_params: Any) -> None:
        raise PenstockError(
            "It starts a network (Mininet) while it is loaded: move that below if __name__ == '__main__'."
        )


def inclusive_range(start: int, end: int) -> range:
    """Mininet's `irange`: from start to end, both included."""
    return range(start, end + 1)


def address_in(i: int, prefixLen: int = PREFIX_LENGTH, ipBaseNum: int = NETWORK) -> str:
    """Mininet's `ipAdd`: the i-th address of a network, as text."""
    return ipv4_text((ipBaseNum >> (32 - prefixLen) << (32 - prefixLen)) + i)


def _ignore(*_args: Any, **_params: Any) -> None:
    """Mininet's functions that only print or act on a running network."""


_LOG_NAMES = ("debug", "info", "output", "warn", "warning", "error", "setLogLevel")

_MODULES: dict[str, dict[str, Any]] = {
    "mininet.topo": {
        "Topo": Topo,
        "MultiGraph": MultiGraph,
        "SingleSwitchTopo": SingleSwitchTopo,
        "SingleSwitchReversedTopo": SingleSwitchReversedTopo,
        "MinimalTopo": MinimalTopo,
        "LinearTopo": LinearTopo,
    },
    "mininet.topolib": {"TreeTopo": TreeTopo, "TorusTopo": TorusTopo, "TreeNet": Mininet},
    "mininet.net": {"Mininet": Mininet, "MininetWithControlNet": Mininet, "VERSION": "2.3.0"},
    "mininet.util": {
        "irange": inclusive_range,
        "natural": natural,
        "naturalSeq": natural_seq,
        "macColonHex": mac_text,
        "ipStr": ipv4_text,
        "ipParse": ipv4,
        "ipAdd": address_in,
        "custom": partial,
        "dumpNodeConnections": _ignore,
        "dumpNetConnections": _ignore,
        "dumpPorts": _ignore,
        "ensureRoot": _ignore,
    },
    "mininet.log": {
        **dict.fromkeys(_LOG_NAMES, _ignore),
        "lg": SimpleNamespace(**dict.fromkeys(_LOG_NAMES, _ignore)),
    },
}

_PLACEHOLDERS = {
    "mininet.node": "Node Host CPULimitedHost Switch UserSwitch OVSSwitch OVSKernelSwitch OVSBridge IVSSwitch"
    " Controller OVSController NOX Ryu RemoteController DefaultController NullController",
    "mininet.nodelib": "LinuxBridge NAT",
    "mininet.link": "Intf TCIntf Link OVSIntf OVSLink TCLink TCULink",
    "mininet.cli": "CLI",
    "mininet.clean": "cleanup",
    "mininet.term": "makeTerm makeTerms cleanUpScreens",
}
"""What `from mininet.node import *` and the like must give; other names are made when asked for."""


class StandInModule(ModuleType):
    """One module of the stand-in; whatever it is asked for and does not have is a placeholder."""

    def __getattr__(self, name: str) -> Any:
        # What the package itself lacks is a module still to be imported, as in `from mininet import topo`.
        if name.startswith("__") or self.__name__ == PACKAGE:
            raise AttributeError(name)
        placeholder = type(name, (Placeholder,), {"__module__": self.__name__})
        setattr(self, name, placeholder)
        return placeholder


class StandInFinder(MetaPathFinder, Loader):
    """Answers every import of `mininet` and its modules with the stand-in."""

    def find_spec(self, fullname: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Return how to make a module of the stand-in, or None for any other."""
        return ModuleSpec(fullname, self, is_package=True) if is_mininet(fullname) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return a module of the stand-in, still empty."""
        return StandInModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Fill it."""
        vars(module).update(_MODULES.get(module.__name__, {}))
        for name in _PLACEHOLDERS.get(module.__name__, "").split():
            getattr(module, name)


def is_mininet(module: str) -> bool:
    """Tell whether a module's name is Mininet's package or inside it."""
    return module.partition(".")[0] == PACKAGE
