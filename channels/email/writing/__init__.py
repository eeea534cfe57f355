"""A letter of ours: its bytes, its ids, and the addresses that bring an answer back. Pure."""
