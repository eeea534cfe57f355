"""The ledger on PostgreSQL: one statement per write, leases by the server's clock."""
