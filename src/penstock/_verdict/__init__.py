"""The one verdict of all engines, and the reasons why it is no more than it is."""
