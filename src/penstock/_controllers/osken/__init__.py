"""os-ken and Ryu programs, unmodified: in process (`binding`), or started as they are (`ryu`)."""
