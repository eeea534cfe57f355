"""The durable engine: a turn is a process. It imports no database, no HTTP and no vendor SDK."""
