"""Finding out why: tools for what is left to understand after a trace was minimised (STS §5.0.8)."""
