"""What a server's protection looks like on a switch: a rule with a cookie of its own."""

SHIELD = 0x5417E1D
