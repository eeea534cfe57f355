"""Who writes to the inbox means harm: to be taken for a customer, to silence one, or to have mail go round."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from channels.contract import Control, Inbound, Parsed, Verdict
from channels.email.emulator.border import Passage, stamped
from channels.email.emulator.notices import Bounce, report
from channels.email.mail import RawMail
from channels.email.mailroom import Looked, Mailroom
from channels.email.threads.contents import content_id
from gateway.engine.ledger import VerdictRow
from gateway.engine.struct import replace
from tests.support.mail.office import (
    ADA,
    FORGER,
    LEAD,
    SUPPORT,
    Office,
    answer_to,
    office,
    post_office,
    question,
)

TOO_BIG = 30 << 20


@pytest.fixture
async def here(tmp_path: Path) -> AsyncGenerator[Office]:
    async with post_office() as post, office(tmp_path, post) as opened:
        yield opened


def came(here: Office, raw: bytes, dmarc: str = "pass", to: str = SUPPORT) -> bytes:
    """As it lies in the mailbox."""
    at = here.host.runtime.clock.now()
    passage = Passage(sender=ADA, recipient=to, dmarc=dmarc, client="out.example", number=1, at=at)
    return stamped(raw, here.post.border, passage)


async def taken(here: Office, raw: bytes, **more: Any) -> VerdictRow:
    """What is said of a mail that a way hands over, the last time."""
    given: dict[str, Any] = {"raw": raw, "way": "imap", "at": here.host.runtime.clock.now(), **more}
    handed = RawMail(**given)
    await here.channel.mailroom.take(handed)
    content = content_id(raw, handed.envelope_from, handed.envelope_to)
    found = await here.ledger.verdicts(source="email", event=f"mail-{content}")
    return found[0]


async def looked(here: Office, raw: bytes) -> Looked:
    found = await here.channel.mailroom.look(content_id(raw))
    assert found is not None
    return found


async def test_a_provider_that_names_no_mail_hands_over_two(here: Office) -> None:
    for text in ("Where is order 1042?", "Where is order 1043?"):
        told = await taken(here, question(text).raw(), way="webhook")
        assert told.verdict == "accepted"


async def test_a_copy_that_nobody_is_to_answer_takes_nothing_from_the_mail(here: Office) -> None:
    """What forwards a mail may leave its return path empty (RFC 5321 section 4.5.5), and be the quicker."""
    await here.write(question())
    await here.letter()
    (letter,) = here.post.journal.handed
    raw = came(here, question("And where is order 1043?").raw())
    for more in ({"envelope_from": ""}, {"envelope_to": (letter.sender,)}):
        assert (await taken(here, raw, way="lmtp", **more)).verdict == "automated_mail"
    assert (await taken(here, raw)).verdict == "accepted"
    await here.letter(2)


async def test_a_bounce_counts_that_proves_which_letter_it_is_about(here: Office) -> None:
    await here.write(question())
    await here.letter()
    row = await here.delivery("done")
    (letter,) = here.post.journal.handed
    at = here.host.runtime.clock.now()
    known = f"Message-ID: {letter.message_id}\r\nIn-Reply-To: {letter.message_id}\r\n\r\n".encode()
    mail = came(here, question().raw())
    for returned in (known, b"X-June-Loop: a.b.c\r\n" + known, mail + known):
        forged = report(returned, SUPPORT, ADA, Bounce(), by="mx.evil.example", at=at)
        told = await taken(here, forged)
        assert (told.verdict, told.rule) == ("automated_mail", "bounce-unproven")
        assert (await looked(here, forged)).bounce_rule == "bounce-unproven"
    left = await here.ledger.delivery(row.id)
    assert left is not None
    assert (left.state, left.parts) == ("done", row.parts)
    # Where our mail server wrote another return path, what comes back is the letter's header.
    real = report(letter.raw, SUPPORT, ADA, Bounce(whole=False), by="mx.shop.example", at=at)
    assert (await taken(here, real)).rule == "bounce"
    assert (await here.delivery("dead")).id == row.id


async def test_a_mail_played_again_with_a_field_more_is_a_copy(here: Office) -> None:
    raw = question("One more, please").raw()
    first = await taken(here, came(here, raw))
    spaced = raw.replace(b"One more, please", b"One more,  please \r\n")
    for changed in (b"X-Spam-Status: No\r\n" + raw, b"In-Reply-To: <a@b>\r\n" + spaced):
        told = await taken(here, came(here, changed))
        assert (told.verdict, told.turn_id) == ("duplicate", first.turn_id)
    # A stranger who was first takes nothing from them.
    early = question("And another").raw()
    held = await taken(here, came(here, b"X-Early: 1\r\n" + early, "none"))
    real = await taken(here, came(here, early))
    assert (held.verdict, real.verdict) == ("accepted", "accepted")


def test_text_in_the_shape_of_a_trace_is_text() -> None:
    head = b"From: m@evil.example\r\nSubject: x\r\nthis is text\r\n"
    first, second = (head + b"Received: %b\r\n\r\nbye\r\n" % said for said in (b"one", b"two"))
    assert content_id(first) != content_id(second)


async def test_what_is_kept_is_told_by_the_way_of_the_first_copy(here: Office) -> None:
    forged = came(here, question().raw())
    await taken(here, forged, way="webhook", way_id="postmark/1", covered=False)
    await taken(here, forged.partition(b"\r\n")[2], way="imap")
    known = (await looked(here, forged)).opened.attestation
    assert (known.level, known.reasons[0][0]) == ("none", "way_not_covered")


async def test_forged_mail_spends_nothing_of_a_customers_budget(here: Office) -> None:
    raws = [came(here, question(f"Order {number}?").raw(), "none") for number in range(21)]
    *_, last = [await taken(here, raw, envelope_from=FORGER) for raw in raws]
    assert (last.verdict, last.rule) == ("held", "too-many")
    assert (await taken(here, came(here, question("Mine").raw()))).verdict == "accepted"


async def test_a_machine_of_many_names_and_hosts_has_one_budget(here: Office) -> None:
    drafts = [question(f"Nr {n}", sender=f"desk+{n}@cust.example") for n in range(21)]
    *_, last = [await taken(here, came(here, draft.raw())) for draft in drafts]
    assert (last.verdict, last.rule) == ("held", "too-many")
    raw = came(here, question(sender="desk@n1.cust.example").raw())
    await taken(here, raw)
    parsed = (await looked(here, raw)).parsed
    assert isinstance(parsed, Inbound)
    assert any(one.key.endswith(":domain:cust.example") for one in parsed.budgets)


async def test_who_writes_too_much_is_told_so_once_a_day(here: Office) -> None:
    for number in (1, 2):
        raw = came(here, question(f"Pictures {number}").raw())
        told = await taken(here, raw, whole=TOO_BIG)
        assert (told.verdict, told.rule) == ("unsupported", "over-limit")
        assert (told.said is None) == (number == 2)
    letter = await here.letter()
    assert "I can't read your message" in letter.as_string()
    # Nobody is told who may never have written.
    forged = came(here, question("Pictures 3", sender=FORGER).raw(), "fail")
    assert (await taken(here, forged, whole=TOO_BIG)).said is None


async def test_what_answers_the_return_path_is_a_program(here: Office) -> None:
    await here.write(question())
    await here.letter()
    (handed,) = here.post.journal.handed
    raw = question("I am at the sea.", to=[handed.sender]).raw()
    told = await taken(here, came(here, raw, to=handed.sender))
    assert (told.verdict, told.rule) == ("automated_mail", "return-path")


class Receiving:
    """What a mailroom hands on, and nothing comes of it."""

    def __init__(self, here: Office) -> None:
        self.ledger, self.clock = here.ledger, here.host.runtime.clock
        self.received: list[Parsed] = []

    async def receive(self, parsed: Parsed) -> Verdict:
        self.received.append(parsed)
        return Verdict(word="accepted", rule="direct")


async def test_a_colleague_may_stop_what_is_being_written(here: Office) -> None:
    await here.write(question())
    draft = answer_to(await here.letter(), "I'll do it.", f"Lead <{LEAD}>")
    draft = replace(draft, to=[*draft.to, ADA])
    around = Receiving(here)
    at = here.host.runtime.clock.now()
    handed = RawMail(raw=came(here, draft.raw()), way="imap", at=at)
    await Mailroom(here.channel.desk, around).take(handed)
    stop = around.received[-1]
    assert isinstance(stop, Control)
    assert stop.by is not None
    person = await here.channel.person(stop.by, stop.reply)
    assert person is not None
    assert person.standing == "member"


async def test_thousands_of_tokens_and_files_are_looked_at_in_part(
    here: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    await here.write(question())
    token = str((await here.letter())["Reply-To"]).partition("@")[0].rpartition("+")[2]
    signed = token.partition(".")[2]
    letters = "abcdefghijklmnopqrstuvwxyz234567"
    made = (
        f"s+{a}{b}{c}{token[3:16]}.{signed}@shop.example"
        for a in letters[:3]
        for b in letters
        for c in letters[:16]
    )
    told = ", ".join(made)
    lines = [told[at : at + 30_000].rpartition(", ")[0] for at in range(0, 90_000, 30_000)]
    parts = "".join(
        f"--b\r\nContent-Disposition: attachment; filename={n}.txt\r\n\r\nx\r\n"
        for n in range(1900)
    )
    head = "".join(f"Cc: {line}\r\n" for line in lines)
    raw = (
        f"From: {ADA}\r\nTo: {SUPPORT}\r\nSubject: x\r\nMessage-ID: <1@x>\r\n{head}"
        'Content-Type: multipart/mixed; boundary="b"\r\n\r\n'
        f"--b\r\n\r\n{'word ' * 24_000}\r\n{parts}--b--\r\n"
    ).encode()
    found: list[str] = []
    book = here.channel.mailroom.book
    find = book.find

    async def counted(conversation: str) -> Any:
        found.append(conversation)
        return await find(conversation)

    monkeypatch.setattr(book, "find", counted)
    assert (await taken(here, came(here, raw))).verdict == "accepted"
    assert len(found) <= 24
    parsed = (await looked(here, raw)).parsed
    assert isinstance(parsed, Inbound)
    assert "(19999 more characters are left out here.)" in parsed.text
