"""What a user writes: a scenario, as a value."""
