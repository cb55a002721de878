"""The scenarios of `penstock demo`."""
