"""Searching every execution of a network."""
