"""The modelled network: packets, topologies, hosts, switches, links and their faults."""
