"""What the engines share: networks of scenarios, fresh programs, assumptions, what to try next."""
