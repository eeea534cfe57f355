"""Pure decisions: rows in, what to write out. Nothing here waits, reads or sends."""
