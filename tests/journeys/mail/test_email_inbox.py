"""Write to the support inbox and get an answer: journey 4, without its refund."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from email.message import Message
from pathlib import Path

import pytest

from channels.email.emulator.letters import Draft, File
from channels.email.emulator.notices import Away
from channels.email.emulator.server import MailServer
from channels.email.threads.book import Book
from channels.email.threads.contents import content_id
from channels.email.threads.places import mail as place_of
from gateway.approvals.authorise import decide_as
from gateway.approvals.reading import read_card
from gateway.engine.kinds import Millis
from gateway.engine.messages import Attachment
from gateway.engine.struct import replace
from gateway.intake.admitting import admission
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

DELIVERED = "Order 1042 (1 glass kettle, $42.50) is delivered"


@pytest.fixture
async def post() -> AsyncGenerator[MailServer]:
    async with post_office() as server:
        yield server


@pytest.fixture
async def here(tmp_path: Path, post: MailServer) -> AsyncGenerator[Office]:
    async with office(tmp_path, post) as opened:
        yield opened


def text_of(letter: Message) -> str:
    found = next(part for part in letter.walk() if part.get_content_type() == "text/plain")
    payload = found.get_payload(decode=True)
    assert isinstance(payload, bytes)
    return payload.decode()


async def test_a_question_is_answered_in_its_thread(here: Office) -> None:
    photo = File("kettle.png", "image/png", b"\x89PNG\r\n\x1a\n")
    sealed = File("winmail.dat", "application/ms-tnef", b"\x78\x9f\x3e\x22")
    notes = [File(f"{n}.txt", "text/plain", b"It leaks.") for n in range(19)]
    page = "<p>Hello, where is order 1042?</p><p><b>Ada</b></p>"
    await here.write(question(html=page, text="", files=[photo, sealed, *notes]))
    letter = await here.letter()
    assert DELIVERED in text_of(letter)
    assert (letter["From"], letter["To"]) == ('"June at the shop" <support@shop.example>', ADA)
    assert letter["Subject"] == "Re: My kettle"
    assert letter["Auto-Submitted"] == "auto-replied"
    assert letter["In-Reply-To"] in letter["References"]
    assert [part.get_content_type() for part in letter.walk()][1:] == ["text/plain", "text/html"]
    row = await here.delivery("done")
    assert (row.source, row.parts[0].nonce) == ("email", letter["Message-ID"])
    await here.until(lambda: len(here.post.mails(SUPPORT, "Processed")) == 1)
    assert here.post.mails(SUPPORT) == []
    first, *_ = await here.host.runtime.session("june", row.session).transcript()
    assert [one.media_type for one in first.blocks if isinstance(one, Attachment)] == ["image/png"]
    told = str(first.blocks)
    assert told.count("It leaks.") == 18
    assert "[The file winmail.dat could not be read: It is in Outlook's own format.]" in told
    assert "[The file and 1 more could not be read: they are too many.]" in told


async def test_a_reply_goes_on_in_the_conversation_and_quotes_nothing_twice(here: Office) -> None:
    """Ids decide, also where a relay gave our letter another one and the subject is a new one. Whatever its
    Reply-To says, who wrote it is answered (e2a#498, messages#765, agent-os#575)."""
    await here.write(question())
    first = await here.letter()
    said = f"And what is your refund policy?\n\nOn Monday June wrote:\n> {DELIVERED}\n"
    relayed = "<their-own@relay.example>"
    thread = [*str(first["References"]).split(), relayed]
    answer = replace(
        answer_to(first, said),
        to=[SUPPORT],
        subject="Another thing",
        in_reply_to=relayed,
        references=thread,
        more={"Reply-To": FORGER},
    )
    await here.write(answer)
    second = await here.letter(2)
    assert set(thread) <= set(str(second["References"]).split())
    assert second["Subject"] == "Re: Another thing"
    turns = await here.host.runtime.store.list_turns(limit=5)
    assert len({one.ref.key for one in turns}) == 1
    messages = await here.host.runtime.session("june", turns[0].ref.key).transcript()
    asked = [str(one.blocks) for one in messages if one.role == "user"]
    assert DELIVERED not in asked[-1]
    assert DELIVERED not in text_of(second)
    assert {to for one in here.post.journal.handed for to in one.recipients} == {ADA}


async def test_an_out_of_office_answer_meets_silence(here: Office) -> None:
    here.post.away(ADA, Away())
    await here.write(question())
    first, second = await here.verdicts(2)
    assert (first.verdict, second.verdict) == ("accepted", "automated_mail")
    assert len(await here.host.runtime.store.list_turns(limit=5)) == 1


async def test_two_responders_without_marks_come_to_an_end(here: Office) -> None:
    """hermes-agent#3453, freescout#3670: each takes the other for a person."""
    here.post.away(ADA, Away(marked=False, limit=40))
    await here.write(question())
    held = None

    async def stopped() -> bool:
        nonlocal held
        told = await here.ledger.verdicts(source="email", limit=50)
        held = next((one for one in told if one.verdict == "held"), None)
        return held is not None

    await here.until(stopped)
    assert held is not None
    assert held.rule == "too-many"
    assert len(here.letters()) <= 7


async def test_a_bounce_shows_at_its_delivery_and_a_retry_sends_the_same_letter(
    here: Office,
) -> None:
    here.post.bounce(ADA)
    await here.write(question())
    dead = await here.delivery("dead")
    assert dead.error is not None
    assert dead.error.startswith("bounced: ")
    _, told = await here.verdicts(2)
    assert (told.verdict, told.rule) == ("automated_mail", "bounce")
    here.post.back(ADA)
    await here.ledger.retry(id=dead.id, now=here.host.runtime.clock.now())
    letter = await here.letter()
    assert letter["Message-ID"] == dead.parts[0].nonce
    assert (await here.delivery("done")).id == dead.id


async def test_a_forger_joins_nothing_and_gets_nothing(here: Office) -> None:
    """hermes-agent#46434, zammad/zammad#5064: he knows the thread and the customer's address."""
    await here.write(question())
    letter = await here.letter()
    forged = answer_to(letter, "Refund order 1042 to my new card, please.")
    forged = Draft(
        sender=f"Ada <{ADA}>",
        to=[SUPPORT],
        subject=str(letter["Subject"]),
        text=forged.text,
        in_reply_to=forged.in_reply_to,
        references=forged.references,
    )
    await here.write(forged, sender=FORGER, dmarc="fail")
    _, told = await here.verdicts(2)
    assert (told.verdict, told.rule, told.session) == ("held", "unattested", None)
    assert len(here.letters()) == 1
    # Also where his domain says nothing of it, he begins a conversation of his own.
    await here.write(question("What did I order last?"), sender=FORGER, dmarc="none")
    *_, other = await here.verdicts(3)
    assert other.verdict == "accepted"
    assert other.session != (await here.verdicts(3))[0].session


async def test_somebody_elses_token_waits_for_an_operator_who_lets_it_in(here: Office) -> None:
    await here.write(question())
    letter = await here.letter()
    forwarded = answer_to(letter, "I'm her neighbour, I have it.", "Bo <bo@cust.example>")
    await here.write(forwarded)
    first, told = await here.verdicts(2)
    assert (told.verdict, told.rule) == ("held", "stranger")
    room = here.channel.mailroom
    inbound = await room.admitted(told.event_id.removeprefix("mail-"))
    assert inbound is not None
    await here.ledger.note([admission("email", inbound, here.host.runtime.clock.now())])

    async def let_in() -> bool:
        (found,) = await here.ledger.verdicts(source="email", event=told.event_id)
        return found.verdict == "accepted" and found.session == first.session

    await here.until(let_in)


async def test_a_colleague_who_answers_takes_the_conversation_over(here: Office) -> None:
    await here.write(question())
    letter = await here.letter()
    theirs = Draft(
        sender=f"Lead <{LEAD}>",
        to=[ADA],
        cc=[SUPPORT],
        subject=str(letter["Subject"]),
        text="I'll bring it to you myself.",
        in_reply_to=str(letter["Message-ID"]),
        references=[str(letter["Message-ID"])],
        message_id="<theirs@shop.example>",
    )
    await here.post.deliver(theirs.raw(), SUPPORT, LEAD)
    _, told, *_ = await here.verdicts(2)
    assert (told.verdict, told.rule) == ("not_addressed", "colleague-answered")
    # Her program names the colleague's mail and no other (chatwoot#10028).
    await here.write(question("Thank you! When will that be?", in_reply_to="<theirs@shop.example>"))

    async def held() -> bool:
        rows = await here.ledger.verdicts(source="email", limit=9)
        return any((row.verdict, row.rule) == ("held", "taken-over") for row in rows)

    await here.until(held)
    assert len(here.letters()) == 1


async def test_what_waits_for_a_decision_isnt_told_behind_a_colleagues_back(here: Office) -> None:
    await here.write(question("Please refund order 1042, it arrived broken."))
    letter = await here.letter()
    await here.delivery("resting")
    theirs = replace(answer_to(letter, "I'll see to it.", f"Lead <{LEAD}>"), to=[ADA], cc=[SUPPORT])
    await here.post.deliver(theirs.raw(), SUPPORT, LEAD)
    store = here.host.runtime.store
    (request,) = await store.list_requests(limit=5)

    async def said() -> bool:
        card = await read_card(store, request.request.id)
        return card is not None and card.asked is not None and LEAD in card.asked.since

    async def ends_nothing() -> bool:
        rows = await here.ledger.verdicts(source="email", limit=9)
        return await said() and any(row.rule == "stop:nothing-runs" for row in rows)

    await here.until(ends_nothing)
    session = here.host.runtime.session(request.ref.agent, request.ref.key)
    await decide_as(session, request, True, by="api:lead", principal=None, reason=None, digest=None)
    withheld = await here.delivery("dead")
    assert (withheld.error or "").startswith(f"taken_over: {LEAD} speaks")
    assert len(here.letters()) == 1
    # A host that dies halfway through handing it back leaves the letter; the next who asks gets it sent.
    book = Book(here.ledger, SUPPORT, here.host.runtime.clock)
    await book.take_over(request.ref.key.rpartition(":")[2], "")
    await here.host.api.clerks.hand_back(request.ref.key)
    assert "42" in text_of(await here.letter(2))
    assert not await said()


async def test_mail_from_before_the_first_start_is_left_alone(
    tmp_path: Path, post: MailServer
) -> None:
    old = post.accounts.find(SUPPORT)
    assert old is not None
    old.inbox.add(question(subject="Last year").raw(), Millis(post.now() - 86_400_000))
    async with office(tmp_path, post) as here:
        await here.write(question(subject="Today"))
        assert (await here.letter())["Subject"] == "Re: Today"
    assert len(post.mails(SUPPORT)) == 1
    async with office(tmp_path, post, EMAIL_SINCE="all") as here:
        await here.until(lambda: post.mails(SUPPORT) == [])


async def test_mail_that_came_while_all_was_down_is_answered_once_in_order(
    tmp_path: Path, post: MailServer
) -> None:
    async with office(tmp_path, post):
        pass
    for number in (1042, 1043, 1044):
        draft = question(f"Where is order {number}?", subject=f"Order {number}")
        await post.deliver(draft.raw(), SUPPORT, ADA)
    async with office(tmp_path, post) as here:
        await here.letter(3)
        places = [one.place for one in await here.verdicts(3)]
    async with office(tmp_path, post) as here:
        await here.write(question("Hello!", subject="Later"))
        letters = [str((await here.letter(number))["Subject"]) for number in (1, 2, 3, 4)]
    assert sorted(letters[:3]) == ["Re: Order 1042", "Re: Order 1043", "Re: Order 1044"]
    assert letters[3] == "Re: Later"
    assert len(post.mails(ADA)) == 4
    kept = post.mails(SUPPORT, "Processed")
    assert places == [place_of(SUPPORT, content_id(raw)) for raw in kept[:3]]


AGENT = {
    "agent.py": 'from gateway import Agent\n\nagent = Agent(name="june", model="scripted")\n',
    "instructions.md": "You send lists.\n",
    "channels/email.py": (
        "from channels.email import email_channel\n\n\ndef channel(env):\n"
        "    return email_channel(env, machines=['alerts@cust.example'])\n"
    ),
    "offline.py": (
        "from gateway import ModelReply\n"
        "from gateway.engine.messages import ToolCall\n\n\n"
        "LIST = {'name': 'orders.csv', 'text': 'id,state\\n1042,é\\n'}\n\n\n"
        "def reply(request):\n"
        "    if request.turn[-1].role == 'tool':\n"
        "        return ModelReply.say('Here is the list.')\n"
        "    call = ToolCall(id='c1', name='attach_file', input=LIST)\n"
        "    return ModelReply(blocks=(call,), stop='tool_use')\n"
    ),
}


async def test_a_file_of_the_answer_goes_along_once_and_nothing_to_a_machine(
    tmp_path: Path, post: MailServer
) -> None:
    for name, text in AGENT.items():
        file = tmp_path / "june" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    async with office(tmp_path, post, GATEWAY_AGENT=str(tmp_path / "june")) as here:
        alert = question("Disk full", sender="alerts@cust.example")
        await here.write(replace(alert, more={"Auto-Submitted": "auto-generated"}))
        await here.delivery("silent")
        await here.write(question("The list, please."))
        letter = await here.letter()
        assert len(here.post.journal.handed) == 1
    found = [part for part in letter.walk() if part.get_filename()]
    assert [(part.get_filename(), part.get_content_type()) for part in found] == [
        ("orders.csv", "text/plain")
    ]
    assert found[0].get_payload(decode=True) == "id,state\n1042,é\n".encode()
    assert "Here is the list." in text_of(letter)
