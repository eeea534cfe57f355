"""The emulator plays alone: loopback, secrets of its own, nobody's real workspace beside it."""

from __future__ import annotations

import pytest

from channels.slack.emulator import Impossible, SlackEmulator
from gateway.engine.errors import ConfigError
from tests.unit.emulator.stage import Play


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.com", ""])  # noqa: S104
def test_it_listens_where_nobody_else_can_reach_it(host: str) -> None:
    with pytest.raises(ConfigError, match="others could reach") as refused:
        SlackEmulator(host=host)
    assert "127.0.0.1" in refused.value.fix


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SLACK_BOT_TOKEN", "xoxb-1-2-abc"),
        ("SLACK_APP_TOKEN", "xapp-1-A1-2-abc"),
        ("SLACK_SIGNING_SECRET", "8f742231b10e8888abcd99yyyzzz85a5"),
        ("SLACK_CLIENT_SECRET", "abc"),
    ],
)
def test_a_real_secret_beside_it_is_a_reason_not_to_start(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name) as refused:
        SlackEmulator(beside={name: value})
    assert value not in str(refused.value)
    assert name in refused.value.fix


async def test_its_own_secrets_are_welcome(play: Play) -> None:
    own = {
        "SLACK_BOT_TOKEN": play.june.token,
        "SLACK_APP_TOKEN": play.app.app_token,
        "SLACK_SIGNING_SECRET": play.slack.signing_secret,
        "SLACK_CLIENT_SECRET": play.app.client_secret,
        "OTHER": "anything",
    }
    assert SlackEmulator(beside=own).world.base_url == ""


async def test_no_two_runs_share_a_secret(play: Play) -> None:
    other = SlackEmulator()
    assert other.signing_secret != play.slack.signing_secret
    assert other.control_secret != play.slack.control_secret
    with pytest.raises(RuntimeError, match="async with"):
        _ = other.outlet


async def test_what_a_person_cant_do(play: Play) -> None:
    bob = play.acme.person("bob")
    assert play.acme.person("bob").id == bob.id
    said = await play.ada.say(play.support, "hello")
    with pytest.raises(Impossible, match="isn't in support"):
        await bob.say(play.support, "hello")
    with pytest.raises(Impossible, match="didn't write"):
        await bob.edit(said, "bye")
    with pytest.raises(Impossible, match=r"no message 1\.1"):
        await play.ada.say(play.support, "hello", thread="1.1")
    play.support.archived = True
    with pytest.raises(Impossible, match="archived"):
        await play.ada.say(play.support, "hello")


def test_it_knows_nothing_of_the_channel_it_is_there_to_try() -> None:
    import ast

    from tests.meta.tree import python_files, syntax

    files = python_files("channels/slack/emulator")
    assert files
    for name in files:
        for node in ast.walk(syntax(name)):
            if isinstance(node, ast.ImportFrom) and node.module:
                inside = node.module.startswith("channels.slack.emulator")
                assert inside or not node.module.startswith("channels"), f"{name}: {node.module}"
