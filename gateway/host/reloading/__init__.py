"""The agent directory, watched while its author works on it: what is saved, the next turn runs on."""
