"""What an answer says, to whom, and how it becomes a letter."""
