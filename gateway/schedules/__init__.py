"""Speaking first: when a schedule is due, and the turn that comes of it."""
