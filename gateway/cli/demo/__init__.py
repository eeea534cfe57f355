"""``gateway demo``: the product's first minute. A real host, real kills, and proof of what is left."""
