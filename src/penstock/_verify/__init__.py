"""Proof for unboundedly many packets: MOCS's abstraction of a network, its reductions, and ours.

A network is *lifted* (`lifting`): its switches, hosts and controller run as they are, inside components that
keep packets and messages in sets instead of queues (`abstract_switch`, `abstract_host`,
`abstract_controller`).  They are searched by the engine that searches everything (`penstock._explore`);
`reductions` says which steps it may leave out, `grounds` on what grounds, `verification` puts it together.
"""
