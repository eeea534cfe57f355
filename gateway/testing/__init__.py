"""The kit for agent authors: crash injection, and providers that need no account."""
