"""What may be wrong with the agent. Each check is a pure function of what was seen."""
