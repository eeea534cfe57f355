"""Who wrote a mail, and how well that is known: by the bytes of its header, pure and by grammar."""
