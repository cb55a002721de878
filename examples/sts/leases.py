"""What a lease looks like on a switch: a rule with a cookie whose last digit is the rank of its holder."""

LEASE_TYPE = 0x88B5
LEASE, RANKS = 0x1EA5E0, 0xF
"""The cookie of a lease, and the bits of it that tell the holder's rank."""
