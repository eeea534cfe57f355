"""IMAP4rev1 (RFC 3501) with IDLE (2177), MOVE (6851), UIDPLUS (4315) and LITERAL+ (7888), as far as a
client needs that reads a support inbox."""
