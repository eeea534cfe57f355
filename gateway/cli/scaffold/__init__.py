"""``gateway new`` and ``gateway add``: files to begin with, each with a test that passes."""
