"""Signing in as a named user: who is let in, who isn't, and that nobody learns why not."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from typing_extensions import override

from gateway.host.console.access.factor import Passwords
from gateway.host.console.access.roster import changed
from tests.unit.host.access.door import PASSWORD, door, together


async def test_a_password_and_a_code_open_the_pages() -> None:
    async with door() as at, at.browser() as browser:
        await at.user("ada", "viewer")
        done = await at.sign_in(browser, "ada")
        assert (done.status, done.to) == (303, "/console")
        assert (await browser.get("/console")).text.startswith("console:ada viewer ")


@pytest.mark.parametrize(
    "over",
    [
        {"password": "not the password"},
        {"password": ""},
        {"password": PASSWORD + "x"},
        {"code": "000000"},
        {"code": ""},
        {"name": "bob"},
        {"name": ""},
        {"name": "ada\x01"},
        {"name": "../ada"},
        {"name": "a" * 5000},
    ],
)
async def test_whatever_is_wrong_the_answer_is_the_same(over: dict[str, str]) -> None:
    async with door() as at, at.browser() as browser:
        await at.user("ada")
        refused = await at.sign_in(browser, "ada", **over)
        assert refused.status == 403
        assert "That didn't match" in refused.words
        assert (await browser.get("/console")).status == 303


async def test_an_unknown_user_takes_the_same_work(caplog: pytest.LogCaptureFixture) -> None:
    """The time is in the hash, so what counts is that it is computed, and with the same parameters."""

    class Counted(Passwords):
        seen: list[str | None]

        @override
        def _matches(self, kept: str | None, password: str) -> bool:
            self.seen.append(kept or self._nobody)
            return super()._matches(kept, password)

    passwords = Counted(rounds=1, kibibytes=64)
    passwords.seen = []
    async with door(passwords=passwords) as at, at.browser() as browser:
        await at.user("ada")
        await at.user("eve")
        await changed(at.access, "eve", "disable", None)
        await at.invite("new")
        for name in ("ada", "nobody", "eve", "new"):
            assert (await at.sign_in(browser, name, password="wrong")).status == 403
        assert len(passwords.seen) == 4
        assert len({str(kept).rsplit("$", 2)[0] for kept in passwords.seen}) == 1
    said = "\n".join(caplog.messages)
    assert "sign-in of an unknown user failed" in said
    assert "nobody" not in said


async def test_a_code_is_good_once_and_not_for_long() -> None:
    async with door() as at, at.browser() as one, at.browser() as two:
        await at.user("ada")
        code = at.code("ada")
        assert (await at.sign_in(one, "ada", code=code)).status == 303
        assert (await at.sign_in(two, "ada", code=code)).status == 403, "somebody looked on"
        at.clock.tick(30)
        old = at.code("ada")
        at.clock.tick(90)
        assert (await at.sign_in(two, "ada", code=old)).status == 403
        assert (await at.sign_in(two, "ada", code=f"{at.code('ada')[:3]} {at.code('ada')[3:]}")).to


async def test_two_with_one_code_at_the_same_moment_are_one(where: str) -> None:
    async with door(where) as at, at.browser() as one, at.browser() as two:
        await at.user("ada")
        code = at.code("ada")
        found = await together(at.sign_in(one, "ada", code=code), at.sign_in(two, "ada", code=code))
        assert sorted(found) == [303, 403]


async def test_a_recovery_code_replaces_the_phone_once(
    where: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with door(where) as at, at.browser() as browser:
        await at.user("ada")
        spoken = at.codes["ada"][3].upper().replace("-", " ")
        assert (await at.sign_in(browser, "ada", code=spoken)).status == 303
        async with at.browser() as other:
            assert (await at.sign_in(other, "ada", code=spoken)).status == 403
            assert (await at.sign_in(other, "ada", code=at.codes["ada"][4])).status == 303
        assert (await at.access.people.all())[0].recovery.__len__() == 8
    assert "used a recovery code: 9 left" in "\n".join(caplog.messages)


# -- brute force -----------------------------------------------------------------------------------
async def test_five_failures_lock_the_user_for_a_quarter_of_an_hour(
    where: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with door(where) as at, at.browser() as browser, at.browser() as inside:
        await at.user("ada")
        await at.sign_in(inside, "ada")
        at.clock.tick(60)
        for _ in range(5):
            assert (await at.sign_in(browser, "ada", password="guess")).status == 403
        locked = await at.sign_in(browser, "ada")
        assert locked.status == 429, "the right password doesn't help now"
        assert "wait 15 minutes" in locked.words
        assert 0 < int(locked.headers["Retry-After"]) <= 900
        assert (await inside.get("/console")).status == 200, "who is in stays in"
        at.clock.tick("14m")
        assert (await at.sign_in(browser, "ada")).status == 429, "asking doesn't prolong it"
        at.clock.tick("61s")
        assert (await at.sign_in(browser, "ada")).status == 303
    assert "sign-in of user ada is locked" in "\n".join(caplog.messages)


async def test_a_name_that_nobody_has_is_locked_alike() -> None:
    async with door() as at, at.browser() as browser:
        await at.user("ada")
        for _ in range(5):
            assert (await at.sign_in(browser, "nobody")).status == 403
        assert (await at.sign_in(browser, "nobody")).status == 429
        assert (await at.sign_in(browser, "ada")).status == 303


async def test_twenty_failures_lock_an_address_whatever_names_it_tries() -> None:
    async with door(proxies=("127.0.0.0/8",)) as at, at.browser() as browser:
        await at.user("ada")
        shown = await browser.get("/console/sign-in")

        async def guess(name: str, address: str, password: str) -> int:
            form = {"csrf": shown.field("csrf"), "name": name, "password": password}
            form["code"] = at.code("ada")
            answer = await browser.post("/console/sign-in", form, X_Forwarded_For=address)
            return answer.status

        for n in range(20):
            # What stands further left is the caller's own invention.
            assert await guess(f"user{n}", f"192.0.2.{n}, 198.51.100.7", "guess") == 403
        assert await guess("ada", "198.51.100.7", PASSWORD) == 429
        assert await guess("ada", "198.51.100.8", PASSWORD) == 303


@pytest.mark.parametrize(
    ("told", "address"),
    [
        ("192.0.2.1, 198.51.100.7", "198.51.100.7"),
        ("192.0.2.1, 198.51.100.7:4711", "198.51.100.7"),
        ("192.0.2.1, [2001:db8::7]:4711", "2001:db8::/64"),
        ("192.0.2.1, 2001:db8::7", "2001:db8::/64"),
        ("192.0.2.1, 198.51.100.7, 127.0.0.2", "198.51.100.7"),
        ("192.0.2.1, unknown", "127.0.0.1"),
        ("192.0.2.1, unknown, 127.0.0.2", "127.0.0.2"),
        ("", "127.0.0.1"),
    ],
)
async def test_nobody_chooses_their_address(
    told: str, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Beyond what our own proxy can't tell, everything is the caller's invention."""
    async with door(proxies=("127.0.0.0/8",)) as at, at.browser() as browser:
        await at.user("ada")
        shown = await browser.get("/console/sign-in")
        form = {"csrf": shown.field("csrf"), "name": "ada", "password": "x", "code": "1"}
        await browser.post("/console/sign-in", form, X_Forwarded_For=told)
    assert f"sign-in of user ada failed (from {address})" in caplog.messages


async def test_a_right_sign_in_gives_an_address_no_new_tries() -> None:
    """Somebody with an account of their own guesses no more of others' passwords for it."""
    async with door() as at, at.browser() as browser:
        await at.user("eve")
        for n in range(20):
            if n in {4, 9, 14}:
                assert (await at.sign_in(browser, "eve")).status == 303
                at.clock.tick(30)
                browser.http.cookie_jar.clear()
            assert (await at.sign_in(browser, f"user{n}")).status == 403
        assert (await at.sign_in(browser, "eve")).status == 429


async def test_a_hundred_at_once_are_counted_one_by_one() -> None:
    async with door() as at, at.browser() as browser:
        await at.user("ada")
        shown = await browser.get("/console/sign-in")
        form = {"csrf": shown.field("csrf"), "name": "ada", "password": "guess", "code": "000000"}
        statuses = await together(*(browser.post("/console/sign-in", form) for _ in range(100)))
        assert statuses.count(403) == 5
        assert statuses.count(429) == 95


async def test_failures_count_over_restarts_and_hosts(where: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/june.db" if where == "memory://" else where
    async with door(store) as at, at.browser() as browser:
        await at.user("ada")
        for _ in range(5):
            await at.sign_in(browser, "ada", password="guess")
        secrets = at.secrets
    async with door(store) as at, at.browser() as browser:
        at.secrets = secrets
        assert (await at.sign_in(browser, "ada")).status == 429


async def test_no_log_holds_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with door() as at, at.browser() as browser:
        await at.user("ada")
        code = at.code("ada")
        await at.sign_in(browser, "ada", name=PASSWORD)
        await at.sign_in(browser, "ada", password="my other password")
        await at.sign_in(browser, "ada", code=code)
        said = "\n".join(caplog.messages)
        assert "ada signed in by password" in said
        held = (PASSWORD, "my other password", code, at.secrets["ada"], browser.cookie)
        for secret in (*held, *at.codes["ada"]):
            assert secret
            assert secret not in said
