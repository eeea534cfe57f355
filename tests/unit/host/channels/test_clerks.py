"""Lists of mail hold as many rows as they were asked for, whatever else was judged meanwhile."""

from __future__ import annotations

from gateway.engine.kinds import Millis
from gateway.engine.limits import SYSTEM_CLOCK
from gateway.engine.records import VerdictMade
from gateway.host.channels.clerks import Clerks
from gateway.stores.memory import MemoryStore

T0 = Millis(1_700_000_000_000)


def judged(event: str, word: str = "accepted", rule: str = "mail") -> VerdictMade:
    return VerdictMade(source="email", event_id=event, verdict=word, rule=rule, at=T0)


async def test_what_followed_from_mail_takes_no_mails_place() -> None:
    store = MemoryStore()
    await store.open()
    await store.ledger.note([judged(f"mail-{n}") for n in range(3)])
    await store.ledger.note([judged(f"link-{n}") for n in range(50)])
    found = await Clerks({}, "june", store.ledger, SYSTEM_CLOCK).all(2)
    assert [row.event_id for row in found] == ["mail-2", "mail-1"]


async def test_what_lets_itself_in_hides_nothing_that_waits_for_an_operator() -> None:
    store = MemoryStore()
    await store.open()
    await store.ledger.note([judged("mail-waits", "held", "stranger")])
    await store.ledger.note([judged(f"mail-{n}", "held", "host-busy") for n in range(50)])
    found = await Clerks({}, "june", store.ledger, SYSTEM_CLOCK).held(2)
    assert [row.event_id for row in found] == ["mail-waits"]
