"""All mails of the corpus, by name."""

from __future__ import annotations

from tests.unit.email.corpus.bodies import BODIES
from tests.unit.email.corpus.build import Table
from tests.unit.email.corpus.charsets import CHARSETS
from tests.unit.email.corpus.headers import HEADERS
from tests.unit.email.corpus.kinds import KINDS
from tests.unit.email.corpus.people import PEOPLE
from tests.unit.email.corpus.shapes import SHAPES

CORPUS: Table = {
    f"{room}.{name}": made
    for room, table in (
        *(("headers", HEADERS), ("charsets", CHARSETS), ("shapes", SHAPES)),
        *(("bodies", BODIES), ("people", PEOPLE), ("kinds", KINDS)),
    )
    for name, made in table.items()
}
