"""What a rule is: a class of short tests, the promise that it is about, and what it needs of the channel."""

from __future__ import annotations

from typing import ClassVar, Literal

from tests.conformance.channels.driver import Replace

Promise = Literal["nothing is lost", "nothing twice", "who decides", "what people see"]
NO_GAPS: frozenset[Promise] = frozenset({"nothing is lost", "nothing twice", "who decides"})
"""No platform is an excuse for these."""


class Rule:
    about: ClassVar[str]
    """The heading of its rows in the matrix."""
    promise: ClassVar[Promise]
    replace: ClassVar[Replace] = ""
    """What a newer message does to a turn under way."""
