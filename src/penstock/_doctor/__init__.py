"""What Penstock stands on: the table of parts, how each is tried, and how to get what is missing."""
