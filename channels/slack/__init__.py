"""Slack: the channel, and an emulator of the platform to try it on."""
