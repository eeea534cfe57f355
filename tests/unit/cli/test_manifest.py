"""``gateway slack manifest``, and ``gateway check`` where channels concern it."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.cli.app import run
from gateway.cli.operate.manifest import App, as_yaml, differences, manifest
from tests.unit.definition.directories import write

ROOT = Path(__file__).parents[3]
SLACK = """
    from channels.slack import slack_channel

    def channel(env):
        return slack_channel(env%s)
"""


def told(*words: str) -> tuple[int, str, str]:
    """What a command says, and its exit code."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(words)
    return code, out.getvalue(), err.getvalue()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Path]:
    write(tmp_path / "agent", {"channels/slack.py": SLACK % ""})
    with chdir(tmp_path):
        yield tmp_path


def of(made: Any, *path: str) -> Any:
    for name in path:
        made = made[name]
    return made


def test_the_apps_own_manifest_is_up_to_date() -> None:
    with chdir(ROOT):
        code, out, _ = told("slack", "manifest", "--check")
    assert (code, "manifest.yml is as it should be" in out) == (0, True)


def test_what_slack_calls_us_for_names_our_address() -> None:
    made = manifest(App(name="june", about="June.", public_url="https://june.example"))
    hook = "https://june.example/channels/slack"
    assert of(made, "settings", "event_subscriptions", "request_url") == hook
    assert of(made, "settings", "interactivity", "request_url") == hook
    (command,) = of(made, "features", "slash_commands")
    assert (command["command"], command["url"]) == ("/june", hook)
    assert "redirect_urls" not in of(made, "oauth_config")
    installs = manifest(App(name="june", about="J.", public_url="https://j.example", installs=True))
    callback = "https://j.example/channels/slack/oauth/callback"
    assert of(installs, "oauth_config", "redirect_urls") == [callback]


def test_with_socket_mode_nothing_does() -> None:
    made = manifest(App(name="june", about="June.", socket=True))
    assert of(made, "settings", "socket_mode_enabled") is True
    assert "gateway.example" not in json.dumps(made)


def test_the_agent_view_is_asked_for_only_where_it_is_used() -> None:
    plain = manifest(App(name="june", about="June.", agent_view=False))
    assert "agent_view" not in of(plain, "features")
    assert "agent_session_stopped" not in of(plain, "settings", "event_subscriptions", "bot_events")
    made = manifest(App(name="june", about="x " * 400))
    assert len(of(made, "features", "agent_view", "agent_description")) <= 300
    assert len(of(made, "display_information", "description")) <= 140
    assert {"agent_session_stopped", "app_mention"} <= set(
        of(made, "settings", "event_subscriptions", "bot_events")
    )


def test_what_says_the_same_in_another_way_is_no_difference() -> None:
    wanted = as_yaml(manifest(App(name="june", about="June.")))
    assert differences(json.dumps(yaml.safe_load(wanted)), wanted, "m.yml") == ""
    assert "+  name: june" in differences(wanted.replace("june", "july"), wanted, "m.yml")
    assert "+# Made by" in differences("a: [", wanted, "m.yml")


@pytest.mark.usefixtures("shop")
def test_a_file_is_written_checked_and_shown_to_differ() -> None:
    code, out, note = told("slack", "manifest")
    assert code == 0
    assert "GATEWAY_PUBLIC_URL" in note
    assert of(yaml.safe_load(out), "display_information") == {
        "name": "shop",
        "description": "shop, an agent.",
    }
    assert told("slack", "manifest", "--check")[0] == 3, "there is no file yet"
    Path("manifest.yml").write_text(out)
    assert told("slack", "manifest", "--check")[0] == 0
    Path("manifest.yml").write_text(out.replace("/shop", "/stop"))
    code, out, _ = told("slack", "manifest", "--diff")
    assert (code, "+  - command: /shop" in out) == (0, True)
    code, out, _ = told("slack", "manifest", "--check", "--json")
    assert (code, json.loads(out)["same"]) == (3, False)
    assert json.loads(told("slack", "manifest", "--json")[1])["_metadata"]["major_version"] == 2


def test_an_agent_that_is_not_in_slack(shop: Path) -> None:
    (shop / "agent" / "channels" / "slack.py").unlink()
    code, _, err = told("slack", "manifest")
    assert code == 4
    assert "has no channels/slack.py" in err


def test_check_shows_wrong_options_with_their_line(shop: Path) -> None:
    code, out, _ = told("check")
    assert code == 0
    assert "channels/slack.py  is off" in out
    assert "set SLACK_BOT_TOKEN or SLACK_CLIENT_ID" in out
    assert "1 channel; agent holds together" in out
    wrong = SLACK % ", replace_in_flight='always'"
    write(shop / "agent", {"channels/slack.py": wrong})
    code, out, _ = told("check")
    assert code == 3
    assert "agent/channels/slack.py:4  replace_in_flight='always' isn't one of its values" in out
    assert "1 mistake in agent" in out
    write(
        shop / "agent", {"channels/slack.py": 'def channel(env):\n    return env["ACME_TOKEN"]\n'}
    )
    code, out, _ = told("check")
    assert code == 0
    assert "needs ACME_TOKEN, which isn't set" in out
