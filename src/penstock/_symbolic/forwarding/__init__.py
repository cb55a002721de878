"""Where packets go, by their header fields as terms."""
