"""A mail's bytes become what a person reads. Pure, linear in size, and total: every mail ends in a
``Mail``."""
