"""Which packets go where, by classes of the whole header space, kept up as tables change."""
