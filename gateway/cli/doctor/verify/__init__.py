"""``gateway slack verify``: the set-up tried for real, in one thread of a channel, and cleared away again."""
