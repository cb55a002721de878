"""Packets and messages whose contents are followed."""
