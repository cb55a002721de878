"""Control sessions over TLS: the switches' certificate, and whose certificates they trust.

All virtual switches show the same certificate.  A controller's certificate is checked against the given
authority, but not for its name: switches are pointed at addresses, and certificates made for OpenFlow
(as by `ovs-pki`) seldom name any.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from penstock.errors import PenstockError


@dataclass(frozen=True, slots=True)
class Tls:
    """Files in PEM form: certificate and key of the switches, and the authority they trust.

    Without an authority a controller's certificate is not checked.
    """

    cert: Path | None = None
    key: Path | None = None
    ca: Path | None = None

    def context(self) -> ssl.SSLContext:
        """Return what the files mean to Python."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED if self.ca is not None else ssl.CERT_NONE
        if self.key is not None and self.cert is None:
            raise PenstockError(f"The key {self.key} has no certificate: give cert too.")
        try:
            if self.ca is not None:
                context.load_verify_locations(self.ca)
            if self.cert is not None:
                context.load_cert_chain(self.cert, self.key)
        except (OSError, ssl.SSLError) as error:
            given = [str(path) for path in (self.cert, self.key, self.ca) if path is not None]
            why = error.strerror or error.reason if isinstance(error, ssl.SSLError) else error.strerror
            raise PenstockError(
                f"The TLS files {', '.join(given)} cannot be used ({why}): give certificates in PEM form."
            ) from None
        return context


def tls_of(given: bool | Mapping[str, str], folder: Path) -> Tls | None:
    """Return what a scenario says of TLS: nothing, no checks, or files named from its folder on."""
    if isinstance(given, bool):
        return Tls() if given else None
    known = [item.name for item in fields(Tls)]
    for key in given:
        if key not in known:
            raise PenstockError(f"tls of a controller has no {key!r}: use {', '.join(known)}.")
    return Tls(**{key: folder / path for key, path in given.items()})
