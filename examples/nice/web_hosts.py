"""A client of a service that has an address but is no host: what answers there is behind the network."""

from __future__ import annotations

from dataclasses import dataclass

from penstock import Address, TcpClient
from penstock.addresses import ipv4, mac


@dataclass(eq=False, kw_only=True)
class WebClient(TcpClient):
    """A TCP client to whom the service is one more name in the directory."""

    to: str = "web"
    service_ip: str = "10.0.0.100"
    service_mac: str = "02:00:00:00:00:64"

    def __post_init__(self) -> None:
        service = Address(self.to, mac(self.service_mac), ipv4(self.service_ip))
        self.directory = {**self.directory, self.to: service}
        super().__post_init__()
