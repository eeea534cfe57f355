"""One fault each between the gateway and Slack: found, by its own name, with the exact way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.cli.operate.manifest import NEEDS
from gateway.engine.kinds import Millis
from gateway.engine.limits import SYSTEM_CLOCK, Clock
from gateway.engine.struct import replace
from gateway.testing.slack import Fault
from tests.unit.cli.doctor.clinic import DAILY, clinic, running

APPS = "https://api.slack.com/apps"
REWRITE = "gateway slack manifest > manifest.yml"
BUT_FILES = [scope for scope in NEEDS if scope != "files:read"]


# -- what was granted ----------------------------------------------------------------------------------
async def test_a_permission_that_neither_app_nor_manifest_has(tmp_path: Path) -> None:
    async with clinic(tmp_path, scopes=BUT_FILES) as ill:
        ill.changes["GATEWAY_PUBLIC_URL"] = ""
        await ill.paste()
        ill.edit("    - files:read\n", "")
        found = (await ill.look("slack"))["slack.scopes"]
        assert found.severity == "error"
        assert found.evidence == "missing files:read (to read attached files)"
        assert found.fix.text == (
            "Write the manifest anew, paste it on the app's page under App Manifest, and press"
            " Reinstall to Workspace under Install App"
        )
        assert (found.fix.command, found.fix.url) == (REWRITE, APPS)


async def test_a_manifest_that_is_newer_than_the_grant(tmp_path: Path) -> None:
    """It is connected and deaf: permissions are granted when the app is installed."""
    few = [scope for scope in NEEDS if scope not in {"im:history", "files:read"}]
    async with clinic(tmp_path, scopes=few) as ill:
        await ill.start()
        await ill.paste()
        found = await ill.only("slack.reinstall", "slack")
        assert found.evidence == (
            "missing files:read (to read attached files), im:history (to hear direct messages)"
        )
        assert found.fix.text == "On the app's page, Install App, press Reinstall to Workspace"
        ill.place.acme.install()
        assert (await ill.look("slack", SLACK_BOT_TOKEN=ill.place.june.token)) == {}


async def test_the_agents_view_needs_its_permission_only_where_it_is_used(tmp_path: Path) -> None:
    without = [scope for scope in NEEDS if scope != "assistant:write"]
    async with clinic(tmp_path, scopes=without) as ill:
        await ill.start()
        await ill.paste()
        assert [*(await ill.look("slack"))] == ["slack.reinstall"]
        plain = "def channel(env):\n    return slack_channel(env, agent_view=False)\n"
        ill.agent({"channels/slack.py": f"from channels.slack import slack_channel\n\n{plain}"})
        await ill.paste()
        assert await ill.look("slack") == {}


# -- tokens and secrets ----------------------------------------------------------------------------------
async def test_tokens_that_were_swapped(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        app = ill.slack.app()
        found = await ill.look(
            "slack",
            online=False,
            SLACK_SIGNING_SECRET="xoxp-emulated-1",
            SLACK_BOT_TOKEN=app.app_token,
        )
        token, secret = found["slack.token"], found["slack.secret"]
        assert token.title == "SLACK_BOT_TOKEN isn't a bot's token"
        assert token.evidence == "it holds an app-level token"
        assert token.fix.text == (
            "On the app's page, OAuth & Permissions, copy the Bot User OAuth Token into SLACK_BOT_TOKEN"
        )
        assert secret.evidence == "it holds a person's token"
        assert secret.fix.text == (
            "On the app's page, Basic Information, copy the Signing Secret into SLACK_SIGNING_SECRET"
        )
        assert app.app_token not in str(found), "no secret is shown"


async def test_an_app_token_that_is_none(tmp_path: Path) -> None:
    async with clinic(tmp_path, socket=True) as ill:
        token = ill.place.june.token
        found = (await ill.look("slack", online=False, SLACK_APP_TOKEN=token))["slack.token"]
        assert found.title == "SLACK_APP_TOKEN isn't an app-level token"
        assert "App-Level Token with connections:write into SLACK_APP_TOKEN" in found.fix.text


async def test_a_token_that_slack_doesnt_take(tmp_path: Path) -> None:
    async with running(tmp_path) as ill:
        ill.slack.world.tokens[ill.place.june.token].revoked = True
        found = await ill.only("slack.token", "slack")
        assert found.title == "Slack doesn't accept SLACK_BOT_TOKEN"
        assert found.evidence == "auth.test answers token_revoked: the app's token was revoked"
        assert found.fix.text == (
            "On the app's page, OAuth & Permissions, copy the Bot User OAuth Token into"
            " SLACK_BOT_TOKEN; if it was revoked, install the app again"
        )


async def test_a_wrong_signing_secret_is_known_by_what_the_host_refuses(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        ill.changes["SLACK_SIGNING_SECRET"] = "of-another-app"
        await ill.start()
        await ill.paste()
        assert await ill.look("slack") == {}, "nobody knows before Slack has sent anything"
        await ill.place.ada.mention(ill.place.support, "@june hello")
        await ill.complains("the signature isn't made with SLACK_SIGNING_SECRET")
        found = await ill.only("slack.secret", "slack")
        assert found.title == (
            "requests are refused: SLACK_SIGNING_SECRET isn't that of the app that sends them"
        )
        assert found.fix.text == (
            "On the app's page, Basic Information, copy the Signing Secret into SLACK_SIGNING_SECRET,"
            " then restart the gateway"
        )
        assert found.fix.command == "gateway serve"


async def test_settings_that_are_half_there(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        found = await ill.only("slack.settings", online=False, SLACK_SIGNING_SECRET="")
        assert found.fix.text == "Set SLACK_SIGNING_SECRET or SLACK_APP_TOKEN"
        nothing = dict.fromkeys(ill.place.settings, "")
        off = await ill.only("slack.settings", online=False, **nothing)
        assert off.severity == "warning", "it may be meant"
        named = await ill.only("slack.settings", "slack", online=False, **nothing)
        assert (named.severity, named.title, named.fix) == ("error", off.title, off.fix)
        assert named.fix.text.startswith("Set either SLACK_BOT_TOKEN or SLACK_CLIENT_ID, and")


async def test_a_host_that_has_slack_needs_no_settings_in_this_shell(tmp_path: Path) -> None:
    """As ``gateway dev``, which brings a workspace of its own."""
    async with running(tmp_path) as well:
        nothing = dict.fromkeys(well.place.settings, "")
        assert await well.look("slack", online=False, **nothing) == {}
        assert await well.look(online=False, **nothing) == {}
        await well.stop()
        assert (
            await well.only("slack.settings", "slack", online=False, **nothing)
        ).severity == "error"


async def test_a_token_of_the_wrong_kind_is_told_once(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        app_token = ill.slack.app().app_token
        found = await ill.only("slack.token", online=False, SLACK_BOT_TOKEN=app_token)
        assert found.title == "SLACK_BOT_TOKEN isn't a bot's token"
        asked = await ill.look(online=True, SLACK_BOT_TOKEN=app_token)
        assert asked["slack.token"].title == found.title


async def test_settings_without_a_channel_to_use_them(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        ill.agent({"channels/slack.py": None, "schedules/daily.md": None, "agent.py": PLAIN})
        found = await ill.only("slack.channel", online=False)
        assert (found.title, found.fix.command) == (
            "june isn't in Slack",
            "gateway add channel slack",
        )


PLAIN = """
    from gateway import Agent

    async def decides(**asked):
        return False

    agent = Agent(name="june", model="claude-sonnet-5-5", authorize_answer=decides)
"""


async def test_a_channel_that_lacks_a_setting_of_its_own(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        own = 'def channel(env):\n    return env["ACME_TOKEN"]\n'
        ill.agent({"channels/slack.py": own})
        found = await ill.only("slack.channel", online=False)
        assert "needs ACME_TOKEN, which isn't set" in found.title
        assert found.fix.text == "set ACME_TOKEN in the environment, or read it with env.get"


async def test_what_installing_takes(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        install = {"SLACK_BOT_TOKEN": "", "SLACK_CLIENT_ID": "1.2", "SLACK_CLIENT_SECRET": "s"}
        found = await ill.look("slack", online=False, **install)
        assert found["slack.installing"].title == (
            "no workspace can install the app without GATEWAY_SECRET_KEYS"
        )
        assert found["slack.installing"].fix.text == "Make one: openssl rand -hex 32"


# -- the clock -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("seconds", "severity", "said"),
    [
        (420, "error", "420 s ahead of Slack's; 300 s are allowed"),
        (-420, "error", "420 s behind Slack's; 300 s are allowed"),
        (120, "warning", "120 s ahead of Slack's"),
        (5, "", ""),
    ],
)
async def test_a_clock_that_is_off(tmp_path: Path, seconds: int, severity: str, said: str) -> None:
    async with running(tmp_path) as ill:
        now = SYSTEM_CLOCK.now
        ill.clock = Clock(
            now=lambda: Millis(now() + seconds * 1000), monotonic=SYSTEM_CLOCK.monotonic
        )
        if not severity:
            assert await ill.look("slack") == {}
            return
        found = await ill.only("slack.clock", "slack")
        assert found.severity == severity
        about = next(int(word) for word in found.evidence.split() if word.isdigit())
        assert abs(about - abs(seconds)) <= 3, found.evidence
        assert said.split(" s ")[1] in found.evidence
        assert found.fix.text == "Have the system keep its clock by NTP, then restart the gateway"
        assert found.fix.command == "sudo timedatectl set-ntp true"


async def test_a_clock_by_which_the_host_refuses_requests(tmp_path: Path) -> None:
    async with running(tmp_path) as ill:
        ill.slack.signed_at = lambda: Millis(SYSTEM_CLOCK.now() - 600_000)
        await ill.place.ada.mention(ill.place.support, "@june hello")
        await ill.complains("their time is over five minutes from this host's")
        found = await ill.only("slack.clock", "slack")
        assert found.title == "requests are refused as too old: this machine's clock is off"
        assert found.fix.command == "sudo timedatectl set-ntp true"


# -- the address -------------------------------------------------------------------------------------------
async def test_no_address_or_one_that_slack_wont_take(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        none = (await ill.look("slack", online=False, GATEWAY_PUBLIC_URL=""))["slack.address"]
        assert none.severity == "warning"
        assert none.fix.command == "export GATEWAY_PUBLIC_URL=https://gateway.example.com"
        plain = {"GATEWAY_PUBLIC_URL": "http://june.example"}
        found = (await ill.look("slack", online=False, **plain))["slack.address"]
        assert found.title == "Slack sends to https addresses only"
        assert found.fix.command == "export GATEWAY_PUBLIC_URL=https://june.example"
        real = {"SLACK_API_URL": "https://slack.com/api"}
        found = (await ill.look("slack", online=False, **real))["slack.address"]
        assert found.title == "Slack can't reach an address of this machine"
        assert "without one, use Socket Mode: SLACK_APP_TOKEN" in found.fix.text


async def test_nobody_answers_at_the_address(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        found = await ill.only("slack.reached", "slack", PORT="8080")
        assert found.title == "no gateway answers at the public address, as seen from this machine"
        assert found.fix.text == "Start the gateway, and lead the address to its port"
        assert found.fix.command == "gateway serve --port 8080"


async def test_a_gateway_without_slack_answers_there(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        nothing = dict.fromkeys(ill.place.settings, "")
        await ill.start(settings=ill.settings(**nothing))
        await ill.paste()
        found = await ill.look("slack")
        assert [*found] == ["slack.reached", "slack.down"]
        assert found["slack.reached"].title == "the gateway at the public address isn't in Slack"
        assert found["slack.down"].fix.text == (
            "Restart the host with the settings that this shell has"
        )


async def test_the_app_has_another_address(tmp_path: Path) -> None:
    async with running(tmp_path) as ill:
        await ill.paste(replace(await ill.app(), public_url="https://old.example"))
        ill.edit("    url: https://old.example", f"    url: {ill.url}")
        ill.edit(
            "interactivity:\n    is_enabled: true\n    request_url: https://old.example",
            f"interactivity:\n    is_enabled: true\n    request_url: {ill.url}",
        )
        found = await ill.only("slack.urls", "slack")
        assert found.title == (
            "the app sends its event subscriptions to another address than this gateway's"
        )
        assert found.evidence == (
            "manifest.yml says https://old.example/channels/slack, GATEWAY_PUBLIC_URL makes it"
            f" {ill.url}/channels/slack"
        )
        assert found.fix.command == REWRITE


async def test_the_app_doesnt_hear_what_it_should(tmp_path: Path) -> None:
    async with running(tmp_path) as ill:
        ill.edit("    - app_mention\n", "")
        found = await ill.only("slack.manifest", "slack")
        assert (found.severity, found.evidence) == (
            "warning",
            "+settings.event_subscriptions.bot_events: app_mention",
        )
        assert "what differs: gateway slack manifest --diff" in found.fix.text


async def test_slack_is_away(tmp_path: Path) -> None:
    async with running(tmp_path) as ill:
        ill.slack.faults.add(Fault("http_503_html", "auth.test", count=None))
        found = await ill.only("slack.unreachable", "slack")
        assert found.evidence.endswith("HTTP status 503")
        assert found.fix.command == f"curl -sS {ill.settings().slack_api_url}/api.test"


# -- where it posts ------------------------------------------------------------------------------------------
async def test_the_bot_isnt_in_the_channel_of_the_approvals(tmp_path: Path) -> None:
    async with running(tmp_path) as ill:
        ill.leads.members.discard(ill.place.june.user)
        found = await ill.only("slack.place", "slack")
        assert found.title == "the bot isn't in #leads, so what it posts there is refused"
        assert found.evidence.endswith(f"agent.py:9 shows refunds at slack:{ill.leads.id}")
        assert (found.fix.text, found.fix.command) == (
            "In Slack, type this in #leads",
            "/invite @june",
        )


async def test_nor_in_that_of_a_schedule(tmp_path: Path) -> None:
    async with running(tmp_path) as ill:
        ill.place.support.archived = True
        found = await ill.only("slack.place", "slack")
        assert found.title == "the channel #support is archived, so nothing can be posted there"
        assert "schedules/daily.md" in found.fix.text


async def test_a_channel_that_doesnt_exist(tmp_path: Path) -> None:
    async with running(tmp_path) as ill:
        ill.agent({"schedules/daily.md": DAILY % "C0GONE"})
        found = await ill.only("slack.place", "slack")
        assert found.title == (
            "the channel C0GONE doesn't exist, or is private and the bot isn't in it"
        )
        assert found.fix.command == "/invite @june"
