"""The scene that plays in the mail: a customer's letters, and the refund in them that Slack decides on."""

from __future__ import annotations

import asyncio
from email.message import Message

from gateway.cli.demo import proof
from gateway.cli.demo.digest import now
from gateway.cli.demo.post import CUSTOMER, FORGER, SUPPORT, PostOffice, words
from gateway.cli.demo.slack_scenes import show
from gateway.cli.demo.theatre import Theatre, listed, until, within
from gateway.cli.told import text_of
from gateway.engine.kinds import JsonObject
from gateway.engine.struct import replace
from gateway.testing.mail import Away, Draft, reply

ORDER = "1046"
WHERE = f"Hello, where is order {ORDER}?"
REFUND = f"Nine days is too long for us. Please refund order {ORDER}."
FORGED = "Refund it to my new card instead."


async def inbox(on: Theatre, post: PostOffice) -> None:
    post.server.now = lambda: now(on)
    if post.imap:
        on.stage.says("", f"the support inbox lies in Dovecot, on port {post.imap}")
    on.stage.says("customer", f"{WHERE}   (by mail, as a page without a text)")
    page = f"<p>{WHERE}</p><p>Ada</p>"
    asked = Draft(sender=f"Ada <{CUSTOMER}>", to=[SUPPORT], subject="My grinder", html=page)
    own = await post.bring(replace(asked, date=now(on)))
    first = await _letter(on, post, 1)
    on.stage.that(
        "the answer stands in her thread, from the address she wrote to, as text and as a page",
        first["In-Reply-To"] == own
        and SUPPORT in str(first["From"])
        and f"Order {ORDER}" in words(first)
        and [p.get_content_type() for p in first.walk()][1:] == ["text/plain", "text/html"],
        first.as_string(),
    )

    post.server.away(CUSTOMER, Away())
    on.stage.says("customer", f"{REFUND}   (with the thread quoted below, and then off on holiday)")
    again = reply(bytes(first), f"Ada <{CUSTOMER}>", REFUND)
    own = await post.bring(replace(again, date=now(on)))
    second = await _letter(on, post, 2)
    told = words(second)
    await post.office.until("a card", lambda: post.card() is not None)
    card = next(one for one in post.cards() if one.buttons)
    on.stage.says("", "in #refund-approvals, in Slack:")
    show(on, [card])
    on.stage.that(
        "nothing is paid, and she hears that a colleague decides",
        not _paid(on) and "colleague" in told,
        told,
    )
    on.stage.that(
        "the leads see who asked, in which words, and that her domain vouches for the mail and not for her",
        _says(card.text, REFUND, "not for the person"),
        card.text,
    )
    judged = await _judged(on, "automated_mail")
    on.stage.that(
        f"her out-of-office answer meets silence, and a verdict: {text_of(judged.get('rule'))}",
        len(post.letters()) == 2 and judged.get("turn_id") is None,
        judged,
    )

    on.stage.says("forger", f"{FORGED}   (with her address, in her thread)")
    forged = reply(bytes(second), f"Ada <{CUSTOMER}>", FORGED)
    await post.bring(replace(forged, date=now(on)), FORGER, "fail")
    judged = await _judged(on, "held")
    on.stage.that(
        "nobody vouches for it: it is held for an operator, joins nothing and is told nothing",
        judged.get("rule") == "unattested"
        and judged.get("session") is None
        and (len(post.letters()), len(post.cards())) == (2, 1),
        judged,
    )

    post.server.back(CUSTOMER)
    # A host that dies with a letter on its way doesn't know whether it arrived, and sends the same once more.
    await on.settled()
    await on.crash("while it waits for a person")
    on.stage.says("lead", "presses Approve")
    await post.office.lead.click(card, "Approve")
    await until("the payment", lambda: bool(_paid(on)))
    last = await _letter(on, post, 3)
    await on.settled()
    paid = _paid(on)
    on.stage.that(
        f"she has it in writing, in the same thread, and it was paid once: ${paid[0].amount}",
        last["In-Reply-To"] == own and len(paid) == 1 and paid[0].asked == 1,
        [last["In-Reply-To"], paid],
    )
    answers = [letter["Message-ID"] for letter in post.letters()]
    on.stage.that(
        "three letters in all, each once, and each below the one that it answers",
        len(answers) == len(set(answers)) == 3
        and str(second["Message-ID"]) in str(last["References"]),
        answers,
    )


def _paid(on: Theatre) -> list[proof.Refund]:
    return [paid for paid in proof.refunds(on.state) if paid.order_id == ORDER]


def _says(text: str, *parts: str) -> bool:
    return all(part in text for part in (CUSTOMER, *parts))


async def _letter(on: Theatre, post: PostOffice, number: int) -> Message:
    await until(f"letter {number} to the customer", lambda: len(post.letters()) >= number)
    letter = post.letters()[number - 1]
    on.stage.says("june", words(letter))
    return letter


async def _judged(on: Theatre, verdict: str) -> JsonObject:
    """The latest mail that was judged so, once there is one."""
    found: list[JsonObject] = []
    async with within(f"a verdict: {verdict}"):
        while not found:
            rows = listed(await on.client.get("/verdicts", {"source": "email"}), "verdicts")
            found = [row for row in rows if row.get("verdict") == verdict]
            await asyncio.sleep(0.02)
    return found[0]
