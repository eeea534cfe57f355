"""What the platform sends to apps by itself: events, clicks, commands, over HTTP or a socket."""
