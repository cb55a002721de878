"""What the os-ken apps of the corpus share: sending a packet on."""

from os_ken.base import app_manager
from os_ken.lib.packet import ethernet, ipv4, packet, tcp
from os_ken.ofproto import ofproto_v1_3


class SwitchApp(app_manager.OSKenApp):
    """An app that is asked what to do with a packet."""

    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)
    FLOOD = ofproto_v1_3.OFPP_FLOOD

    def opened(self, msg):
        """Return a packet's headers, and the outermost of them."""
        pkt = packet.Packet(msg.data)
        return pkt, pkt.get_protocols(ethernet.ethernet)[0]

    def header(self, msg, kind):
        """Return one header of a packet, or None if it has none of that kind."""
        return packet.Packet(msg.data).get_protocol(kind)

    def tcp_over_ipv4(self, msg):
        """Return the headers of a TCP segment and of the datagram it is in, or None for anything else."""
        pkt = packet.Packet(msg.data)
        segment = pkt.get_protocol(tcp.tcp)
        if segment is None:
            return None
        ip = pkt.get_protocol(ipv4.ipv4)
        return None if ip is None else (ip, segment)

    def send_on(self, msg, *ports, data=None):
        """Have the packet, or another one, sent to some ports."""
        parser = msg.datapath.ofproto_parser
        out = parser.OFPPacketOut(
            datapath=msg.datapath,
            buffer_id=msg.datapath.ofproto.OFP_NO_BUFFER,
            in_port=msg.match["in_port"],
            actions=[parser.OFPActionOutput(port) for port in ports],
            data=msg.data if data is None else data,
        )
        msg.datapath.send_msg(out)
