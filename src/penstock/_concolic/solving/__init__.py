"""Which inputs satisfy some conditions: likely values first, then Z3."""
