"""Replaying a recorded run, and finding the few inputs of it that matter."""
