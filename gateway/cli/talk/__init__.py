"""A turn on a terminal: text as it streams, tools as lines, a request as a card to decide on."""
