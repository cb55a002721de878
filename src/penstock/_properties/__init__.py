"""What must hold: properties, observed along every execution.

The library's properties are found by name in `registry`; to write one's own, a subclass of
`Property` or a function under `@invariant` or `@at_rest` will do.
"""

from penstock._properties.base import UPHELD, Property, Violated, at_rest, invariant

__all__ = ["UPHELD", "Property", "Violated", "at_rest", "invariant"]
