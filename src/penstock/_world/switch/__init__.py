"""The modelled OpenFlow switch, meant to be indistinguishable from Open vSwitch."""

from penstock._world.switch.flow_table import FlowEntry, FlowTable
from penstock._world.switch.state import PortSpec, SwitchOptions, SwitchState
from penstock._world.switch.switch import Switch

__all__ = ["FlowEntry", "FlowTable", "PortSpec", "Switch", "SwitchOptions", "SwitchState"]
