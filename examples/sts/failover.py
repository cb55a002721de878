"""Two routers of which one leads; when the leader is gone the other takes over what it takes for granted.

The leader keeps a lease: a rule on every switch that it renews twice a second and that expires after two.
The other gets port changes too and knows what the rules should be, but leaves them alone.  When a lease has
expired it sees whether another is there, and leads if not.  The bug: it believes that the switches have the
rules that they should have.  A link that fails between the leader's end and the lease's is handled by nobody,
and its rules stay for ever.  (Floodlight's failover had this bug.)

Mended, whoever takes over sends all rules again.
"""

from __future__ import annotations

from typing import Any

from cluster import Member
from leases import LEASE, LEASE_TYPE, RANKS
from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub

SECONDS_OF_LEASE, SECONDS_TO_RENEWAL, SECONDS_OF_COURTESY = 2, 0.5, 0.5


class LeaseHolder(Member):
    """A router that leads as long as it renews its lease."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.leads = False

    @property
    def in_charge(self) -> bool:
        """Whoever leads is in charge."""
        return self.leads

    def joined(self, switch: Any) -> None:
        """Take a new switch in, and see who leads."""
        super().joined(switch)
        if self.leads:
            self.renew(switch)
        else:
            self.ask_soon(switch)

    def ask_soon(self, switch: Any) -> None:
        """Ask for the lease, those of higher ranks later."""
        if self.rank:
            hub.spawn_after(self.rank * SECONDS_OF_COURTESY, self.ask, switch)
        else:
            self.ask(switch)

    def ask(self, switch: Any) -> None:
        """Ask a switch whether there is a lease."""
        parser, ofproto = switch.ofproto_parser, switch.ofproto
        switch.send_msg(
            parser.OFPFlowStatsRequest(
                switch,
                out_port=ofproto.OFPP_ANY,
                out_group=ofproto.OFPG_ANY,
                cookie=LEASE,
                cookie_mask=~RANKS & 0xFFFFFFFFFFFFFFFF,
            )
        )

    @set_ev_cls(ofp_event.EventOFPFlowStatsReply, MAIN_DISPATCHER)
    def lease_known(self, event: Any) -> None:
        """Lead, if nobody does."""
        if event.msg.body or self.leads:
            return
        self.leads = True
        if self.mended:
            self.take_over()
        else:
            self.rules = dict(self.routes())
        self.threads.append(hub.spawn(self.keep_lease))

    @set_ev_cls(ofp_event.EventOFPFlowRemoved, MAIN_DISPATCHER)
    def lease_expired(self, event: Any) -> None:
        """See whether there is a leader left."""
        message = event.msg
        if message.cookie & ~RANKS == LEASE and not self.leads:
            self.ask_soon(message.datapath)

    def keep_lease(self) -> None:
        """Renew the lease, for ever."""
        while True:
            for _, switch in sorted(self.switches.items()):
                self.renew(switch)
            hub.sleep(SECONDS_TO_RENEWAL)

    def renew(self, switch: Any) -> None:
        """Renew the lease on a switch."""
        self.install(
            switch,
            1,
            {"eth_type": LEASE_TYPE},
            [],
            cookie=LEASE | self.rank,
            hard_timeout=SECONDS_OF_LEASE,
            flags=switch.ofproto.OFPFF_SEND_FLOW_REM,
        )
