"""Programs whose code is rewritten so that their values are followed."""
