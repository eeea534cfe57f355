"""Real mail servers for the tests: each on loopback, in a folder of its own, gone with its test."""
