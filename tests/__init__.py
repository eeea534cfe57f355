"""The suite. A package, so that tests share helpers by their full name and nobody else's."""
