"""The differential test: random programs on the switch model and on a private Open vSwitch.

Data flow: `generator` writes a `Program`; `on_ovs` and `on_model` run it, each giving one
`Observation` per step; `comparison` puts the two in canonical form (what may differ is named in
`deviations`) and says where they disagree; `shrink` makes the story short.  `instance` and
`bridge` are the Open vSwitch side: processes, sockets, clock.
"""
