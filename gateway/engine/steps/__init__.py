"""One attempt at a turn: its model steps, its calls, its parks."""
