"""The programs under test, each bound to the model as a component."""
