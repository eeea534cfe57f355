"""``gateway doctor``: what is wrong with a set-up, and the exact way out of it."""
