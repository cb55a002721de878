"""The network of NICE's traffic engineering (section 9.3): a sender, two receivers, and two ways to them.

              s3
            /    \\
    h1 -- s1 ---- s2 -- h2
                     \\
                      h3

The link s1-s2 is always on; the way over s3 is there on demand.  Written for Mininet:
`sudo mn --custom triangle.py --topo triangle --mac`.
"""

from mininet.topo import Topo


class Triangle(Topo):
    """Three switches, the sender at s1, both receivers at s2."""

    def build(self):
        """Draw it; ports are numbered in this order."""
        sender, *receivers = [self.addHost(f"h{number}") for number in (1, 2, 3)]
        ingress, egress, detour = [self.addSwitch(f"s{number}") for number in (1, 2, 3)]
        self.addLink(sender, ingress)
        for receiver in receivers:
            self.addLink(receiver, egress)
        self.addLink(ingress, egress)
        self.addLink(ingress, detour)
        self.addLink(detour, egress)


topos = {"triangle": Triangle}
