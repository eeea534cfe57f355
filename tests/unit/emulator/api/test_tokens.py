"""Which token opens what, until when, and how a new one is got."""

from __future__ import annotations

from typing import Any, cast

import pytest
from slack_sdk.errors import SlackApiError

from tests.unit.emulator.stage import Listener, Play, http

HOURS = 3600.0

# The SDK hands an app's own credentials to aiohttp in a way that aiohttp is about to drop.
pytestmark = pytest.mark.filterwarnings("ignore:BasicAuth is deprecated:DeprecationWarning")


async def test_each_bad_token_has_its_word(play: Play) -> None:
    assert await play.refused("auth.test", token="") == "not_authed"
    assert await play.refused("auth.test", token="xoxb-made-up") == "invalid_auth"
    assert await play.refused("auth.test", token=play.app.app_token) == "not_allowed_token_type"
    assert await play.refused("apps.connections.open") == "not_allowed_token_type"
    assert (await play.web.auth_revoke(test=True)).data == {"ok": True, "revoked": False}
    await play.web.auth_revoke()
    assert await play.refused("auth.test") == "token_revoked"


async def test_a_scope_that_is_missing_is_named(play: Play) -> None:
    play.acme.install(scopes=["users:read"])
    token = play.june.token
    refused = await play.refusal("chat.postMessage", token=token, channel=play.support.id, text="x")
    assert refused["error"] == "missing_scope"
    assert (refused["needed"], refused["provided"]) == ("chat:write", "users:read")
    found = await play.client(token).users_info(user=play.ada.id)
    assert found.headers["x-oauth-scopes"] == "users:read"
    assert found.headers["x-accepted-oauth-scopes"] == "users:read"
    assert "email" not in found["user"]["profile"], "that takes users:read.email"


async def test_a_scope_counts_for_its_kind_of_channel(play: Play) -> None:
    secret = play.acme.channel("secret", [play.ada, play.june], private=True)
    play.acme.install(scopes=["channels:history", "chat:write"])
    client = play.client(play.june.token)
    assert (await client.conversations_history(channel=play.support.id))["ok"]
    with pytest.raises(SlackApiError) as refused:
        await client.conversations_history(channel=secret.id)
    assert refused.value.response["needed"] == "groups:history"


async def consent(play: Play, **more: str) -> dict[str, str]:
    """Go to the consent page; what it sends the browser back with."""
    query = {
        "client_id": play.app.client_id,
        "redirect_uri": "http://127.0.0.1:1/back",
        "state": "s-1",
        **more,
    }
    async with (
        http() as session,
        session.get(
            f"{play.slack.url}/oauth/v2/authorize", params=query, allow_redirects=False
        ) as page,
    ):
        assert page.status == 302
        _, _, tail = page.headers["Location"].partition("?")
    return dict(cast("tuple[str, str]", part.split("=", 1)) for part in tail.split("&"))


async def access(play: Play, **args: str) -> dict[str, Any]:
    secret = args.pop("client_secret", play.app.client_secret)
    answer = await play.client("").oauth_v2_access(
        client_id=play.app.client_id, client_secret=secret, **cast("dict[str, Any]", args)
    )
    return cast("dict[str, Any]", answer.data)


async def refused_access(play: Play, **args: str) -> str:
    with pytest.raises(SlackApiError) as refused:
        await access(play, **args)
    return str(refused.value.response["error"])


async def test_a_code_becomes_a_token_once(play: Play) -> None:
    other = play.slack.workspace("globex")
    other.person("bob")
    back = await consent(play, team=other.id, scope="chat:write,users:read")
    assert back["state"] == "s-1"
    redirect = {"redirect_uri": "http://127.0.0.1:1/back"}
    wrong = {"code": back["code"], "redirect_uri": "http://127.0.0.1:2/"}
    assert await refused_access(play, **wrong) == "bad_redirect_uri"
    assert await refused_access(play, code="made-up") == "invalid_code"
    assert (
        await refused_access(play, code=back["code"], client_secret="x", **redirect)
        == "bad_client_secret"
    )
    made = await access(play, code=back["code"], **redirect)
    assert (made["team"]["id"], made["scope"]) == (other.id, "chat:write,users:read")
    assert (await play.client(made["access_token"]).auth_test())["team_id"] == other.id
    assert (await play.web.auth_test())["team_id"] == play.acme.id, "the other one still stands"
    assert await refused_access(play, code=back["code"], **redirect) == "code_already_used"


async def test_a_code_gets_old(play: Play) -> None:
    back = await consent(play)
    await play.time.advance(601)
    assert (
        await refused_access(play, code=back["code"], redirect_uri="http://127.0.0.1:1/back")
        == "code_expired"
    )


async def test_rotation_uses_each_refresh_token_once(play: Play) -> None:
    play.app.rotates = True
    first = play.slack.world.tokens[play.acme.install().token]
    assert first.refresh is not None
    await play.time.advance(12 * HOURS)
    assert await play.refused("auth.test", token=first.value) == "token_expired"
    again = {"grant_type": "refresh_token", "refresh_token": first.refresh}
    second = await access(play, **again)
    assert second["expires_in"] == 12 * HOURS
    assert second["refresh_token"] != first.refresh
    assert (await play.client(second["access_token"]).auth_test())["ok"]
    assert await refused_access(play, **again) == "invalid_refresh_token"


async def test_uninstalling_tells_the_app_and_closes_the_door(play: Play, app: Listener) -> None:
    await play.slack.connect(play.app, app.url)
    play.slack.uninstall(play.june)
    await play.slack.settled()
    assert [heard.event["type"] for heard in app.heard] == ["tokens_revoked", "app_uninstalled"]
    assert all("authorizations" not in heard.payload for heard in app.heard)
    assert all(heard.payload["team_id"] == play.acme.id for heard in app.heard)
    assert app.heard[0].event["tokens"] == {"oauth": [], "bot": [play.june.user]}
    assert await play.refused("auth.test") == "token_revoked"
    again = play.acme.install()
    assert (await play.client(again.token).auth_test())["user_id"] == play.june.user


async def test_a_token_for_a_whole_organisation_says_which_workspace(play: Play) -> None:
    bigco = play.slack.enterprise("bigco")
    north, south = (play.slack.workspace(name, bigco) for name in ("north", "south"))
    from channels.slack.emulator.world import tenancy

    made = tenancy.install(play.slack.world, play.app, bigco, ["channels:read", "users:read"])
    client = play.client(made.token)
    who = await client.auth_test()
    assert (who["is_enterprise_install"], who["enterprise_id"]) == (True, bigco.id)
    teams = await client.auth_teams_list()
    assert [team["id"] for team in teams["teams"]] == [north.id, south.id]
    room = south.channel("room", [south.person("eve")])
    with pytest.raises(SlackApiError, match="missing_argument"):
        await client.conversations_list()
    found = await client.conversations_list(team_id=south.id)
    assert [channel["id"] for channel in found["channels"]] == [room.id]
    with pytest.raises(SlackApiError, match="team_not_found"):
        await client.conversations_list(team_id=play.acme.id)
