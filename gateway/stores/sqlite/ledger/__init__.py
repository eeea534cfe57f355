"""The ledger on SQLite: read through the readers, written by the writer's thread."""
