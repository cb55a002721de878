"""Attacks on Penstock, each with what must come of it: `python -m bench.hostile`."""
