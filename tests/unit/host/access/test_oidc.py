"""Signing in through an OpenID provider, which is a real one on this machine, and sometimes a bad one."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc.jwk import RSAKey

from gateway.host.console.access.oidc import Provider
from gateway.host.console.access.roster import changed
from gateway.host.console.access.tries import PER_ADDRESS
from tests.unit.host.access import provider as fake
from tests.unit.host.access.door import Browser, Door, Shown, door
from tests.unit.host.access.provider import CLIENT, SECRET, FakeProvider, openid


@dataclass
class Stage:
    at: Door
    openid: FakeProvider

    async def sent(self, browser: Browser, onward: str = "/console") -> str:
        """Where the browser is to come back to, with what the provider gave it."""
        shown = await browser.get(f"/console/sign-in/begin?next={onward}")
        assert shown.status == 303, shown.words
        there = shown.to
        assert there.startswith(self.openid.url)
        async with browser.http.get(there, allow_redirects=False) as response:
            assert response.status == 302
            return response.headers["Location"].removeprefix(self.at.url)

    async def sign_in(self, browser: Browser, onward: str = "/console") -> Shown:
        return await browser.get(await self.sent(browser, onward))


@asynccontextmanager
async def stage(**more: Any) -> AsyncGenerator[Stage, None]:
    async with door(sealed=False) as at, openid(at.clock) as idp:
        roles = more.pop("roles", ("leads=admin", "support=operator"))
        at.access.public_url = at.url
        at.access.provider = Provider(
            issuer=idp.url,
            client_id=CLIENT,
            client_secret=SECRET,
            roles=roles,
            clock=at.access.clock,
            **more,
        )
        yield Stage(at, idp)


async def test_who_the_provider_vouches_for_is_in_with_the_role_it_gives() -> None:
    async with stage() as on, on.at.browser() as browser:
        assert (await browser.get("/console")).status == 303
        entrance = await browser.get("/console/sign-in?next=/console/approvals")
        assert 'href="/console/sign-in/begin?next=/console/approvals"' in entrance.text
        done = await on.sign_in(browser, "/console/approvals?state=open")
        assert (done.status, done.to) == (303, "/console/approvals?state=open")
        shown = await browser.get("/console")
        assert shown.text.startswith("console:ada@shop.example operator ")
        (person,) = await on.at.access.people.all()
        assert (person.name, person.state, person.ready) == ("ada@shop.example", "active", False)


async def test_the_role_is_that_of_the_last_sign_in() -> None:
    async with stage(roles=("leads=admin", "*=viewer")) as on, on.at.browser() as browser:
        for groups, role in ((["leads", "x"], "admin"), ([], "viewer"), ("leads", "admin")):
            on.openid.person["groups"] = groups
            assert (await on.sign_in(browser)).status == 303
            assert f" {role} " in (await browser.get("/console")).text


@pytest.mark.parametrize(
    ("person", "told"),
    [
        ({"groups": ["staff"]}, "has no role here"),
        ({"groups": []}, "has no role here"),
        ({"groups": None}, "has no role here"),
        ({"groups": {"support": True}}, "has no role here"),
        ({"groups": "supporters"}, "has no role here"),
        ({"email_verified": False}, "verified"),
        ({"email_verified": "true"}, "verified"),
        ({"email_verified": None}, "verified"),
        ({"email": None}, "no name"),
        ({"email": ["ada@shop.example"]}, "no name"),
        ({"email": "ada@shop.example\nconsole:lead"}, "no name"),
        ({"email": "dev"}, "no name"),
        ({"email": "\u212aim@shop.example"}, "no name"),
    ],
)
async def test_whom_it_doesn_t_vouch_for_is_not_in(person: dict[str, Any], told: str) -> None:
    async with stage() as on, on.at.browser() as browser:
        on.openid.person |= person
        refused = await on.sign_in(browser)
        assert (refused.status, told in refused.words) == (403, True), refused.words
        assert (await browser.get("/console")).status == 303
        assert not await on.at.access.people.any()


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"nonce": ""},
        {"aud": "another-client"},
        {"aud": ["another-client"]},
        {"aud": None},
        {"aud": [CLIENT, "another-client"]},
        {"aud": [CLIENT, "another-client"], "azp": "another-client"},
        {"azp": "another-client"},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"exp": 1_700_000_000},
        {"exp": None},
        {"exp": "soon"},
        {"iat": None},
        {"iat": 99_999_999_999},
        {"nbf": 99_999_999_999},
        {"sub": None},
    ],
)
async def test_a_token_that_is_not_for_us_now_is_nothing(claims: dict[str, Any]) -> None:
    async with stage() as on, on.at.browser() as browser:
        on.openid.claims = claims
        assert (await on.sign_in(browser)).status == 403
        assert (await browser.get("/console")).status == 303
        on.openid.claims = {"aud": [CLIENT, "another-client"], "azp": CLIENT}
        assert (await on.sign_in(browser)).status == 303


@pytest.mark.parametrize(
    "sign",
    [
        fake.unsigned,
        fake.signed_with_the_public_key,
        fake.signed_by_another,
        fake.signed_by_an_unknown,
        fake.changed_after_it_was_signed,
        lambda *_: "not.a.token",
        lambda *_: "",
        lambda *_: "a" * 100_000,
    ],
)
async def test_a_token_that_it_didn_t_sign_is_nothing(
    sign: Callable[[FakeProvider, dict[str, Any]], str],
) -> None:
    async with stage() as on, on.at.browser() as browser:
        on.openid.sign = sign
        refused = await on.sign_in(browser)
        assert refused.status == 403
        assert (await browser.get("/console")).status == 303


async def test_new_keys_are_asked_for_once_when_a_token_names_one() -> None:
    async with stage() as on, on.at.browser() as browser:
        assert (await on.sign_in(browser)).status == 303
        on.at.clock.tick("5m")
        on.openid.keys.append(RSAKey.generate_key(2048))
        assert (await on.sign_in(browser)).status == 303, "signed by a key that wasn't known"
        assert on.openid.asked.count("/keys") == 2
        on.openid.sign = fake.signed_by_an_unknown
        for _ in range(3):
            assert (await on.sign_in(browser)).status == 403
        assert on.openid.asked.count("/keys") == 2, "a stranger's token makes nobody ask again"
        on.at.clock.tick("2m")
        del on.openid.keys[0]
        on.openid.sign = fake.signed_by_an_unknown
        await on.sign_in(browser)
        assert on.openid.asked.count("/keys") == 3
        assert on.openid.asked.count("/.well-known/openid-configuration") == 1


async def test_a_key_that_cant_be_used_here_stops_nobody() -> None:
    """A provider may publish keys of kinds to come beside those that it signs with."""
    async with stage() as on, on.at.browser() as browser:
        on.openid.others = [
            {"kty": "AKP", "alg": "ML-DSA-65", "kid": "later", "pub": "AAAA"},
            {"kty": "EC", "crv": "P-999", "kid": "curve", "x": "AA", "y": "AA"},
            {"kty": "EC", "crv": "P-256", "kid": "off", "x": "AA", "y": "AA"},
            {"kty": "OKP", "crv": "X25519", "kid": "short", "x": "A"},
            {"kty": "RSA", "kid": "half", "n": "AQAB"},
            {"kid": "nothing"},
            "no key",
        ]
        assert (await on.sign_in(browser)).status == 303

    async with stage() as on, on.at.browser() as browser:
        on.openid.others, on.openid.keys[:] = [{"kty": "AKP"}], []
        refused = await browser.get("/console/sign-in/begin")
        assert refused.status == 503
        assert "publishes no key that can be used here" in refused.words


async def test_made_up_codes_lock_their_address_like_other_tries() -> None:
    async with stage() as on, on.at.browser() as guest, on.at.browser() as ada:
        link = await on.sent(guest)
        code = parse_qs(urlsplit(link).query)["code"][0]
        for number in range(PER_ADDRESS):
            asked = await guest.get(link.replace(code, f"guess-{number}"))
            assert asked.status == 403, number
        locked = await guest.get(link.replace(code, "guess"))
        assert locked.status == 429
        assert int(locked.headers["Retry-After"]) > 0
        assert on.openid.asked.count("/token") == PER_ADDRESS, "the provider isn't asked any more"
        assert (await on.sign_in(ada)).status == 429, "the address, whoever comes from it"
        on.at.clock.tick("16m")
        for _ in range(PER_ADDRESS + 1):
            assert (await on.sign_in(ada)).status == 303, "who is right counts for nothing"


# -- the browser's part ------------------------------------------------------------------------------
async def test_another_browser_can_t_finish_what_this_one_began() -> None:
    """Nobody is signed in as somebody else by a link that they follow."""
    async with stage() as on, on.at.browser() as eve, on.at.browser() as ada:
        link = await on.sent(eve)
        assert (await ada.get(link)).status == 403
        await ada.get("/console/sign-in")
        assert (await ada.get(link)).status == 403
        await on.sent(ada)
        assert (await ada.get(link)).status == 403
        assert not ada.cookie
        assert (await eve.get(link)).status == 303


async def test_what_it_handed_back_is_good_once() -> None:
    async with stage() as on, on.at.browser() as browser, on.at.browser() as thief:
        link = await on.sent(browser)
        before = next(iter(browser.http.cookie_jar))
        assert (await browser.get(link)).status == 303
        assert (await browser.get(link)).status == 403
        again = await thief.get(link, Cookie=f"{before.key}={before.value}")
        assert again.status == 403, "the code was used"


async def test_the_state_can_t_be_changed() -> None:
    async with stage() as on, on.at.browser() as browser:
        link = await on.sent(browser, "/console/approvals")
        query = {name: values[0] for name, values in parse_qs(urlsplit(link).query).items()}
        word = query["state"].partition(".")[0]
        for state in (
            f"{word}./console/sessions",
            f"{word}.//evil.example",
            f"{word}",
            "",
            "x./console/approvals",
        ):
            asked = f"/console/sign-in/back?code={query['code']}&state={state}"
            assert (await browser.get(asked)).status == 403, state
        mixed = await browser.get(f"{link[: link.index('iss=')]}iss=https://evil.example")
        assert mixed.status == 403, "another provider's answer"
        assert (await browser.get(link)).to == "/console/approvals"


async def test_nobody_is_sent_elsewhere_after_it() -> None:
    async with stage() as on, on.at.browser() as browser:
        for onward in ("//evil.example", "https://evil.example", "/console/sign-out", "/message"):
            assert (await on.sign_in(browser, onward)).to == "/console"


async def test_a_refusal_is_told_in_plain_text() -> None:
    async with stage() as on, on.at.browser() as browser:
        link = await on.sent(browser)
        state = parse_qs(urlsplit(link).query)["state"][0]
        asked = f"/console/sign-in/back?state={state}&error=%3Cscript%3Ealert(1)%3C/script%3E"
        refused = await browser.get(asked)
        assert refused.status == 403
        assert "<script>alert" not in refused.text
        assert "didn't sign you in" in refused.words


# -- the provider's part -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"issuer": "https://evil.example"}, "another name"),
        ({"token_endpoint": "http://idp.example/token"}, "token_endpoint"),
        ({"authorization_endpoint": None}, "authorization_endpoint"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "authorization_endpoint"),
        ({"jwks_uri": "ftp://idp.example"}, "jwks_uri"),
        ({"jwks_uri": 5}, "jwks_uri"),
    ],
)
async def test_a_provider_that_makes_no_sense_is_not_followed(
    document: dict[str, Any], told: str
) -> None:
    async with stage() as on, on.at.browser() as browser:
        on.openid.document = document
        shown = await browser.get("/console/sign-in/begin")
        if shown.status == 303:
            async with browser.http.get(shown.to, allow_redirects=False) as response:
                shown = await browser.get(response.headers["Location"].removeprefix(on.at.url))
        assert (shown.status, told in shown.words) == (503, True), shown.words


async def test_a_provider_that_is_away_is_named(caplog: pytest.LogCaptureFixture) -> None:
    async with stage() as on, on.at.browser() as browser:
        assert on.at.access.provider is not None
        on.at.access.provider.issuer = "http://127.0.0.1:9"
        shown = await browser.get("/console/sign-in/begin")
        assert (shown.status, "127.0.0.1:9" in shown.words) == (503, True)
        assert (await browser.get("/console/sign-in")).status == 200


async def test_whom_the_operator_disabled_stays_out() -> None:
    async with stage() as on, on.at.browser() as browser:
        await on.sign_in(browser)
        await changed(on.at.access, "ada@shop.example", "disable", None)
        assert (await browser.get("/console")).status == 303, "and is out at once"
        refused = await on.sign_in(browser)
        assert (refused.status, "disabled" in refused.words) == (403, True)


async def test_a_password_opens_nothing_where_a_provider_does() -> None:
    async with door() as at, openid(at.clock) as idp, at.browser() as browser, at.browser() as new:
        await at.user("ada", "admin")
        await at.sign_in(browser, "ada")
        shown = await new.get("/console/sign-in")
        at.access.public_url = at.url
        at.access.provider = Provider(
            issuer=idp.url,
            client_id=CLIENT,
            client_secret=SECRET,
            roles=("*=viewer",),
            clock=at.access.clock,
        )
        assert (await browser.get("/console")).status == 303
        form = {"csrf": shown.field("csrf"), "name": "ada", "password": "four words will do"}
        refused = await new.post("/console/sign-in", form | {"code": at.code("ada")})
        assert (refused.status, new.cookie) == (403, "")


async def test_no_log_holds_a_secret_of_the_flow(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with stage() as on, on.at.browser() as browser:
        link = await on.sent(browser)
        code = parse_qs(urlsplit(link).query)["code"][0]
        before = next(iter(browser.http.cookie_jar)).value
        await browser.get(link)
        on.openid.claims = {"nonce": "another"}
        await on.sign_in(browser)
        said = "\n".join(caplog.messages)
        assert "ada@shop.example signed in by oidc" in said
        assert "sign-in through 127.0.0.1" in said
        for secret in (SECRET, code, before, browser.cookie):
            assert secret
            assert secret not in said
