"""Block Kit as the platform reads it: what is valid, who is pinged, what a person sees."""
