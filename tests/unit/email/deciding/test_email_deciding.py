"""A request that is put to somebody by mail, through a whole host: the letter, its link, what a POST does."""

from __future__ import annotations

import asyncio
import email
from collections.abc import AsyncGenerator
from pathlib import Path
from textwrap import dedent

import pytest

from channels.contract import Answer
from channels.email.deciding.door import LINK
from channels.email.deciding.links import KIND, Link, Links, hashed
from channels.email.emulator.faults import Fault
from channels.email.emulator.server import MailServer
from gateway.engine.kinds import JsonObject, Millis, Speaker
from gateway.engine.records import RequestSummary
from tests.support.mail.office import (
    ADA,
    FORGER,
    LEAD,
    answer_to,
    post_office,
    question,
)
from tests.unit.email.deciding.desk import FILES, OURS, PUBLIC, Desk, desk_at, link_in, text_of


@pytest.fixture(scope="session")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("deciding")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(dedent(text).lstrip("\n"))
    return root


@pytest.fixture
async def post() -> AsyncGenerator[MailServer]:
    async with post_office() as server:
        yield server


@pytest.fixture
async def desk(tmp_path: Path, agent: Path, post: MailServer) -> AsyncGenerator[Desk]:
    async with desk_at(tmp_path, agent, post) as made:
        yield made


async def test_looking_is_free_and_a_post_decides_once(desk: Desk) -> None:
    """activepieces#14252, rask#1013: a scanner's GET took the answer, or used the link up."""
    found = await desk.asked('call note {"words": "</pre>left with a neighbour"}')
    letter = await desk.office.letter(1, LEAD)
    told = text_of(letter)
    assert found.request.digest in told
    assert "ada@cust.example, by email" in told
    assert '"words": "</pre>left with a neighbour"' in told
    assert f"{PUBLIC}/console/approvals/{found.request.id}" in told
    assert letter["Auto-Submitted"] == "auto-generated"
    assert (await desk.office.letter(1, ADA))["To"] == ADA  # who knows that somebody is asked
    link = link_in(letter)
    head = await desk.ask("HEAD", link)
    assert (head.status, head.text) == (200, "")
    pages = [await desk.get(link) for _ in range(3)]
    assert {page.status for page in pages} == {200}
    assert "&lt;/pre&gt;left with a neighbour" in pages[0].text
    assert pages[0].headers["Cache-Control"] == "no-store"
    assert await desk.outcome(found) is None
    done = await desk.answer(link, pages[0].nonce, 1, "not now")
    assert done.status == 200, done.text
    assert "Denied by email:lead@shop.example" in done.text
    assert "not now" in done.text
    again = await desk.answer(link, pages[1].nonce, 0)
    assert again.status == 409
    assert "Denied by email:lead@shop.example" in again.text
    assert "Denied by" in (await desk.get(link)).text
    assert "False" in text_of(await desk.office.letter(2, ADA))
    await desk.office.delivery("done", f"card:{found.request.id}")
    assert len(desk.office.letters(LEAD)) == 1  # nothing is written after it


async def test_of_two_posts_at_once_one_decides(desk: Desk) -> None:
    found = await desk.asked('call note {"words": "twice"}')
    link = await desk.link()
    nonces = [(await desk.get(link)).nonce for _ in range(2)]
    async with asyncio.TaskGroup() as group:
        sent = [
            group.create_task(desk.answer(link, nonce, answer))
            for answer, nonce in enumerate(nonces)
        ]
    pages = [one.result() for one in sent]
    assert sorted(page.status for page in pages) == [200, 409]
    won = next(n for n, page in enumerate(pages) if page.status == 200)
    assert await desk.outcome(found) == ("approved", "denied")[won]
    assert {("Approved by", "Denied by")[won] in page.text for page in pages} == {True}


async def test_what_does_not_come_from_its_page_decides_nothing(desk: Desk) -> None:
    found = await desk.asked('call note {"words": "mine"}')
    link = await desk.link()
    nonce = (await desk.get(link)).nonce
    other = await desk.made(found)
    for page, status in [
        (await desk.answer(link, nonce, headers={"Origin": "https://evil.example"}), 403),
        (await desk.answer(link, nonce, headers={"Origin": "null"}), 403),
        (await desk.answer(link, nonce, headers={**OURS, "Sec-Fetch-Site": "cross-site"}), 403),
        (await desk.answer(link, "1.a.b"), 409),
        (await desk.answer(link, (await desk.get(other)).nonce), 409),
        (await desk.answer(link, nonce, 2), 400),
        (await desk.ask("POST", link, json={"nonce": nonce, "answer": 0}, headers=OURS), 400),
        (await desk.ask("POST", link, data=b"x" * 20_000, headers=OURS), 413),
        (await desk.get(link[:-1] + ("a" if link[-1] != "a" else "b")), 404),
        (await desk.ask("PUT", link), 405),
    ]:
        assert page.status == status, page.text
    assert await desk.outcome(found) is None
    assert (await desk.answer(link, nonce, 0)).status == 200
    assert await desk.outcome(found) == "approved"


async def test_a_link_dies_with_its_request(desk: Desk) -> None:
    found = await desk.asked('call note {"words": "first"}')
    link = await desk.link()
    nonce = (await desk.get(link)).nonce
    stale = await desk.made(found, digest="0" * 64)
    assert (await desk.get(stale)).status == 410
    assert (await desk.answer(stale, nonce)).status == 410
    await desk.decide(found, value=True)
    late = await desk.answer(link, nonce, 1)
    assert late.status == 409
    assert "Approved by api:ops at 20" in late.text
    assert await desk.outcome(found) == "approved"
    row = await desk.office.ledger.document(KIND, hashed(link.rpartition("/")[2]))
    assert row is not None
    assert row.expires is not None
    now = desk.office.host.runtime.clock.now()
    assert 0 < row.expires - now <= 7 * 86_400_000
    gone = await Links(desk.office.ledger).make(
        Link(turn_id="t", request="r", digest="d", address=LEAD, who=""), now, Millis(now - 1)
    )
    assert (await desk.get(f"{PUBLIC}/channels/email/decide/{gone}")).status == 404
    await desk.office.until(lambda: len(desk.office.letters(ADA)) == 2)
    assert len(desk.office.letters(LEAD)) == 1


@pytest.mark.parametrize(
    ("call", "letters"),
    [
        ('call pay {"order": "1042"}', 1),
        ('call note {"words": "x", "policy": "others"}', 1),
        ('call claim {"who": "email:lead@shop.example"}', 0),
    ],
    ids=["money", "not-listed", "a-named-person"],
)
async def test_what_takes_signing_in_has_no_link_and_heeds_none(
    desk: Desk, call: str, letters: int
) -> None:
    found = await desk.asked(call)
    if letters:
        told = text_of(await desk.office.letter(1, LEAD))
        assert f"{PUBLIC}/console/approvals/{found.request.id}" in told
        assert "/decide/" not in told
    forged = await desk.made(found)
    page = await desk.get(forged)
    assert "nonce" not in page.text
    assert f"{PUBLIC}/console/approvals/{found.request.id}" in page.text
    assert (await desk.answer(forged, "1.a.b")).status == 409
    # Nor does an answer that got past the page.
    key = hashed(forged.rpartition("/")[2])
    await given(desk, found, {LINK: key})
    assert await desk.outcome(found) is None
    assert len(desk.office.letters(LEAD)) == letters


async def given(desk: Desk, found: RequestSummary, reply: JsonObject) -> None:
    """An answer as the page would keep it, and a verdict of a refusal on it."""
    answer = Answer(
        event_id="forged",
        keys=("forged",),
        request=found.request.id,
        shown="",
        digest=found.request.digest,
        by=Speaker(f"email:{LEAD}", level="none"),
        value=True,
        reply=reply,
    )
    await desk.context.receive(answer)

    async def refused() -> bool:
        (row,) = await desk.office.ledger.verdicts(source="email", event="forged")
        return (row.verdict, row.rule) == ("policy", "outsider")

    await desk.office.until(refused)


async def test_the_policys_hook_has_the_last_word(desk: Desk) -> None:
    found = await desk.asked('call note {"words": "a secret"}')
    link = await desk.link()
    page = await desk.answer(link, (await desk.get(link)).nonce)
    assert "doesn&#x27;t let you decide" in page.text
    assert await desk.outcome(found) is None
    assert "nonce" not in (await desk.get(link)).text
    await desk.decide(found, value=False)
    assert "Denied by api:ops" in (await desk.get(link)).text


async def test_nobody_writes_himself_into_a_decision(desk: Desk) -> None:
    """Mail is never a default answerer: an author whom nobody vouches for can't be asked, either."""
    await desk.office.write(question("call claim {}"), sender=FORGER, dmarc="none")
    assert "isn't verified well enough" in text_of(await desk.office.letter())
    await desk.office.write(question("call claim {}"))
    assert "isn't verified well enough" in text_of(await desk.office.letter(2))
    assert await desk.office.host.runtime.store.list_requests(limit=5) == []
    assert desk.office.letters(LEAD) == []


async def test_a_letter_that_goes_again_is_the_same_and_is_kept_sealed(
    tmp_path: Path, agent: Path, post: MailServer
) -> None:
    async with desk_at(tmp_path, agent, post) as desk:
        post.faults.add(Fault("refuse", "smtp:RCPT", count=None))
        found = await desk.asked('call note {"words": "refused"}')
        dead = await desk.office.delivery("dead", f"card:{found.request.id}")
        name = f"letter:{dead.parts[0].nonce}"
        kept = await desk.office.ledger.file(name)
        assert kept is not None
        assert b"shop.example" not in kept
        ctx = desk.context
        assert ctx.sealer is not None
        written = email.message_from_bytes(ctx.sealer.open(kept, name))
        post.faults.repair()
        await desk.office.ledger.retry(id=dead.id, now=ctx.clock.now())
        letter = await desk.office.letter(1, LEAD)
        assert letter["Message-ID"] == written["Message-ID"]
        assert link_in(letter) == link_in(written)
        assert (await desk.get(link_in(letter))).status == 200
        token = link_in(letter).rpartition("/")[2].encode()
    assert not any(token in one.read_bytes() for one in tmp_path.iterdir() if one.is_file())


async def test_a_link_that_came_back_is_dead(desk: Desk, post: MailServer) -> None:
    post.bounce(LEAD)
    found = await desk.asked('call note {"words": "bounced"}')
    dead = await desk.office.delivery("dead", f"card:{found.request.id}")
    assert await desk.office.ledger.document(KIND, dead.parts[0].extra or "") is None
    post.back(LEAD)
    await desk.office.ledger.retry(id=dead.id, now=desk.office.host.runtime.clock.now())
    letter = await desk.office.letter(1, LEAD)
    assert letter["Message-ID"] != dead.parts[0].nonce
    link = link_in(letter)
    assert (await desk.get(link)).status == 200
    # Quoting it is as bad: now it stands in what a model reads.
    quoted = "\n".join(f"> {line}" for line in text_of(letter).splitlines())
    await desk.office.write(answer_to(letter, f"What is this?\n\n{quoted}", f"Lead <{LEAD}>"))

    async def ended() -> bool:
        return (await desk.get(link)).status == 404

    await desk.office.until(ended)
    session = desk.office.host.runtime.session(found.ref.agent, found.ref.key)
    assert len(await desk.office.host.runtime.store.list_turns(ref=found.ref, limit=5)) == 1
    await session.cancel(found.request.turn_id)
