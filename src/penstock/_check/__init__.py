"""`check`: every ordering of events, with packets found by concolic execution (after NICE)."""
