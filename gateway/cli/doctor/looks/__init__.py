"""What the doctor looks at: the agent, the store and its host, Slack. Nothing is changed anywhere."""
