"""Finds, proves, shrinks and explains bugs in SDN controllers."""

__version__ = "0.1.0"
