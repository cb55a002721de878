"""Strategies: ways to search less, or first where bugs are likely; one in each file (see `plan`)."""
