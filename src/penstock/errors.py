"""The errors and warnings a user can cause, each one sentence with the fix in it."""

from __future__ import annotations


class PenstockError(Exception):
    """Bad input: what was wrong, where, and what to do about it.  The command line exits with 2."""

    traceback: str = ""
    """Where in the user's code it was raised, if that helps."""
    keys: tuple[str | int, ...] = ()
    """The keys that lead to what is wrong from the top of a scenario, until the line in its file is told."""


class OtherVersion(PenstockError):
    """A controller does not speak the version of OpenFlow that it is asked to; `spoken` are those it does."""

    def __init__(self, text: str, spoken: frozenset[int]) -> None:
        super().__init__(text)
        self.spoken = spoken


class Interrupted(KeyboardInterrupt):
    """The user pressed Ctrl-C; a program under test that raises KeyboardInterrupt is something else."""


class UserCodeRaised(Exception):
    """Code of the user's, a host's or a controller's, raised an exception, which the text tells."""


class TraceCutShort(UserWarning):
    """A trace ends before its end; the text says which."""
