"""Telling people what was found."""
