"""The errors a user can cause, each one sentence with the fix in it."""

from __future__ import annotations


class PenstockError(Exception):
    """Bad input: what was wrong, where, and what to do about it.  The command line exits with 2."""
