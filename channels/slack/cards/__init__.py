"""A request for a person's decision, as Slack shows it and lets it be answered."""
