"""The reference's tables are the code's own."""

from __future__ import annotations

import pytest

from tests.meta.reference import COMMAND, DOCUMENT, WordsError, document
from tests.meta.tree import text, verdict


def test_the_reference_says_what_the_code_does() -> None:
    current = text(DOCUMENT)
    try:
        made = document(current)
    except WordsError as error:
        pytest.fail(f"{DOCUMENT} can't be made: {error}", pytrace=False)
    old, new = current.splitlines(), made.splitlines()
    stale = {line[:90]: "is stale" for line in old if line not in set(new)}
    stale |= {line[:90]: "is missing" for line in new if line not in set(old)}
    if made != current and not stale:
        stale = {DOCUMENT: "has its lines in another order"}
    verdict(
        f"{DOCUMENT} tells users what there is, so its tables are made from the code.",
        f"run `{COMMAND}`, and read what changed: other people's programs hang on these names.",
        stale,
    )
