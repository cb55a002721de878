"""What is wrong with the tables of a network that already runs, without its controller."""
