"""From an invitation to a user: a password, a second factor, recovery codes."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from gateway.engine.errors import ConfigError
from gateway.host.console.access.people import KIND, person_json
from gateway.host.console.access.roster import changed
from tests.unit.host.access.door import PASSWORD, door, together


async def test_an_invitation_ends_signed_in_with_codes_that_are_shown_once() -> None:
    async with door() as at, at.browser() as browser:
        link = await at.invite("ada", "admin")
        done = await at.set_up(browser, link, "ada")
        assert done.status == 200
        assert len(set(at.codes["ada"])) == 10
        assert (await browser.get("/console")).text.startswith("console:ada admin ")
        person = await at.access.people.find("ada")
        assert person is not None
        assert person_json(person)["state"] == "active"


async def test_the_store_holds_nothing_that_opens_anything() -> None:
    async with door() as at, at.browser() as browser:
        link = await at.invite("ada")
        await at.set_up(browser, link, "ada")
        rows = [
            (row.key, row.body)
            for kind in (KIND, "once", "web_session", "sign_in_tries")
            for row in await at.access.ledger.documents(kind)
        ]
        held = json.dumps(rows)
        for secret in (PASSWORD, at.secrets["ada"], browser.cookie, *at.codes["ada"]):
            assert secret
            assert secret not in held
            assert secret.replace("-", "") not in held
        assert link.partition("=")[2] not in held
        user = cast("dict[str, Any]", rows[0][1])
        assert user["password"].startswith("$argon2id$")


async def test_a_link_is_used_by_the_first_who_finishes() -> None:
    async with door() as at, at.browser() as browser, at.browser() as other:
        link = await at.invite("ada")
        seen = await other.get(link)
        assert (await at.set_up(browser, link, "ada")).status == 200
        assert (await other.get(link)).status == 403
        late = await other.post("/console/set-up", at.set_up_form(seen, "ada"))
        assert late.status == 403
        assert "gateway users reset" in late.words


async def test_two_who_finish_at_once_are_one_user(where: str) -> None:
    async with door(where) as at, at.browser() as one, at.browser() as two:
        link = await at.invite("ada")
        seen = await one.get(link), await two.get(link)
        forms: list[dict[str, str]] = []
        for shown in seen:
            at.secrets["ada"] = shown.text.split("Key: <code>")[1].split("<")[0].replace(" ", "")
            forms.append(at.set_up_form(shown, "ada"))
        found = await together(
            one.post("/console/set-up", forms[0]), two.post("/console/set-up", forms[1])
        )
        assert sorted(found) == [200, 403]


@pytest.mark.parametrize(
    ("over", "told"),
    [
        ({"password": "short", "again": "short"}, "at least 12 characters"),
        ({"password": "aaaaaaaaaaaaaaaa", "again": "aaaaaaaaaaaaaaaa"}, "repeats"),
        ({"password": "adalovelace1", "again": "adalovelace1"}, "little more than the name"),
        ({"again": "another password"}, "differ"),
        ({"code": "000000"}, "doesn't fit"),
        ({"code": "٠٠٠٠٠٠"}, "doesn't fit"),
    ],
)
async def test_a_slip_of_the_pen_costs_nothing(over: dict[str, str], told: str) -> None:
    async with door() as at, at.browser() as browser:
        link = await at.invite("ada")
        at.secrets["ada"] = "A" * 32
        shown = await browser.get(link)
        at.secrets["ada"] = shown.text.split("Key: <code>")[1].split("<")[0].replace(" ", "")
        wrong = await browser.post("/console/set-up", at.set_up_form(shown, "ada", **over))
        assert (wrong.status, told in wrong.words) == (422, True)
        again = await browser.post("/console/set-up", at.set_up_form(wrong, "ada"))
        assert again.status == 200, "the same link and the same picture, once more"


async def test_a_link_of_before_a_reset_or_of_yesterday_is_void() -> None:
    async with door() as at, at.browser() as browser:
        first = await at.invite("ada")
        second = str((await changed(at.access, "ada", "reset", None))["link"])
        assert (await browser.get(first)).status == 403
        at.clock.tick("25h")
        assert (await browser.get(second)).status == 403
        await changed(at.access, "ada", "reset", None)
        third = str((await changed(at.access, "ada", "reset", None))["link"])
        await changed(at.access, "ada", "disable", None)
        assert (await browser.get(third)).status == 403


async def test_the_picture_s_secret_is_that_of_this_invitation() -> None:
    """A sealed secret that was made for somebody else opens nothing here."""
    async with door() as at, at.browser() as browser:
        bob = await browser.get(await at.invite("bob"))
        ada = await browser.get(await at.invite("ada"))
        at.secrets["ada"] = "A" * 32
        for sealed in (bob.field("secret"), "zz", "00" * 40, ""):
            form = at.set_up_form(ada, "ada", secret=sealed)
            assert (await browser.post("/console/set-up", form)).status == 400


async def test_without_a_key_nobody_is_invited() -> None:
    async with door(sealed=False) as at, at.browser() as browser:
        with pytest.raises(ConfigError, match="GATEWAY_SECRET_KEYS"):
            await at.invite("ada")
        shown = await browser.get("/console/sign-in")
        assert shown.status == 503
        assert "GATEWAY_SECRET_KEYS" in shown.words
        assert "<form" not in shown.text
        assert (await browser.get("/console/set-up?once=made-up")).status == 403


async def test_without_users_the_page_says_how_and_shows_nothing() -> None:
    async with door() as at, at.browser() as browser:
        assert (await browser.get("/console")).status == 303
        shown = await browser.get("/console/sign-in")
        assert shown.status == 503
        assert "gateway users add NAME --role admin" in shown.words
        assert "<form" not in shown.text
        assert (await browser.get("/console/home.json")).status == 401
