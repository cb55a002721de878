"""Concolic execution: values that carry terms, code rewritten to follow them, and a solver for the terms."""
