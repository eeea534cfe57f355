"""What each page shows, as JSON: read from the store, put together by pure functions."""
