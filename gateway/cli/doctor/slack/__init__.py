"""What may be wrong between the gateway and Slack. Each check is a pure function of what was seen."""
