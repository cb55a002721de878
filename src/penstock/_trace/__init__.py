"""Traces: what one run did, as JSON Lines, and what it takes to look at one."""
