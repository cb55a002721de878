"""OpenFlow 1.0 and 1.3: messages as values, and the codecs that put them on a wire."""
