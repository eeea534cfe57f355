"""Who comes into a conversation, and by what."""

from __future__ import annotations

import pytest

from channels.email.mail import Author
from channels.email.threads.conversation import Conversation, Hint, join
from gateway.engine.kinds import Level

ADA = Author(address="ada@cust.example", domain="cust.example")
BO = Author(address="bo@cust.example", domain="cust.example")
FRESH = Conversation(id="fresh", session="s-fresh")
OURS = Conversation(id="ours", session="s-ours", people=(ADA.address,), taken_over="email:lead")
OTHER = Conversation(id="other", session="s-other", people=("cy@cust.example", BO.address))
BY_ID, BY_HER_TOKEN = Hint(conversation=OURS), Hint(conversation=OURS, given=ADA.address)
BY_BOS_TOKEN = Hint(conversation=OTHER, given=BO.address)


@pytest.mark.parametrize(
    ("author", "level", "hints", "how", "conversation"),
    [
        (ADA, "domain", (), "new", "fresh"),
        (ADA, "domain", (BY_ID,), "known", "ours"),
        (ADA, "domain", (BY_HER_TOKEN,), "known", "ours"),
        # Whom nobody vouches for joins by the address that was given to exactly them.
        (ADA, "none", (BY_ID,), "new", "fresh"),
        (ADA, "none", (BY_HER_TOKEN,), "known", "ours"),
        (ADA, "none", (Hint(conversation=OURS, given=BO.address),), "new", "fresh"),
        # Knowing an id lets nobody in, and somebody else's address doesn't without an operator.
        (BO, "sender", (BY_ID,), "new", "fresh"),
        (BO, "sender", (BY_HER_TOKEN,), "stranger", "ours"),
        (None, "none", (BY_HER_TOKEN,), "new", "fresh"),
        # The first that lets them in, whatever stands before it.
        (ADA, "domain", (BY_BOS_TOKEN, BY_ID), "known", "ours"),
        (ADA, "none", (BY_BOS_TOKEN, BY_ID), "stranger", "other"),
    ],
)
def test_ids_and_addresses_let_in_whom_they_belong_to(
    author: Author | None, level: Level, hints: tuple[Hint, ...], how: str, conversation: str
) -> None:
    found = join(author, level, hints, FRESH)
    assert (found.how, found.conversation, found.session) == (
        how,
        conversation,
        f"s-{conversation}",
    )
    assert found.link == (hints[0].conversation.id if hints and how == "new" else "")
    assert found.taken_over == ("email:lead" if conversation == "ours" else "")
