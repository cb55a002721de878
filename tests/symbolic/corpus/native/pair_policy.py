"""Who may talk to whom, as texts that an operator wrote."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.addresses import mac_text
from penstock.openflow.messages import PacketIn
from penstock.packet import parse

ALLOWED = {
    "00:00:00:00:00:01 to 00:00:00:00:00:02": "ask",
    "00:00:00:00:00:02 to 00:00:00:00:00:01": "answer",
}


class PairPolicy(Controller):
    """Lets pairs through that are allowed."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Flood what is allowed and drop the rest."""
        packet = parse(message.data)
        pair = "%s to %s" % (mac_text(packet.src), mac_text(packet.dst))  # noqa: UP031
        if pair in ALLOWED:
            self.packet_out(switch, message, FLOOD)
