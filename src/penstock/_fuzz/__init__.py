"""The fuzzer: a network that is driven by seed, with real or in-process controllers."""
