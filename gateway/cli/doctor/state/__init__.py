"""What may be wrong in the store and on its host. Each check is a pure function of what was seen."""
