"""What is read from Slack beside the events, and said to one person alone."""
