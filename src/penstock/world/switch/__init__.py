"""The modelled OpenFlow switch, meant to be indistinguishable from Open vSwitch."""

from penstock.world.switch.flow_table import FlowEntry, FlowTable
from penstock.world.switch.state import PortSpec, SwitchOptions, SwitchState
from penstock.world.switch.switch import Switch

__all__ = ["FlowEntry", "FlowTable", "PortSpec", "Switch", "SwitchOptions", "SwitchState"]
