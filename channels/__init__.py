"""Where people talk to an agent: one folder for each place."""
