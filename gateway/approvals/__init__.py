"""Requests for a person's decision, as every surface shows them and lets them be answered."""
