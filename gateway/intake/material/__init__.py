"""What comes with a message: files, and what others wrote, marked as theirs."""
