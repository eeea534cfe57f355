"""Channels inside a host: mounted, started, given their webhooks and what they ask of the gateway."""
