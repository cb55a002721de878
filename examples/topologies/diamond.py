"""Two ways from one host to the other, for controllers that must choose.

             s2
           /    \\
    h1 -- s1    s4 -- h2
           \\    /
             s3

Written for Mininet: `sudo mn --custom diamond.py --topo diamond --mac`.
"""

from mininet.topo import Topo


class Diamond(Topo):
    """Four switches in a square, a host at two opposite corners."""

    def build(self):
        """Draw it."""
        left, right = self.addHost("h1"), self.addHost("h2")
        west, north, south, east = [self.addSwitch(f"s{number}") for number in range(1, 5)]
        self.addLink(left, west)
        for middle in (north, south):
            self.addLink(west, middle)
            self.addLink(middle, east)
        self.addLink(east, right)


topos = {"diamond": Diamond}
