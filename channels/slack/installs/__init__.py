"""Where the app is installed, and the token that opens each place."""
