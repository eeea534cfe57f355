"""A real mail server in one process, for trying things out: submission, delivery and IMAP on loopback."""
