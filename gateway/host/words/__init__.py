"""How the host says things to people: on its pages and on a terminal alike."""
