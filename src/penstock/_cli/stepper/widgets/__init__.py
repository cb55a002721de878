"""The parts of the screen of `penstock step`, one idea each."""
