"""How a turn's reply is written into a thread: what to show, which call comes next, what came of it."""
