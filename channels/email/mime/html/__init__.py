"""HTML as the text that a person sees, and apart from it what they don't."""
