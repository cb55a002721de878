"""Meters of 1.3: their bands, which a controller sends and a switch describes alike."""

from __future__ import annotations

from struct import Struct

from penstock.errors import PenstockError
from penstock.openflow.messages import Band, MeterMod
from penstock.openflow.stats import MeterConfig
from penstock.openflow.wire.forms import BODY, MessageForm, Room
from penstock.openflow.wire.octets import Elements

_BAND = Struct("!HHII")
_BANDS = Elements("A band", least=16, length_at=2, step=8)
_METER = Struct("!HHI")

METER_CONFIGS = Elements("A meter", least=_METER.size)


def _write_bands(bands: tuple[Band, ...]) -> bytes:
    parts = []
    for band in bands:
        length = _BAND.size + len(band.body)
        if length < _BANDS.least or length % _BANDS.step:
            raise PenstockError(f"The body of a band has {len(band.body)} bytes: give 4, or more by eights.")
        parts.append(_BAND.pack(band.type, length, band.rate, band.burst_size) + band.body)
    return b"".join(parts)


def _read_band(data: bytes, at: int, end: int) -> Band:
    kind, _, rate, burst_size = _BAND.unpack_from(data, at)
    return Band(kind, rate, burst_size, data[at + _BAND.size : end])


def _write_mod(message: MeterMod) -> bytes:
    return _METER.pack(message.command, message.flags, message.meter_id) + _write_bands(message.bands)


def _read_mod(data: bytes, xid: int) -> MeterMod:
    command, flags, meter_id = _METER.unpack_from(data, BODY)
    bands = _BANDS.read(data, BODY + _METER.size, len(data), _read_band)
    return MeterMod(command, flags, meter_id, bands, xid=xid)


METER_MOD_FORM = MessageForm(29, MeterMod, Room(BODY + _METER.size, 8), _write_mod, _read_mod)


def write_meter_config(meter: MeterConfig) -> bytes:
    """Return the configuration of a meter."""
    bands = _write_bands(meter.bands)
    return _METER.pack(_METER.size + len(bands), meter.flags, meter.meter_id) + bands


def read_meter_config(data: bytes, at: int, end: int) -> MeterConfig:
    """Return the configuration that fills these bytes."""
    _, flags, meter_id = _METER.unpack_from(data, at)
    return MeterConfig(meter_id, flags, _BANDS.read(data, at + _METER.size, end, _read_band))
