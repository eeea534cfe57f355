"""The operators' pages: what needs somebody, what runs, what was said and decided, what was delivered.

``views`` reads the store and says what is to be seen, as JSON; a template shows it; ``acts`` is what a
button does. Everything here needs somebody who signed in (``access``), so none of it stands in the
OpenAPI document, which describes what a token may call.
"""
