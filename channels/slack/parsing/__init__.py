"""What each payload of Slack means, one file for each kind: pure, total, without a word to anybody."""
