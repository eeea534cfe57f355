"""A Slack to play with beside the gateway: a page, personas, faults. For development only."""
