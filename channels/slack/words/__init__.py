"""Words to and from Slack. Pure: text and records in, text and blocks out; nothing here waits or sends."""
