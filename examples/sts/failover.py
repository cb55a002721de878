"""Two routers of which one leads; when the leader is gone the other takes over what it takes for granted.

The leader keeps a lease: a rule on every switch that it renews every second and that expires after two.
The other gets port changes too and knows what the rules should be, but leaves them alone.  When a lease has
expired it leads until the first is back, which clears all tables and so takes the lease away from it.
The bug: it believes that the switches have the rules that they should have.  A link that fails between
the leader's end and the lease's is handled by nobody, and its rules stay.  (Floodlight had this bug.)

Mended, whoever takes over sends all rules again.
"""

from __future__ import annotations

from typing import Any

from cluster import Member
from leases import LEASE, LEASE_TYPE, RANKS
from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub

SECONDS_OF_LEASE, SECONDS_TO_RENEWAL, SECONDS_OF_COURTESY = 2, 1, 0.5
"""How long a lease is, when it is renewed, and how long those of higher ranks hold back when they start."""


class LeaseHolder(Member):
    """A router that leads as long as it renews its lease."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.leads = self.succeeds = False

    @property
    def in_charge(self) -> bool:
        """Whoever leads is in charge."""
        return self.leads

    def joined(self, switch: Any) -> None:
        """Take a new switch in, and see who leads."""
        super().joined(switch)
        if self.leads:
            self.renew(switch)
        elif self.rank:
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
        """Lead, unless one of a lower rank does."""
        if self.leads or any(entry.cookie & RANKS < self.rank for entry in event.msg.body):
            return
        self.leads = True
        if self.succeeds and not self.mended:
            self.rules = dict(self.routes())
        else:
            self.take_over()
        self.threads.append(hub.spawn(self.keep_lease))

    @set_ev_cls(ofp_event.EventOFPFlowRemoved, MAIN_DISPATCHER)
    def lease_gone(self, event: Any) -> None:
        """Lead no longer if the lease was taken away; if it expired, see whether there is a leader left."""
        message = event.msg
        if message.cookie & ~RANKS != LEASE:
            return
        if message.reason == message.datapath.ofproto.OFPRR_DELETE:
            self.leads = self.leads and message.cookie & RANKS != self.rank
        elif not self.leads:
            self.succeeds = True
            self.ask(message.datapath)

    def keep_lease(self) -> None:
        """Renew the lease for as long as it holds."""
        while self.leads:
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
