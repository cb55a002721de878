"""Which hosts and switches there are, and which port is wired to which.

`topology("linear,3")` draws a named shape, `TopologyBuilder` any other, and `load_mininet("file.py")`
reads one that was written for Mininet.  All three give the same immutable `Topology`, with names,
addresses and port numbers as `mn --mac` gives them.
"""

from penstock._world.topology.builder import TopologyBuilder
from penstock._world.topology.mininet import from_mininet, load_mininet
from penstock._world.topology.shapes import topology
from penstock._world.topology.value import HostNode, Link, LinkOption, SwitchNode, Topology

__all__ = [
    "HostNode",
    "Link",
    "LinkOption",
    "SwitchNode",
    "Topology",
    "TopologyBuilder",
    "from_mininet",
    "load_mininet",
    "topology",
]
