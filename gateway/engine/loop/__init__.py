"""The loop that drives turns through the three seams, and the actors that own it."""
