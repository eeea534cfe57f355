"""Which conversation a mail belongs to, and what is kept of it."""
