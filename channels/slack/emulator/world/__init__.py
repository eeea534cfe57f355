"""What exists in the emulated Slack, and the changes that can happen to it. No input or output."""
