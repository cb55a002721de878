"""A run told in words, for somebody who never saw the tool, and what explains its end."""
