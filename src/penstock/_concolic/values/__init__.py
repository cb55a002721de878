"""Values that carry, beside what they are, what they depend on."""
