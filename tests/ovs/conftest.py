"""One private Open vSwitch per worker, for all tests in this folder that need one."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bench.ovs.instance import OpenVSwitch


@pytest.fixture(scope="session")
def ovs(require_tool: Callable[..., Path]) -> Iterator[OpenVSwitch]:
    for program in ("ovs-vswitchd", "ovsdb-server", "ovsdb-tool"):
        require_tool(program)
    with OpenVSwitch() as running:
        yield running
