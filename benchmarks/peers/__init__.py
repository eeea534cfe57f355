"""The same turn on other engines. Each runs in an environment of its own: see the README here."""
