"""The playground's mail: mailboxes to write from, and what the gateway makes of what is written."""
