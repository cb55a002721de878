"""`penstock fetch-ryu`: the sources of Ryu, for its own apps."""

from __future__ import annotations

import click

from penstock._base.terminal import say
from penstock._controllers.osken import ryu_sources


@click.command(name="fetch-ryu")
def fetch_ryu() -> int:
    """Fetch Ryu's sources with pip, to run its own apps (ryu.app.*) on os-ken."""
    say(f"The sources of Ryu are in {ryu_sources.fetch()}")
    return 0
