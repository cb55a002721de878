"""os-ken and Ryu programs, unmodified and in process."""

from penstock.controllers.osken.binding import OsKenController, OsKenState

__all__ = ["OsKenController", "OsKenState"]
