"""The rules of the house, kept by a machine that says why each exists."""
