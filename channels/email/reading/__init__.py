"""What a mail says and what it is: the words written now, an automatic mail, a bounce. Pure."""
