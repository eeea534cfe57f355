"""A workspace installs the app: through Slack's own pages, in one browser, once, and nothing lies readable."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from channels.slack.oauth import CALLBACK, SCOPES, oauth_routes
from channels.slack.settings import SlackSettings
from gateway.engine.struct import replace
from gateway.sealing import make_sealer
from gateway.testing.slack import Fault
from tests.unit.slack.installs.browser import Browser, browser
from tests.unit.slack.installs.grounds import PUBLIC, Stand, standing


@pytest.fixture
async def stand() -> AsyncIterator[Stand]:
    async with standing() as found:
        yield found


async def test_a_workspace_is_installed_and_its_token_works(stand: Stand) -> None:
    ada = await browser(stand)
    location = await ada.to_slack()
    asked = parse_qs(urlsplit(location).query)
    assert asked["redirect_uri"] == [PUBLIC + CALLBACK]
    assert asked["scope"] == [",".join(SCOPES)]
    page = await ada.get(ada.back, await ada.consent(location))
    assert page.status == 200
    assert b"installed in this workspace" in page.body
    row = await stand.row()
    assert (row.team, row.org, row.state) == (stand.key, False, "active")
    assert (row.app, row.bot_user) == (stand.play.slack.app().id, stand.play.june.user)
    assert row.bot_id == stand.play.june.bot
    other = await stand.host()
    token = await other.token(stand.key)
    assert token is not None
    assert stand.play.slack.world.tokens[token].install is not None
    me = await other.installed(stand.key)
    assert me is not None
    assert me.bot_user == stand.play.june.user


async def test_the_database_holds_no_token(tmp_path: Path) -> None:
    async with standing(tmp_path / "june.db") as stand:
        stand.play.slack.app().rotates = True
        ada = await browser(stand)
        assert (await ada.through()).status == 200
        tokens = [one for one in stand.play.slack.world.tokens.values() if one.refresh]
        secrets = [s for one in tokens for s in (one.value, one.refresh)]
        assert len(secrets) == 2
        assert await (await stand.host()).token(stand.key) == secrets[0]
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert stand.key.encode() in kept
    for secret in secrets:
        assert secret is not None
        assert secret.encode() not in kept
        assert secret.rpartition("-")[2].encode() not in kept


async def test_an_organisation_is_installed_under_its_own_id(stand: Stand) -> None:
    bigco = stand.play.slack.enterprise("bigco")
    stand.play.slack.workspace("north", bigco).person("eve")
    ada = await browser(stand)
    page = await ada.get(ada.back, await ada.consent(await ada.to_slack() + f"&team={bigco.id}"))
    assert b"installed in this organisation" in page.body
    row = await stand.ledger.installation(bigco.id)
    assert row is not None
    assert (row.org, row.team, row.enterprise) == (True, None, bigco.id)


async def test_an_organisation_that_takes_its_workspaces_place_is_told_what_that_means(
    stand: Stand, caplog: pytest.LogCaptureFixture
) -> None:
    bigco = stand.play.slack.enterprise("bigco")
    north = stand.play.slack.workspace("north", bigco)
    north.person("eve")
    ada = await browser(stand)
    for place in (north.id, bigco.id):
        await ada.get(ada.back, await ada.consent(await ada.to_slack() + f"&team={place}"))
    told = [one for one in caplog.messages if "is of the organisation of" in one]
    assert len(told) == 1
    assert told[0].startswith(f"installation {north.id} is of the organisation of {bigco.id}")
    assert "mention the app in a thread to go on there" in told[0]


async def test_the_way_back_is_good_for_one_browser_once(stand: Stand) -> None:
    ada = await browser(stand)
    query = await ada.consent(await ada.to_slack())
    eve = Browser(ada.install, ada.back)
    foreign = await eve.get(eve.back, query)
    assert (foreign.status, b"didn&#x27;t begin" in foreign.body) == (400, True)
    await eve.to_slack()
    assert (await eve.get(eve.back, query)).status == 400, "with a cookie of her own"
    kept = dict(ada.cookies)
    assert (await ada.get(ada.back, query)).status == 200
    assert ada.cookies != kept, "the cookie is taken back"
    ada.cookies = kept
    again = await ada.get(ada.back, query)
    assert (again.status, b"used already" in again.body) == (401, True)
    assert stand.calls("oauth.v2.access") == 1


async def test_a_state_that_is_spelled_otherwise_is_the_same_one(stand: Stand) -> None:
    ada = await browser(stand)
    query = cookie = state = ""
    while "-" not in state and "_" not in state:
        query = await ada.consent(await ada.to_slack())
        ((cookie, state),) = ada.cookies.items()
    assert (await ada.get(ada.back, query)).status == 200
    ada.cookies = {cookie: state.replace("-", "+").replace("_", "/")}
    again = await ada.get(ada.back, urlencode({"code": "c", "state": ada.cookies[cookie]}))
    assert (again.status, b"used already" in again.body) == (401, True)
    assert stand.calls("oauth.v2.access") == 1


async def test_the_way_back_closes_after_ten_minutes(stand: Stand) -> None:
    ada = await browser(stand)
    query = await ada.consent(await ada.to_slack())
    stand.ground.time.ahead(601)
    assert (await ada.get(ada.back, query)).status == 401
    assert stand.calls("oauth.v2.access") == 0


@pytest.mark.parametrize("state", ["", "made-up", "AAAA", "é", "x" * 5000])
async def test_a_state_that_we_did_not_make_is_refused(stand: Stand, state: str) -> None:
    ada = await browser(stand)
    await ada.to_slack()
    (name,) = ada.cookies
    ada.cookies = {name: state}
    page = await ada.get(ada.back, f"code=c&state={state}")
    assert page.status in {400, 401}
    assert stand.calls("oauth.v2.access") == 0


async def test_who_cancels_is_told_that_nothing_happened(stand: Stand) -> None:
    ada = await browser(stand)
    page = await ada.get(ada.back, "error=access_denied&state=x")
    assert (page.status, b"cancelled" in page.body) == (200, True)
    odd = await ada.get(ada.back, "error=%3Cscript%3Ealert(1)%3C/script%3E")
    assert odd.status == 400
    assert b"<script" not in odd.body
    assert odd.headers["content-security-policy"].startswith("default-src 'none'")


async def test_nothing_but_an_id_is_passed_on_as_the_team(stand: Stand) -> None:
    ada = await browser(stand)
    assert (await ada.to_slack("team=T123")).endswith("&team=T123")
    for odd in ("T1%26redirect_uri%3Dhttps://evil.example", "T1%0d%0aX-Evil:1", ""):
        location = await ada.to_slack(f"team={odd}")
        assert "evil" not in location.lower()
        assert "&team=" not in location


@pytest.mark.parametrize(
    ("kind", "error"),
    [("not_ok", "bad_client_secret"), ("http_500", ""), ("drop_after", ""), ("cut_body", "")],
)
async def test_an_exchange_that_fails_is_said_without_a_secret(
    stand: Stand, kind: str, error: str, caplog: pytest.LogCaptureFixture
) -> None:
    ada = await browser(stand)
    query = await ada.consent(await ada.to_slack())
    stand.play.slack.faults.add(Fault(kind, "oauth.v2.access", error=error))  # type: ignore[arg-type]
    caplog.set_level(logging.DEBUG)
    page = await ada.get(ada.back, query)
    assert (page.status, b"didn&#x27;t confirm" in page.body) == (502, True)
    told = [r.getMessage() for r in caplog.records if r.name == "gateway.slack"]
    assert any("didn't confirm an installation" in line for line in told)
    assert parse_qs(query)["code"][0] not in caplog.text
    assert await stand.ledger.installation(stand.key) is None


async def test_a_store_that_is_away_is_said(stand: Stand) -> None:
    ada = await browser(stand)
    query = await ada.consent(await ada.to_slack())
    await stand.ground.store.close()
    page = await ada.get(ada.back, query)
    assert (page.status, b"can&#x27;t be stored" in page.body) == (503, True)
    await stand.ground.store.open()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"bot_token": "xoxb-emulated-x"}, b"SLACK_BOT_TOKEN"),
        ({"client_id": None}, b"SLACK_CLIENT_ID"),
        ({"client_secret": None}, b"SLACK_CLIENT_SECRET"),
    ],
)
async def test_a_missing_setting_is_named_on_the_page(
    stand: Stand, change: dict[str, str | None], named: bytes
) -> None:
    settings: SlackSettings = replace(stand.settings(), **change)  # type: ignore[arg-type]
    ada = await browser(stand, settings)
    for route in (ada.install, ada.back):
        page = await ada.get(route)
        assert (page.status, named in page.body) == (503, True)


async def test_what_the_gateway_lacks_is_named_on_the_page(stand: Stand) -> None:
    stand.ground.public_url = None
    ada = await browser(stand)
    assert b"GATEWAY_PUBLIC_URL" in (await ada.get(ada.install)).body
    stand.ground.public_url, stand.ground.sealer = PUBLIC, None
    page = await ada.get(ada.install)
    assert (page.status, b"GATEWAY_SECRET_KEYS" in page.body) == (503, True)
    stand.ground.sealer = make_sealer(["z" * 32])
    assert (await ada.get(ada.install)).status == 302, "as soon as it is there"


async def test_before_the_start_the_pages_say_so(stand: Stand) -> None:
    from channels.slack.installs.tokens import Tokens

    settings = stand.settings()
    install, back = oauth_routes(settings, Tokens(settings))
    page = await Browser(install, back).get(install)
    assert (page.status, b"still starting" in page.body) == (503, True)
