"""``gateway slack manifest``, and ``gateway check`` where channels concern it."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import yaml

from channels.slack.oauth import SCOPES
from gateway.cli.app import run
from gateway.cli.operate.manifest import NEEDS, App, differences, manifest, needs
from gateway.definition import DefinitionError, load_agent
from gateway.host.channels.registry import mounted
from tests.support.cli import Shell
from tests.unit.cli.doctor.clinic import clinic
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
    wanted = manifest(App(name="june", about="June."))
    again: Any = yaml.safe_load(json.dumps(wanted))
    again["oauth_config"]["scopes"]["bot"].reverse()
    assert differences(again, wanted, "m.yml") == ""


def test_what_differs_is_told_key_by_key() -> None:
    wanted = manifest(App(name="june", about="June."))
    kept: Any = json.loads(json.dumps(wanted))
    kept["oauth_config"]["scopes"]["bot"].remove("files:read")
    kept["features"]["slash_commands"][0]["url"] = "https://old.example"
    kept["settings"]["socket_mode_enabled"] = True
    assert differences(kept, wanted, "m.yml").splitlines() == [
        "--- m.yml",
        "+++ what the agent needs",
        "-features.slash_commands[/june].url: https://old.example",
        "+features.slash_commands[/june].url: https://gateway.example/channels/slack",
        "+oauth_config.scopes.bot: files:read",
        "-settings.socket_mode_enabled: true",
        "+settings.socket_mode_enabled: false",
    ]


def test_each_permission_says_what_it_is_for() -> None:
    assert set(NEEDS) == set(SCOPES)
    plain = App(name="june", about="June.", agent_view=False)
    assert set(NEEDS) - set(needs(plain)) == {"assistant:write"}
    assert of(manifest(plain), "oauth_config", "scopes", "bot") == sorted(needs(plain))


def test_a_long_name_makes_no_command_that_slack_refuses() -> None:
    made = manifest(App(name="a" * 60, about="A."))
    (command,) = of(made, "features", "slash_commands")
    assert len(command["command"]) == 32
    assert len(of(made, "display_information", "name")) == 35


async def test_what_slack_has_granted_is_compared_and_nothing_is_sent(tmp_path: Path) -> None:
    few = [scope for scope in NEEDS if scope != "files:read"]
    async with clinic(tmp_path, scopes=few) as ill:
        env = {
            **ill.place.settings,
            "GATEWAY_AGENT": str(tmp_path / "agent"),
            "GATEWAY_PUBLIC_URL": ill.url,
        }
        shell = Shell(tmp_path, **env)
        ran = await asyncio.to_thread(shell.run, "slack", "manifest", "--diff", "--online")
        assert ran.code == 3
        assert ran.out.splitlines() == [
            "--- what Slack has granted",
            "+++ what the agent needs",
            "+oauth_config.scopes.bot: files:read",
        ]
        assert "then install the app again" in ran.err
        assert [call.method for call in ill.slack.journal.calls] == ["auth.test"]
        ill.place.acme.install(scopes=[*NEEDS])
        env["SLACK_BOT_TOKEN"] = ill.place.june.token
        ran = await asyncio.to_thread(Shell(tmp_path, **env).run, "slack", "manifest", "--online")
        assert (ran.code, "is as it should be" in ran.out) == (0, True)


@pytest.mark.usefixtures("shop")
def test_a_file_is_written_checked_and_shown_to_differ() -> None:
    code, out, note = told("slack", "manifest")
    assert code == 0
    assert "GATEWAY_PUBLIC_URL" in note
    assert of(yaml.safe_load(out), "display_information") == {
        "name": "shop",
        "description": "shop, an agent.",
    }
    for asked in ("--check", "--diff"):
        code, said, note = told("slack", "manifest", asked)
        assert (code, said) == (3, "")
        assert "there is no manifest.yml" in note
        assert "gateway slack manifest > manifest.yml" in note
    Path("manifest.yml").write_text(out)
    assert told("slack", "manifest", "--check")[0] == 0
    Path("manifest.yml").write_text(out.replace("/shop", "/stop"))
    code, out, _ = told("slack", "manifest", "--diff")
    assert (code, "+features.slash_commands[/shop].command: /shop" in out) == (3, True)
    Path("manifest.yml").write_text("a: [")
    code, _, note = told("slack", "manifest", "--diff")
    assert (code, "manifest.yml can't be read as a manifest" in note) == (3, True)
    Path("manifest.yml").write_text("a: 1")
    code, out, _ = told("slack", "manifest", "--check", "--json")
    assert (code, json.loads(out)["same"]) == (3, False)
    assert json.loads(told("slack", "manifest", "--json")[1])["_metadata"]["major_version"] == 2


def test_an_agent_that_is_not_in_slack(shop: Path) -> None:
    (shop / "agent" / "channels" / "slack.py").unlink()
    code, _, err = told("slack", "manifest")
    assert code == 4
    assert "has no channels/slack.py" in err
    assert "fix: gateway add channel slack" in err


def test_check_shows_wrong_options_with_their_line(shop: Path) -> None:
    code, out, _ = told("check")
    assert code == 0
    assert "channels/slack.py  is off" in out
    assert (
        "set either SLACK_BOT_TOKEN or SLACK_CLIENT_ID, and either SLACK_SIGNING_SECRET or" in out
    )
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


ROUTED = """
    from gateway import Agent

    agent = Agent(
        name="shop",
        model="claude-sonnet-5-5",
        approvals={"refunds": "%s"},
    )
"""


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("slack:#support", "but #support is no channel's id"),
        ("slack:support", "but support is no channel's id"),
        ("slack:U0123ABCD", "but that is the id of a person"),
        ("slack:T0123ABCD:#a", "but T0123ABCD:#a is no channel's id"),
        ("slack:C0123ABCD", ""),
        ("slack:T0123ABCD:C0123ABCD", ""),
    ],
)
def test_a_place_that_slack_doesnt_know_is_told_before_anything_goes_there(
    shop: Path, where: str, said: str
) -> None:
    write(shop / "agent", {"channels/slack.py": SLACK % "", "agent.py": ROUTED % where})
    code, out, _ = told("check")
    assert code == (3 if said else 0)
    if said:
        assert f"agent/agent.py:6  shows refunds at {where}, {said}" in out
        assert "write slack:C0123ABCD" in out
        env = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_SIGNING_SECRET": "s"}
        loaded = load_agent(shop / "agent", env=env, run_channels=True)
        with pytest.raises(DefinitionError, match=r"is no channel's id|the id of a person"):
            mounted(loaded, env, lambda _: ())


def test_so_is_one_of_a_schedule(shop: Path) -> None:
    daily = "---\ncron: 0 9 * * *\ntarget: slack:#general\n---\nWrite the digest.\n"
    write(shop / "agent", {"channels/slack.py": SLACK % "", "schedules/daily.md": daily})
    code, out, _ = told("check")
    assert code == 3
    assert "schedules/daily.md:3  speaks at slack:#general, but #general is no channel's id" in out


def test_a_tool_with_the_name_of_a_channels_own_is_told(shop: Path) -> None:
    own = """
        from gateway import tool

        @tool
        def attach_file(name: str) -> str:
            "Attach."
            return name
    """
    write(shop / "agent", {"channels/slack.py": SLACK % "", "tools/attach_file.py": own})
    code, out, _ = told("check")
    assert code == 3
    assert "the channel slack brings a tool attach_file, and shop has one" in out
    assert "rename the agent's own tool" in out
