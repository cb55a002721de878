"""`penstock step` as a full-screen program: a run that a person steers, and what shows it."""
