"""Requests for a decision that are put to somebody by mail: the letter, the link in it, the page behind that."""
