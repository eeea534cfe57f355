"""What several kinds of test need: a clean environment, a PostgreSQL server."""
