"""A campus: one core switch, and in each building a switch with its desks.

Written for Mininet: `sudo mn --custom campus.py --topo campus,3,2 --link tc --mac`, or
`sudo python3 campus.py`.
"""

from functools import partial

from mininet.cli import CLI
from mininet.link import TCLink
from mininet.log import info, setLogLevel
from mininet.net import Mininet
from mininet.node import OVSSwitch, RemoteController
from mininet.topo import Topo
from mininet.util import irange


class Campus(Topo):
    """Buildings around a core; the server room hangs on the core's port 48."""

    def __init__(self, buildings=2, desks=2, **opts):
        Topo.__init__(self, **opts)
        core = self.addSwitch("core", dpid="c0")
        server = self.addHost("server", ip="10.0.99.1/8", mac="00:00:00:00:99:01")
        self.addLink(server, core, port2=48, bw=1000)
        for building in irange(1, buildings):
            floor = self.addSwitch(f"b{building}")
            self.addLink(floor, core, port1=24, port2=building, bw=100, delay="2ms")
            for desk in irange(1, desks):
                self.addLink(self.addHost(f"b{building}d{desk}"), floor, port2=desk, bw=10, loss=1)
        info(f"*** {len(self.hosts())} hosts, {len(self.switches())} switches\n")


topos = {"campus": (lambda *args, **params: Campus(*args, **params))}

if __name__ == "__main__":
    setLogLevel("info")
    net = Mininet(
        topo=Campus(),
        link=TCLink,
        switch=partial(OVSSwitch, protocols="OpenFlow13"),
        controller=RemoteController,
        autoSetMacs=True,
    )
    net.start()
    CLI(net)
    net.stop()
