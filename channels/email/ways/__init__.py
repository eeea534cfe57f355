"""The ways by which mail comes to us: a mailbox that we look into, a port that the site's own mail server
hands it to. Each gives the raw bytes to one function, and lets go of a mail only once that has kept it."""
