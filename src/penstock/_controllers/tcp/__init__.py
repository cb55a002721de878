"""Controllers of any kind as the real processes they are, over real OpenFlow sockets."""
