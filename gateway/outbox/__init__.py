"""The way out: views of turns are claimed, rendered by their channels, and settled with a receipt."""
