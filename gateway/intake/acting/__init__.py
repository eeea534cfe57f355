"""What the inbox does with a kept event: let a message in, take an answer, obey a control."""
