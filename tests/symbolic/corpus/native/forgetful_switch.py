"""Takes it for granted that every receiver is known: a bug that a stranger brings out."""

from penstock._controllers.controller import Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import parse


class ForgetfulSwitch(Controller):
    """Fails for whoever is not in its table."""

    def __init__(self) -> None:
        self.ports = {1: 1, 2: 2}

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Send a packet where its receiver is."""
        port = self.ports[parse(message.data).dst]
        self.packet_out(switch, message, (Output(port),))
