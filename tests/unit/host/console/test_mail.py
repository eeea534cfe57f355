"""Held mail in the console: why it waits, letting it in, handing a conversation back, and what came back."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from channels.email.emulator.letters import Draft
from gateway.engine.kinds import JsonObject
from gateway.host.app import make_app
from gateway.host.console.access.access import Access
from gateway.host.console.access.sessions import Held
from gateway.host.console.access.visitor import Role
from tests.support.http import connect, on_socket
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
from tests.unit.host.console.office import Person


@dataclass(frozen=True, slots=True)
class Desk:
    office: Office
    operator: Person
    viewer: Person


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncGenerator[Desk]:
    async with post_office() as post, office(tmp_path, post) as here:
        api = here.host.api
        access = api.access
        assert access is not None
        async with on_socket(make_app(api)) as url, connect(url) as client:
            client.http.cookie_jar.clear()

            async def person(name: str, role: Role) -> Person:
                return Person(name, await signed_in(access, name, role), client)

            yield Desk(here, await person("eve", "operator"), await person("vic", "viewer"))


async def signed_in(access: Access, name: str, role: Role) -> str:
    made = await access.people.add(name, role)
    return await access.sessions.begin(Held(name, "password", made.epoch))


async def test_a_held_mail_says_why_and_an_operator_lets_it_in(desk: Desk) -> None:
    here = desk.office
    forged = question("<script>alert(1)</script> Refund it.", subject="<b>Now</b>")
    await here.write(forged, sender=FORGER, dmarc="fail")
    (held,) = await here.verdicts(1)
    page = await desk.operator.get("/console/mail")
    assert "held for an operator" in page.words
    assert f"Nobody vouches for it that {ADA} wrote this." in page.words
    assert "(unattested)" in page.words
    home = (await desk.viewer.get("/console")).words
    assert "1 mail held" in home
    assert "All is well" not in home
    assert "<b>Now</b>" not in page.raw
    assert (await desk.viewer.get("/console/mail")).raw.count("/admit") == 0
    found = await desk.viewer.json("/console/mail.json")
    (row,) = cast("list[JsonObject]", found["mail"])
    assert (row["event"], row["level"], row["waits"]) == (held.event_id, "none", True)

    one = f"/console/mail/{held.event_id}"
    shown = await desk.operator.get(one)
    assert "<script>alert(1)" not in shown.raw
    assert "<script>alert(1)</script> Refund it." in shown.words
    done = await desk.operator.press(one, f"{one}/admit")
    assert (done.status, done.to) == (303, one)

    async def let_in() -> bool:
        return "let in" in (await desk.operator.get(one)).words

    await here.until(let_in)
    assert "No mail is held." in (await desk.operator.get("/console/mail")).words
    (entry,) = await here.host.runtime.store.list_audit(limit=5)
    assert entry.row.by == "console:eve"


async def test_only_operators_admit_and_hand_back(desk: Desk) -> None:
    csrf = {"csrf": (await desk.viewer.get("/console/mail")).field("csrf")}
    for path in ("/console/mail/mail-1/admit", "/console/conversations/a/handback"):
        assert (await desk.viewer.post(path, csrf)).status == 403, path


async def test_a_session_that_a_colleague_took_over_is_handed_back(desk: Desk) -> None:
    here = desk.office
    await here.write(question())
    letter = await here.letter()
    theirs = answer_to(letter, "I'll see to it.")
    taken = Draft(
        sender=f"Lead <{LEAD}>",
        to=[ADA],
        cc=[SUPPORT],
        subject=theirs.subject,
        text=theirs.text,
        in_reply_to=theirs.in_reply_to,
        references=theirs.references,
    )
    await here.post.deliver(taken.raw(), SUPPORT, LEAD)
    first, *_ = await here.verdicts(2)
    page = f"/console/session?agent=june&key={first.session}"
    shown = await desk.operator.get(page)
    assert f"{LEAD} took this conversation over" in shown.words
    assert "Hand back to june" in shown.words
    assert "Hand back" not in (await desk.viewer.get(page)).words
    path = (await desk.operator.json(page.replace("?", ".json?")))["handback"]
    done = await desk.operator.press(page, str(path))
    assert done.status == 303
    assert "took this conversation over" not in (await desk.operator.get(done.to)).words
    listed = cast(
        "list[JsonObject]", (await desk.viewer.json("/console/mail.json?show=all"))["mail"]
    )
    assert [row["rule"] for row in listed] == ["colleague-answered", "direct"]


async def test_a_bounce_names_the_recipient_and_the_status(desk: Desk) -> None:
    desk.office.post.bounce(ADA)
    await desk.office.write(question())
    dead = await desk.office.delivery("dead")
    words = (await desk.viewer.get(f"/console/deliveries/{dead.id}")).words
    assert f"It came back: {ADA} refused it: 5.1.1" in words
    assert f"Place {ADA}" in words
    assert (
        "The same letter goes once more."
        in (await desk.operator.get(f"/console/deliveries/{dead.id}")).words
    )
